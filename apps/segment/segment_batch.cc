#include "apps/segment/segment_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <filesystem>
#include <mutex>
#include <new>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "apps/cli/file_checks.h"
#include "apps/cli/messages.h"
#include "apps/cli/picture_files.h"
#include "apps/cli/terminal.h"
#include "apps/solve/solve_output.h"
#include "apps/volume/nifti.h"
#include "submarine/base/error.h"
#include "submarine/base/numbers.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/base/version.h"
#include "submarine/io/file/atomic_file.h"
#include "submarine/io/file/input_file.h"
#include "submarine/segmentation/comparison.h"

namespace submarine::apps {
namespace fs = std::filesystem;
namespace {

using internal::Stopwatch;
using internal::ThreadLimit;
using internal::WriteFileAtomically;

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 1> kArrayEndings = {".npy"};
constexpr std::array<std::string_view, 4> kLabelEndings = {".png", ".bmp", ".pgm", ".npy"};

// The file of the picture `name` in a directory; if there is none, the first candidate.
template <std::size_t kCount>
std::string Companion(const std::string& directory, const std::string& name,
                      const std::array<std::string_view, kCount>& endings) {
  if (directory.empty()) return "";
  for (const std::string_view ending : endings) {
    const fs::path file = fs::path(directory) / (name + std::string(ending));
    if (Exists(file)) return file.string();
  }
  return (fs::path(directory) / (name + std::string(endings.front()))).string();
}

void RequireDirectory(const char* option, const std::string& given, std::size_t pictures) {
  if (given.empty() || IsDirectory(given)) return;
  throw InvalidInput(
      fmt::format("{} is \"{}\", expected a directory with a file for every one of the {} pictures",
                  option, given, pictures));
}

// The outcome of one picture of the batch, from the summary in its directory.
struct Entry {
  const SegmentJob* job = nullptr;
  Json summary;
  std::string problem;  // empty: none
};

// The existing summary, if it answers the same request.
Json Existing(const SegmentSettings& settings, const SegmentJob& job) {
  const fs::path file = fs::path(job.directory) / "summary.json";
  if (!Exists(file)) return nullptr;
  try {
    Json summary = Json::parse(internal::ReadWholeFile(file));
    const bool same = summary.value("version", "") == kVersion &&
                      summary.value("request", Json()) == RequestJson(settings, job.files);
    const bool page = Exists(fs::path(job.directory) / "report.html");
    if (same && (!settings.report || page || summary.value("page_left_out", false))) return summary;
  } catch (const std::exception&) {  // whatever is wrong with it, it is made again
  }
  return nullptr;
}

class Batch {
 public:
  Batch(const SegmentSettings& settings, const std::vector<SegmentJob>& jobs)
      : settings_(settings), jobs_(jobs), entries_(jobs.size()), line_(settings.dense.quiet) {
    const int cores = settings.dense.threads > 0
                          ? settings.dense.threads
                          : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    workers_ = std::min(cores, static_cast<int>(jobs.size()));
    settings_.dense.threads = std::max(1, cores / workers_);
    SolveOptions& solve = settings_.dense.solve;
    if (solve.limits.max_bytes == 0) solve.limits.max_bytes = DefaultMemory();
    solve.limits.max_bytes /= static_cast<std::size_t>(workers_);
  }

  std::vector<Entry> Run() {
    {
      std::vector<std::jthread> threads;
      for (int k = 0; k < workers_; ++k) threads.emplace_back([this] { Work(); });
    }
    line_.Clear();
    return std::move(entries_);
  }

 private:
  void Work() {
    const ThreadLimit limit(settings_.dense.threads);
    for (std::size_t k = next_++; k < jobs_.size() && !Interrupted(); k = next_++) {
      entries_[k] = RunOne(jobs_[k]);
      Tell(entries_[k]);
    }
  }

  // An error in one picture does not affect the others.
  Entry RunOne(const SegmentJob& job) const {
    Entry entry{&job, Existing(settings_, job), ""};
    if (!entry.summary.is_null()) return entry;
    try {
      SolveProgress progress(settings_.dense.solve, true);
      const SegmentDone done = RunSegmentJob(settings_, job, true, &progress);
      for (const std::string& warning : done.picture.warnings) PrintWarning(warning);
      entry.summary =
          Json::parse(internal::ReadWholeFile(fs::path(job.directory) / "summary.json"));
    } catch (const submarine::Interrupted&) {
      entry.job = nullptr;
    } catch (const std::bad_alloc&) {
      entry.problem = "there is not enough memory for it";
    } catch (const TooLarge& error) {
      entry.problem = WithShownNames(InOptions(error));
    } catch (const std::exception& error) {
      entry.problem = WithShownNames(error.what());
    }
    return entry;
  }

  void Tell(const Entry& entry) {
    const std::lock_guard lock(mutex_);
    if (!entry.problem.empty()) {
      line_.Clear();
      PrintError(fmt::format("{}: {}", entry.job->files.image, entry.problem));
    }
    line_.Show(fmt::format("{} of {} pictures", ++done_, jobs_.size()));
  }

  SegmentSettings settings_;
  const std::vector<SegmentJob>& jobs_;
  std::vector<Entry> entries_;
  int workers_ = 1;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::size_t done_ = 0;
  ProgressLine line_;
};

std::string Compared(double after, const Json& before, const char* key) {
  const std::string now = Percent(after, 1);
  return before.is_null()
             ? now
             : fmt::format("{} ({} before)", now, Percent(before[key].get<double>(), 1));
}

// "13.2 to 17.5%" of an entry of "expectations".
std::string ProvenText(const Json& value) {
  return fmt::format("{} to {}%", RoundedDown(value["credible_lower"].get<double>(), 1),
                     RoundedUp(value["credible_upper"].get<double>(), 1));
}

Json GalleryItem(const Entry& entry) {
  const fs::path folder = fs::path(entry.job->directory).filename();
  Json item = {{"name", fs::path(entry.job->files.image).filename().string()}};
  if (!entry.problem.empty()) {
    item["problem"] = entry.problem;
    return item;
  }
  item["picture"] = (folder / "image.png").string();
  item["labels"] = (folder / "labels.png").string();
  if (Exists(fs::path(entry.job->directory) / "report.html"))
    item["link"] = (folder / "report.html").string();
  const Json& segmentation = entry.summary["segmentation"];
  Json facts = Json::array();
  if (segmentation.contains("after")) {
    const Json& after = segmentation["after"];
    const Json& before = segmentation["before"];
    facts.push_back({"mean IoU", Compared(after["mean_iou"].get<double>(), before, "mean_iou")});
    facts.push_back(
        {"pixels right", Compared(after["accuracy"].get<double>(), before, "accuracy")});
  }
  facts.push_back({"changed", Percent(segmentation["changed"].get<double>(), 1)});
  if (const auto proven = entry.summary.find("expectations");
      proven != entry.summary.end() && !proven->front().contains("too_wide"))
    facts.push_back({"right if the model is", ProvenText(proven->front())});
  item["facts"] = facts;
  return item;
}

// All pictures together, where their truth is known.
struct Total {
  std::optional<internal::Comparison> comparison;
  std::vector<std::string> names;  // of labels
  int others = 0;                  // pictures of other classes, which cannot be summed

  explicit Total(const std::vector<Entry>& entries) {
    std::vector<internal::ComparedPicture> pictures;
    for (const Entry& entry : entries) {
      if (entry.job == nullptr || !entry.problem.empty()) continue;
      const Json& segmentation = entry.summary["segmentation"];
      const auto compared = ReadCompared(segmentation);
      if (!compared) continue;
      if (pictures.empty()) names = segmentation["names"].get<std::vector<std::string>>();
      if (segmentation["names"] == Json(names)) {
        pictures.push_back(*compared);
      } else {
        ++others;
      }
    }
    if (!pictures.empty()) comparison = internal::Compare(pictures);
  }

  std::string Verdict() const {
    std::string text = ComparisonText(*comparison, names);
    if (others > 0)
      text += fmt::format(" Not counted: {} pictures with other classes than the first.", others);
    return text;
  }

  std::string Text() const {
    return fmt::format("{}\nPixels right: {} ({} before), {}.\n", Verdict(),
                       Percent(comparison->accuracy.after, 1),
                       Percent(comparison->accuracy.before, 1), PointsText(comparison->accuracy));
  }

  void AddTo(Json* page) const {
    const auto lead = [&](const internal::Change& change, const std::string& what) {
      (*page)["lead"].push_back(
          {Percent(change.after, 1),
           fmt::format("{}, {} before: {}", what, Percent(change.before, 1), PointsText(change))});
    };
    lead(comparison->mean_iou,
         fmt::format("mean IoU of {} pictures together", comparison->pictures));
    lead(comparison->accuracy, "of the known pixels right");
    (*page)["verdict"] = Verdict();
    const auto change = [&](const std::string& name, const internal::Change& of) {
      Json entry = {{"name", name}, {"before", of.before}, {"after", of.after}};
      if (of.interval) entry["interval"] = *of.interval;
      (*page)["changes"].push_back(std::move(entry));
    };
    for (std::size_t l = 0; l < names.size(); ++l) {
      if (comparison->iou[l]) change(names[l], *comparison->iou[l]);
    }
    if (comparison->thin) change("thin parts (pixels right)", *comparison->thin);
  }
};

Json IndexSummary(const std::vector<Entry>& entries, const Total& total, std::size_t missing,
                  double seconds) {
  Json page = {{"title", fmt::format("Segmentation of {} pictures", entries.size())},
               {"lead", Json::array()},
               {"gallery", Json::array()},
               {"changes", Json::array()},
               {"facts", Json::array()},
               {"notes", Json::array()}};
  std::size_t failed = 0;
  for (const Entry& entry : entries) {
    if (entry.job == nullptr) continue;
    failed += entry.problem.empty() ? 0 : 1;
    page["gallery"].push_back(GalleryItem(entry));
  }
  if (total.comparison) total.AddTo(&page);
  page["facts"].push_back({"pictures", entries.size()});
  page["facts"].push_back({"failed", failed});
  page["facts"].push_back({"time", DurationText(seconds)});
  if (missing > 0)
    page["notes"].push_back(
        fmt::format("{} pictures are missing; run the same command again to continue.", missing));
  return {{"kind", "segment-index"}, {"version", kVersion}, {"page", std::move(page)}};
}

}  // namespace

bool SegmentInputs::several() const {
  return images.size() > 1 || (images.size() == 1 && IsDirectory(images.front()));
}

std::vector<SegmentJob> SegmentJobs(const SegmentInputs& inputs, const std::string& directory) {
  const bool one_directory = inputs.images.size() == 1;
  const std::vector<std::string> images =
      one_directory ? PicturesIn(inputs.images.front()) : inputs.images;
  for (const std::string& image : images) {
    if (IsVolumeName(image))
      throw InvalidInput(fmt::format("\"{}\" is a volume, expected one volume per call", image));
  }
  RequireDirectory("--softmax", inputs.softmax, images.size());
  RequireDirectory("--unary", inputs.unary, images.size());
  RequireDirectory("--scribbles", inputs.scribbles, images.size());
  RequireDirectory("--truth", inputs.truth, images.size());
  RequireDirectory("--region", inputs.region, images.size());
  std::vector<SegmentJob> jobs;
  std::set<std::string> names;
  for (const std::string& image : images) {
    const std::string name = fs::path(image).stem().string();
    if (!names.insert(name).second) {
      throw InvalidInput(fmt::format(
          "two pictures are called \"{}\", expected names that tell their results apart", name));
    }
    SegmentJob job;
    job.files = {image,
                 Companion(inputs.softmax, name, kArrayEndings),
                 Companion(inputs.unary, name, kArrayEndings),
                 Companion(inputs.scribbles, name, kPictureEndings),
                 Companion(inputs.truth, name, kLabelEndings),
                 Companion(inputs.region, name, kPictureEndings)};
    job.directory = (fs::path(directory) / name).string();
    jobs.push_back(std::move(job));
  }
  return jobs;
}

void RunSegmentBatch(const SegmentSettings& settings, const std::vector<SegmentJob>& jobs,
                     const std::string& directory) {
  const Stopwatch clock;
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) throw FileError(fmt::format("{}: cannot be made: {}", directory, error.message()));
  const std::vector<Entry> entries = Batch(settings, jobs).Run();
  std::size_t failed = 0;
  std::size_t missing = 0;
  for (const Entry& entry : entries) {
    missing += entry.job == nullptr ? 1 : 0;
    failed += entry.problem.empty() ? 0 : 1;
  }
  const Total total(entries);
  WriteFileAtomically(fs::path(directory) / "summary.json",
                      JsonText(IndexSummary(entries, total, missing, clock.Seconds())));
  if (settings.report) WriteReport(directory, *settings.report);
  if (!settings.dense.quiet) {
    if (total.comparison) PrintText(total.Text());
    PrintLine(fmt::format("{} of {} pictures segmented in {}: {}", jobs.size() - missing - failed,
                          jobs.size(), DurationText(clock.Seconds()),
                          (fs::path(directory) / (settings.report ? "report.html" : "")).string()));
  }
  if (missing > 0) {
    throw submarine::Interrupted(fmt::format(
        "interrupted: {} of {} pictures are missing; run the same command again to continue",
        missing, jobs.size()));
  }
  if (failed > 0) {
    throw InvalidInput(fmt::format("{} of {} pictures could not be segmented; the others are in {}",
                                   failed, jobs.size(), directory));
  }
}

}  // namespace submarine::apps
