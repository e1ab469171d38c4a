#include "apps/segment/segment_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "apps/report/writing_time.h"
#include "apps/solve/group_output.h"
#include "apps/solve/solve_output.h"
#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/io/image/image.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/segmentation/calibration.h"

namespace submarine::apps {
namespace {

using internal::Stopwatch;

using Json = nlohmann::ordered_json;

// Of a classifier, its confidence is the unit of weights; scribbles on a few pixels have none.
SegmentationParameters ParametersOf(const SegmentSettings& settings, SegmentPicture* picture) {
  SegmentationParameters parameters;
  std::optional<ClassifierProfile> profile;
  if (settings.parameters) {
    parameters = *settings.parameters;
  } else if (!picture->scribbled) {
    const std::vector<int> extent = picture->extent();
    profile = ProfileOf(picture->unary, extent);
    parameters = ParametersFor(extent, *profile);
  }
  if (picture->volume) {  // lengths that nobody gave are in sides of the finest axis
    const auto& spacing = picture->volume->spacing;
    const double side = *std::min_element(spacing.begin(), spacing.end());
    parameters.position_sigma *= side;
    parameters.bilateral_sigma *= side;
  }
  if (!settings.position.empty()) {
    parameters.position_sigma = settings.position[0];
    parameters.position_weight = settings.position[1];
  }
  if (!settings.bilateral.empty()) {
    parameters.bilateral_sigma = settings.bilateral[0];
    parameters.colour_sigma = settings.bilateral[1];
    parameters.bilateral_weight = settings.bilateral[2];
  }
  parameters.normalisation = settings.normalisation;
  if (profile && (settings.position.empty() || settings.bilateral.empty())) {
    const char* unit = picture->volume ? "mm" : "px";
    std::string note = fmt::format("Kernels: position {:.3g} {} and colour {:.3g}, weight {:.3g}",
                                   parameters.bilateral_sigma, unit, parameters.colour_sigma,
                                   parameters.bilateral_weight);
    if (parameters.position_weight > 0.0) {
      note += fmt::format("; position {:.3g} {}, weight {:.3g}", parameters.position_sigma, unit,
                          parameters.position_weight);
    }
    picture->notes.push_back(
        fmt::format("{}. The classifier prefers its first label to its second by {:.3g} nats on "
                    "average; {:.2g}% of its labels are speckle.",
                    note, profile->confidence, 100.0 * profile->speckle));
  }
  return parameters;
}

// Mean field's marginals are too sure of what a classifier says. Those of scribbles, a preset or a file
// stay as they are.
void Calibrate(const SegmentSettings& settings, const SegmentPicture& picture,
               const Matrix<float>& unary, SolveResult* solved) {
  const bool exact =
      settings.dense.solve.dense.updates == 0 && solved->termination == Termination::kExact;
  auto* marginals = std::get_if<Matrix<float>>(&solved->marginals);
  if (settings.parameters || picture.scribbled || exact || !marginals) return;
  const double temperature = CalibrateMarginals(unary, marginals);
  if (temperature > 1.0) {
    solved->notes.push_back(fmt::format(
        "Marginals are mean field's, made less sure by a temperature of {:.3g}.", temperature));
  }
}

// One scale of superpixels, or the regions of a file.
std::vector<Clique> CliquesOf(const SuperpixelSpec& spec, const PictureView& picture) {
  if (spec.slic) return RegionCliques(Superpixels(picture, *spec.slic), spec.terms);
  ImageReading reading;
  reading.expected = ImageSize{picture.width, picture.height};
  const Image regions = ReadLabelImage(spec.file, reading);
  return RegionCliques(std::vector<int>(regions.samples.begin(), regions.samples.end()),
                       spec.terms);
}

// Moves the unaries, which are the largest part of the picture.
DenseCrf BuildModel(const SegmentSettings& settings, const SegmentationParameters& parameters,
                    SegmentPicture* picture, std::vector<Clique>* cliques) {
  const Image& image = picture->image;
  const auto num_labels = static_cast<int>(picture->unary.cols());
  const std::vector<float> samples = ColourValues(image);
  const PictureView view{image.width, image.height, image.channels, samples};
  if (picture->volume && !(settings.superpixels.empty() && parameters.superpixel_sizes.empty()))
    throw InvalidInput("superpixels are regions of pictures, and this is a volume");
  if (settings.superpixels.empty()) *cliques = SegmentationCliques(view, parameters);
  for (const std::string& text : settings.superpixels) {
    for (Clique& clique : CliquesOf(ParseSuperpixels(text), view))
      cliques->push_back(std::move(clique));
  }
  return DenseCrf(std::move(picture->unary),
                  picture->volume  // lengths in mm
                      ? SegmentationKernels(picture->volume->extent, picture->volume->spacing, 1,
                                            samples, parameters)
                      : SegmentationKernels(view, parameters),
                  ParseMetricSpec(settings.metric, num_labels, false, nullptr),
                  settings.ordered ? PairCounting::kOrdered : PairCounting::kOnce);
}

Json SettingsJson(const SegmentSettings& settings, const SegmentFiles& files) {
  Json json = {{"image", files.image}};
  for (const auto& [name, file] : {std::pair("softmax", files.softmax),
                                   {"unary", files.unary},
                                   {"scribbles", files.scribbles},
                                   {"truth", files.truth},
                                   {"region", files.region}}) {
    if (!file.empty()) json[name] = file;
  }
  if (!files.scribbles.empty()) json["confidence"] = settings.reading.confidence;
  if (!files.softmax.empty()) json["softmax_temperature"] = settings.reading.softmax_temperature;
  if (!files.truth.empty()) json["ignore"] = settings.reading.ignore;
  json["metric"] = settings.metric;
  json["normalisation"] =
      settings.normalisation == KernelNormalisation::kSymmetric ? "symmetric" : "none";
  json["count"] = settings.ordered ? "ordered" : "once";
  if (!settings.superpixels.empty()) json["superpixels"] = settings.superpixels;
  return json;
}

void AddKernels(const SegmentationParameters& parameters, Json* json) {
  (*json)["position"] = {parameters.position_sigma, parameters.position_weight};
  (*json)["bilateral"] = {parameters.bilateral_sigma, parameters.colour_sigma,
                          parameters.bilateral_weight};
  if (parameters.superpixel_sizes.empty()) return;
  (*json)["superpixel_sizes"] = parameters.superpixel_sizes;
  (*json)["superpixel_terms"] = {parameters.superpixel_gamma, parameters.superpixel_share};
}

// Those that made a difference.
void AddParameters(const SegmentSettings& settings, const SegmentationParameters& parameters,
                   const char* unit, const SolveResult& solved, PicturePage* page) {
  const SolveOptions& solve = settings.dense.solve;
  page->AddParameter("labels", solved.updates > 0 || solve.dense.updates > 0
                                   ? fmt::format("{} updates of mean field", solve.dense.updates)
                                   : "of the least energy found");
  const auto kernel = [&](const char* name, double weight, const std::string& sigmas) {
    page->AddParameter(name, weight > 0.0 ? fmt::format("{}, weight {:.4g}", sigmas, weight)
                                          : std::string("none"));
  };
  kernel("position kernel", parameters.position_weight,
         fmt::format("{:.4g} {}", parameters.position_sigma, unit));
  kernel("colour kernel", parameters.bilateral_weight,
         fmt::format("{:.4g} {}, {:.4g} grey levels", parameters.bilateral_sigma, unit,
                     parameters.colour_sigma));
  page->AddParameter("metric", settings.metric);
  if (settings.normalisation != KernelNormalisation::kSymmetric)
    page->AddParameter("normalisation", "none");
  if (settings.ordered) page->AddParameter("pairs counted", "twice");
  for (const std::string& text : settings.superpixels) page->AddParameter("superpixels", text);
  if (settings.reading.softmax_temperature != 1.0)
    page->AddParameter("softmax temperature",
                       fmt::format("{:g}", settings.reading.softmax_temperature));
  if (std::isfinite(solve.limits.time_limit_seconds))
    page->AddParameter("time limit", fmt::format("{:g} s", solve.limits.time_limit_seconds));
}

// Size and modification time; null for a missing file.
Json Stamp(const std::string& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  if (error) return nullptr;
  const auto time = std::filesystem::last_write_time(file, error);
  return error ? Json(nullptr) : Json{size, time.time_since_epoch().count()};
}

// Classes given in another order than the metric's labels would be given each other's distances.
void RequireOrder(const std::vector<std::string>& classes, const std::vector<std::string>& names,
                  const std::string& metric) {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), classes[i]);
    if (found == names.end() || classes[i] == names[i]) continue;
    throw InvalidInput(
        fmt::format("class {} is \"{}\", which is label {} of the metric \"{}\", expected both in "
                    "the same order",
                    i, classes[i], found - names.begin(), metric));
  }
}

}  // namespace

Json RequestJson(const SegmentSettings& settings, const SegmentFiles& files) {
  Json json = SettingsJson(settings, files);
  if (settings.parameters) AddKernels(*settings.parameters, &json["parameters"]);
  json["kernels"] = {settings.position, settings.bilateral};
  for (const std::string* file :
       {&files.image, &files.softmax, &files.unary, &files.scribbles, &files.truth, &files.region})
    json["stamps"].push_back(file->empty() ? Json(nullptr) : Stamp(*file));
  if (const auto metric = MetricFileOf(settings.metric)) json["stamps"].push_back(Stamp(*metric));
  for (const std::string& text : settings.superpixels) {
    const SuperpixelSpec spec = ParseSuperpixels(text);
    if (!spec.file.empty()) json["stamps"].push_back(Stamp(spec.file));
  }
  const SolveOptions& solve = settings.dense.solve;
  json["solve"] = {
      {"method", ToString(solve.method)},
      {"updates", solve.dense.updates},
      {"max_iterations", solve.limits.max_iterations ? Json(*solve.limits.max_iterations) : Json()},
      {"gap", solve.limits.gap ? Json(*solve.limits.gap) : Json()},
      {"certify", ToString(solve.dense.certify)},
      {"pairs", ToString(solve.dense.pairs.kind)},
      {"cutoff", solve.dense.pairs.cutoff},
      {"levels", solve.dense.pairs.lattice.levels},
      {"marginals_of", ToString(solve.dense.marginals)},
      {"harmonic_steps", solve.harmonic_steps},
      {"time_limit", std::isfinite(solve.limits.time_limit_seconds)
                         ? Json(solve.limits.time_limit_seconds)
                         : Json()}};
  json["classes"] = settings.reading.classes;
  json["palette"] = settings.reading.palette;
  json["top"] = settings.dense.top;
  json["report"] = settings.report ? Json(settings.report->max_megabytes) : Json();
  return json;
}

SegmentDone RunSegmentJob(const SegmentSettings& settings, const SegmentJob& job, bool complete,
                          SolveProgress* progress) {
  const Stopwatch clock;
  const SolveOptions& solve = settings.dense.solve;
  (*progress)("reading", {.k = -1});
  const Json request = RequestJson(settings, job.files);
  SegmentDone done;
  const ReadingLimits limits(solve, clock, LeastBytesPerPixel(LeastLabels(job.files)));
  done.picture = ReadSegmentPicture(job.files, settings.reading, limits);
  ModelInput input;
  const SegmentationParameters parameters = ParametersOf(settings, &done.picture);
  input.dense = BuildModel(settings, parameters, &done.picture, &input.cliques);
  done.groups = input.dense->labels().groups;
  const std::vector<std::string>& of_metric = input.dense->labels().names;
  RequireOrder(settings.reading.classes, of_metric, settings.metric);
  if (settings.reading.classes.empty() && job.files.scribbles.empty() && !of_metric.empty())
    done.picture.names = of_metric;
  Bundle bundle(job.directory);
  const WritingTime writing(input.dense->num_variables(), done.picture.names.size());
  const double limit = solve.limits.time_limit_seconds;
  const double after = writing.Reserve(settings.report.has_value(), limit);
  const std::size_t labels = done.picture.names.size();
  const double proving = solve.expectations ? ReserveForProving(input.dense->num_variables(),
                                                                labels, MostProven(labels), limit)
                                            : 0.0;
  SolveResult solved = SolveInTime(input, solve, clock, after + proving, progress);
  if (complete && solved.termination == Termination::kInterrupted)
    throw submarine::Interrupted("interrupted");
  // The page waits for what is proven, not the other way round.
  done.proof = ProveShares(done.picture, solved,
                           [&] { return limit - writing.file_seconds() - clock.Seconds(); });
  solved.tilted.reset();
  Calibrate(settings, done.picture, input.dense->unary(), &solved);
  solved.mean_field = {};
  done.outcome = ConcludeSegment(done.picture, input.dense->unary(), std::move(solved));
  const std::string title =
      fmt::format("Segmentation: {}", std::filesystem::path(job.files.image).filename().string());
  const bool volume = done.picture.volume != nullptr;
  WriteLabels(bundle, done.picture, done.outcome.solved);
  PicturePage page = (volume ? VolumePage : SegmentPage)(&bundle, title, done.picture, done.outcome,
                                                         settings.dense.top);
  AddParameters(settings, parameters, volume ? "mm" : "px", done.outcome.solved, &page);
  const auto report =
      writing.PageInTime(settings.report, clock.Seconds(), solve.limits.time_limit_seconds,
                         &done.outcome.solved.notes);
  done.page = report.has_value();
  Json summary = SummaryJson(done.outcome.solved, solve, job.files.image, true);
  summary["options"]["segment"] = SettingsJson(settings, job.files);
  AddKernels(parameters, &summary["options"]["segment"]);
  summary["segmentation"] = OutcomeJson(done.picture, done.outcome);
  const MarginalRows& marginals = done.outcome.solved.marginals;
  if (!done.groups.empty()) {
    AddGroups(done.groups, done.picture.names, marginals, &summary);
    const std::vector<int> extent = done.picture.extent();
    WriteGroups(bundle.File("groups.npy").string(), done.groups, marginals,
                {extent.begin(), extent.end()});
  }
  if (done.proof.agreement) summary["expectations"] = ProvenJson(done.proof.all());
  summary["request"] = request;
  if (settings.report && !report) summary["page_left_out"] = true;
  FinishBundle(std::move(summary), "segment", page.json(), &bundle, report);
  done.seconds = clock.Seconds();
  return done;
}

}  // namespace submarine::apps
