#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/dense_options.h"
#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/cli/terminal.h"
#include "apps/commands.h"
#include "apps/report/picture_page.h"
#include "apps/report/writing_time.h"
#include "apps/solve/bundle.h"
#include "apps/solve/proven_values.h"
#include "apps/solve/solve_output.h"
#include "apps/solve/solve_progress.h"
#include "apps/stereo/stereo.h"
#include "apps/stereo/stereo_depth.h"
#include "apps/stereo/stereo_frames.h"
#include "apps/stereo/stereo_output.h"
#include "apps/stereo/stereo_presets.h"
#include "submarine/base/error.h"
#include "submarine/base/loop_interrupt.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/stereo/match/match_stereo.h"
#include "submarine/stereo/match/solve_stereo_crf.h"

namespace submarine::apps {
namespace {

using internal::Stopwatch;
using internal::ThreadLimit;

enum class Preset { kSemiGlobal, kPaper };

struct StereoCommand {
  std::string left;
  std::string right;
  std::string directory;
  StereoSettings plain = DefaultStereoSettings();  // with --unary
  Preset preset = Preset::kSemiGlobal;
  std::string disparities = "auto";
  std::string unary;
  std::optional<double> truncate;
  std::optional<double> factor;
  std::vector<double> position;   // empty: not given
  std::vector<double> bilateral;  // likewise
  int shrink = 1;
  bool fast = false;
  bool frames = false;
  std::string cost;
  std::vector<std::string> range;  // empty: not given
  bool no_report = false;
  StereoCamera camera;
  std::string truth;
  std::string mask;
  std::string region;
  DenseCommand dense;
};

bool Given(const CLI::App& sub, const std::string& option) {
  return sub.get_option(option)->count() > 0;
}

// What a proof may take unless the user says otherwise.
constexpr double kSecondsOfStereoProof = 20.0;

int ParseDisparities(const std::string& text) {
  if (text == "auto") return 0;
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || parsed != end || value < 2 || value > kMaxLabels) {
    throw InvalidInput(fmt::format("--disparities is {}, expected auto or a number from 2 to {}",
                                   text, kMaxLabels));
  }
  return value;
}

void TakeKernels(const StereoCommand& command, StereoSettings* settings) {
  if (!command.position.empty()) {
    CheckKernelOption("--position", command.position);
    settings->position_sigma = command.position[0];
    settings->position_weight = command.position[1];
  }
  if (command.bilateral.empty()) return;
  CheckKernelOption("--bilateral", command.bilateral);
  settings->bilateral_sigma = command.bilateral[0];
  settings->bilateral_colour_sigma = command.bilateral[1];
  settings->bilateral_weight = command.bilateral[2];
  if (!settings->semi_global) return;
  settings->semi_global->sigma = command.bilateral[0];
  settings->semi_global->colour_sigma = command.bilateral[1];
  settings->semi_global->weight = command.bilateral[2];
}

// The settings as changed by the options.
StereoSettings SettingsOf(const CLI::App& sub, const StereoCommand& command) {
  const bool plain = !command.unary.empty() || command.preset == Preset::kPaper;
  StereoSettings settings = plain ? command.plain : SemiGlobalSettings();
  if (command.preset == Preset::kPaper) {
    if (!command.unary.empty())
      throw InvalidInput("--preset paper and --unary both name a matching cost; give one of them");
    const std::string metric = settings.metric;
    settings = PaperStereoSettings();
    if (Given(sub, "--metric")) settings.metric = metric;
  }
  settings.disparities = ParseDisparities(command.disparities);
  if (!plain) {
    for (const char* option : {"--truncate", "--scale", "--metric", "--position"}) {
      if (Given(sub, option)) {
        throw InvalidInput(fmt::format(
            "{} is about models of --unary, which is not given; semi-global matching has no such "
            "option",
            option));
      }
    }
  }
  if (!command.unary.empty()) {
    // The default truncation and factor apply to the default comparison only.
    const MatchingOptions given = ParseMatchingKind(command.unary);
    if (ToString(given) != ToString(settings.matching)) settings.matching = given;
  }
  if (command.truncate) settings.matching.truncate = *command.truncate;
  if (command.factor) settings.matching.factor = *command.factor;
  TakeKernels(command, &settings);
  if (!plain) return settings;
  for (const char* option : {"--fast", "--frames", "--cost", "--range"}) {
    if (Given(sub, option)) {
      throw InvalidInput(fmt::format(
          "{} is about semi-global matching; with --unary and --preset paper there is nothing but "
          "the model to solve",
          option));
    }
  }
  return settings;
}

// Labels of semi-global matching are those of a few updates of mean field; a proof adds an interval and
// leaves them as they are. Models of --unary are solved for the least energy.
SolveOptions SolveOptionsOf(const CLI::App& sub, const StereoSettings& settings,
                            const StereoCommand& command) {
  SolveOptions solve = command.dense.solve;
  if (!settings.semi_global) {
    if (!Given(sub, "--method")) solve.method = Method::kAuto;
    if (!Given(sub, "--certify")) solve.dense.certify = Certify::kAuto;
    if (!Given(sub, "--marginals-of")) solve.dense.marginals = DenseMarginals::kUpperBound;
    return solve;
  }
  solve.dense.updates = settings.semi_global->updates;
  const bool proves =
      solve.dense.certify != Certify::kNone && solve.dense.certify != Certify::kLower;
  if (!Given(sub, "--method")) {
    solve.method = proves ? Method::kAuto : Method::kMeanField;
  } else if (solve.method != Method::kMeanField && !Given(sub, "--certify")) {
    solve.dense.certify = Certify::kAuto;
  }
  if (solve.method == Method::kMeanField) {
    if (!Given(sub, "--pairs")) solve.dense.pairs.kind = OperatorKind::kLattice;
  } else if (!Given(sub, "--time-limit")) {
    solve.limits.time_limit_seconds = kSecondsOfStereoProof;
  }
  return solve;
}

// For every pixel, whatever the number of disparities turns out to be.
double LeastBytes(const StereoSettings& settings) {
  constexpr int kFewest = 2;
  constexpr double kViews = 2.0 * sizeof(float);
  return kViews +
         LeastBytesPerPixel(static_cast<std::size_t>(std::max(kFewest, settings.disparities)));
}

// The model of a pair and what is solved of it.
class StereoRun {
 public:
  StereoRun(const CLI::App& sub, const StereoCommand& command)
      : command_(command),
        settings_(SettingsOf(sub, command)),
        solve_(SolveOptionsOf(sub, settings_, command)),
        progress_(solve_, command.dense.quiet) {
    solve_.expectations = solve_.method != Method::kMeanField &&
                          solve_.dense.certify != Certify::kNone &&
                          solve_.dense.certify != Certify::kLower;
  }

  void Run() {
    Read();
    Bundle bundle(command_.directory);
    Build();
    if (!command_.fast) Solve();
    const StereoResult result = ConcludeStereo(outcome(), evidence(), truth_);
    Prove(result);
    const PicturePage page = StereoPage(
        &bundle,
        fmt::format("Stereo: {}", std::filesystem::path(command_.left).filename().string()), pair_,
        settings_, outcome(), result, truth_, command_.dense.top);
    WriteDepth(bundle, pair_, command_.camera, command_.shrink, result, outcome());
    const auto report = ReportInTime();
    FinishBundle(SummaryOf(result), "stereo", page.json(), &bundle, report);
    progress_.Clear();
    if (!command_.dense.quiet) {
      if (solved_) PrintText(Summary(*solved_));
      PrintText(ProvenText(proven_, !region_.empty()));
      if (result.evaluation) PrintText(EvaluationText(*result.evaluation));
      PrintLine(
          "Results: " +
          (std::filesystem::path(command_.directory) / (report ? "report.html" : "")).string());
    }
    if (solved_) CheckComplete(*solved_);
  }

 private:
  std::size_t pixels() const {
    return static_cast<std::size_t>(pair_.width) * static_cast<std::size_t>(pair_.height);
  }
  const SolveResult* outcome() const { return solved_ ? &*solved_ : nullptr; }
  const internal::SemiGlobalMatch* evidence() const { return match_ ? &*match_ : nullptr; }
  bool pages() const { return !command_.no_report && !command_.fast; }

  void Read() {
    progress_("reading", {.k = -1});
    const ReadingLimits limits(solve_, clock_, LeastBytes(settings_), command_.shrink);
    pair_ = ReadStereoPair(command_.left, command_.right, command_.shrink, limits);
    if (!command_.truth.empty())
      truth_.disparity = ReadTruth(command_.truth, pair_, command_.shrink, limits);
    if (!command_.region.empty()) {
      region_ = ReadMask(command_.region, pair_, command_.shrink, limits);
      if (std::find(region_.begin(), region_.end(), 1) == region_.end()) {
        throw InvalidInput(
            fmt::format("\"{}\" is black everywhere, expected a region in white", command_.region));
      }
    }
    given_ = ReadGiven(command_.cost, command_.range, pair_, solve_.limits.max_bytes);
    if (command_.mask.empty()) return;
    if (command_.truth.empty()) throw InvalidInput("--mask needs --truth");
    truth_.mask = ReadMask(command_.mask, pair_, command_.shrink, limits);
  }

  // What a solve may take, if its results are written afterwards.
  SolveOptions LimitsLeft(int labels) const {
    SolveOptions left = solve_;
    const double limit = solve_.limits.time_limit_seconds;
    left.limits.time_limit_seconds = std::max(
        0.0, limit - clock_.Seconds() -
                 WritingTime(pixels(), static_cast<std::size_t>(labels)).Reserve(pages(), limit));
    return left;
  }

  void Build() {
    progress_("comparing views", {.k = -1});
    const internal::LoopInterrupt interrupt(interrupted_);
    if (!settings_.semi_global) {
      plain_ = BuildStereoModel(
          pair_, &settings_,
          [&](std::span<const GaussianKernel> kernels, const LabelSpace& labels) {
            RequireFits(kernels, pixels(), labels, LimitsLeft(labels.num_labels()));
          });
      return;
    }
    match_ = MatchStereoPair(pair_, given_.view(), &settings_, [&](int disparities) {
      RequireMatchingFits(pixels(), disparities, given_.view(), solve_.limits.max_bytes);
    });
    given_.costs = {};
    match_->given.costs = {};
    const std::size_t held = sizeof(std::uint16_t) * match_->sums.cells.size();
    if (solve_.limits.max_bytes > 0)
      solve_.limits.max_bytes -= std::min(solve_.limits.max_bytes / 2, held);
  }

  void Solve() {
    writing_.emplace(pixels(), static_cast<std::size_t>(settings_.disparities));
    solved_ = SolveInTime(
        [&](const SolveOptions& within, const Watch& watch) {
          return match_ ? SolveStereoCrf(*match_, pair_.LeftView(), *settings_.semi_global, within,
                                         watch)
                        : submarine::Solve(*plain_, within, watch);
        },
        solve_, clock_, writing_->Reserve(pages(), solve_.limits.time_limit_seconds), &progress_);
    // Its unaries are as large as the marginals.
    plain_.reset();
  }

  double TimeAfter() const { return writing_->Reserve(pages(), solve_.limits.time_limit_seconds); }

  void Prove(const StereoResult& result) {
    if (!solved_ || !solved_->tilted) return;
    if (solved_->certificate.upper &&
        clock_.Seconds() + writing_->file_seconds() < solve_.limits.time_limit_seconds)
      proven_ = ProveDisparities(*solved_, result, truth_, region_);
    solved_->tilted.reset();
    solved_->mean_field = {};
  }

  std::optional<ReportOptions> ReportInTime() {
    if (!pages() || !writing_) return std::nullopt;
    return writing_->PageInTime(ReportOptions(), clock_.Seconds(), solve_.limits.time_limit_seconds,
                                &solved_->notes);
  }

  nlohmann::ordered_json SummaryOf(const StereoResult& result) const {
    nlohmann::ordered_json summary;
    if (solved_) {
      summary =
          SummaryJson(*solved_, solve_, fmt::format("{} {}", command_.left, command_.right), true);
    } else {
      summary["seconds"] = clock_.Seconds();
    }
    summary["options"]["stereo"] =
        SettingsJson(settings_, command_.left, command_.right, command_.shrink);
    if (!proven_.empty()) summary["expectations"] = ProvenJson(proven_);
    if (result.evaluation) summary["truth"] = EvaluationJson(*result.evaluation, command_.truth);
    return summary;
  }

  const StereoCommand& command_;
  const Stopwatch clock_;
  StereoSettings settings_;
  SolveOptions solve_;
  SolveProgress progress_;
  const std::function<bool()> interrupted_ = [] { return Interrupted(); };
  StereoPair pair_;
  StereoTruth truth_;
  GivenArrays given_;
  std::vector<std::uint8_t> region_;  // empty: the whole picture
  std::vector<ProvenValue> proven_;
  std::optional<internal::SemiGlobalMatch> match_;
  std::optional<DenseCrf> plain_;  // of --unary
  std::optional<WritingTime> writing_;
  std::optional<SolveResult> solved_;
};

// Frames are matched and written, nothing else.
FrameSettings FrameSettingsOf(const CLI::App& sub, const StereoCommand& command) {
  for (const char* option : {"--truth", "--mask", "--region", "--no-report", "--focal",
                             "--baseline", "--cost", "--range", "--certify", "--method",
                             "--bilateral", "--top", "--time-limit", "--marginals-of"}) {
    if (Given(sub, option))
      throw InvalidInput(
          fmt::format("{} does not go with --frames, which writes disparities", option));
  }
  FrameSettings frames;
  frames.matching.disparities = SettingsOf(sub, command).disparities;
  frames.matching.fast = command.fast;
  frames.matching.limits.max_bytes = command.dense.solve.limits.max_bytes;
  frames.shrink = command.shrink;
  frames.threads = command.dense.threads;
  frames.quiet = command.dense.quiet;
  return frames;
}

void RunStereo(const CLI::App& sub, const StereoCommand& command) {
  CheckCamera(command.camera);
  if (command.shrink > 1 && (!command.cost.empty() || !command.range.empty()))
    throw InvalidInput("--cost and --range are about the pixels of the views; leave --shrink out");
  const ThreadLimit thread_limit(command.dense.threads);
  CatchInterrupts();
  if (command.frames) {
    RunStereoFrames(FrameSettingsOf(sub, command), command.left, command.right, command.directory);
  } else {
    StereoRun(sub, command).Run();
  }
}

void AddModelOptions(CLI::App* sub, StereoCommand* command) {
  const InGroup group(sub, "Model");
  const StereoSettings& settings = command->plain;
  sub->add_option("--disparities", command->disparities,
                  "Number of disparities: 0 to N - 1 pixels; auto estimates it from the pair")
      ->type_name("N|auto");
  sub->add_option(
         "--unary", command->unary,
         "Solve a model of this matching cost for the least energy, with a proof, instead of "
         "semi-global matching. ad: sum over channels of absolute differences; census: differing "
         "comparisons with 62 neighbours; bt: Birchfield and Tomasi's, insensitive to sampling; "
         "sad:R, census:R, bt:R: their means over windows of radius R")
      ->type_name("ad|sad:R|census[:R]|bt[:R]");
  sub->add_option("--truncate", command->truncate, "Largest matching cost of --unary")
      ->check(NumberInside(0, 1e30))
      ->default_str(std::isfinite(settings.matching.truncate)
                        ? fmt::format("{:g}", settings.matching.truncate)
                        : "none");
  sub->add_option("--scale", command->factor,
                  "Factor of the matching costs of --unary: the larger, the less smoothing")
      ->check(NumberInside(0, 1e30))
      ->default_str(fmt::format("{:g}", settings.matching.factor));
  sub->add_option(
      "--metric", command->plain.metric,
      "With --unary, distance of disparities: potts, linear, truncated:T, or a file of a "
      "matrix or of a label tree (.csv, .tsv, .txt, .json, .npy)");
  AddKernelOptions(sub, &command->position, &command->bilateral);
  AddChoice<Preset>(sub, "--preset", &command->preset,
                    {{"semi-global", Preset::kSemiGlobal}, {"paper", Preset::kPaper}},
                    "paper: absolute differences, Potts and the kernels of Pansari, Russell and "
                    "Kumar");
  sub->add_option("--shrink", command->shrink,
                  "Work at 1/K of the resolution; ground truth is shrunk, too")
      ->type_name("K")
      ->check(NumberBetween(1, 64));
}

}  // namespace

void AddStereoCommand(CLI::App* app) {
  auto command = std::make_shared<StereoCommand>();
  SolveOptions& solve = command->dense.solve;
  solve.limits.gap = kStereoGap;
  solve.method = Method::kMeanField;
  solve.dense.certify = Certify::kNone;
  solve.dense.marginals = DenseMarginals::kMeanField;
  CLI::App* sub =
      app->add_subcommand("stereo", "Two views in; disparities and their uncertainty out");
  sub->add_option("LEFT", command->left,
                  "The left view (PNG, JPEG, TIFF, BMP, PGM, PPM); with --frames a directory")
      ->required();
  sub->add_option("RIGHT", command->right, "The right view, of the same size, rectified")
      ->required();
  AddOutputOption(sub, &command->directory);
  sub->add_option(
         "--truth", command->truth,
         "Ground truth: a picture of FACTOR times the disparity (default 1, 16 bits: 256), "
         "0 unknown, or a .npy")
      ->type_name("FILE[,FACTOR]");
  sub->add_option(
      "--mask", command->mask,
      "Mask of non-occluded pixels (brighter than half of white): errors are also reported for "
      "these alone");
  sub->add_option("--region", command->region,
                  "With --certify: a picture of the left view's size; what is proven, such as the "
                  "mean disparity, is about the pixels that are white in it");
  sub->add_flag("--fast", command->fast,
                "What semi-global matching says, without the CRF: no marginals, no uncertainty, no "
                "report.html");
  sub->add_flag(
      "--frames", command->frames,
      "LEFT and RIGHT are directories: frames pair up in the order of their names, and "
      "disparities are written, no report.html. The same command continues where one ended");
  sub->add_option(
         "--cost", command->cost,
         "Costs of matches instead of comparing the views: (height, width, disparities), of "
         "a network or another matcher; NaN or infinite: unknown")
      ->type_name("FILE.npy");
  sub->add_option(
         "--range", command->range,
         "The range that the disparity of each pixel is in: two .npy of (height, width), or "
         "numbers; NaN: any")
      ->type_name("LOW,HIGH")
      ->delimiter(',')
      ->expected(2);
  sub->add_flag("--no-report", command->no_report, "Write no report.html");
  sub->add_option(
         "--focal", command->camera.focal,
         "Focal length in pixels of the files; with --baseline, depth and its 90% interval "
         "are written, too")
      ->check(NumberInside(0, 1e12));
  sub->add_option("--baseline", command->camera.baseline,
                  "Distance of the cameras, in the unit that depth is wanted in")
      ->check(NumberInside(0, 1e12));
  AddDenseSolveOptions(sub, &command->dense);
  AddModelOptions(sub, command.get());
  AddPairOptions(sub, &command->dense.solve);
  sub->footer(
      "Examples:\n"
      "  submarine stereo left.png right.png -o out\n"
      "  submarine stereo left.png right.png -o out --certify          (the same disparities, and "
      "what is proven of them)\n"
      "  submarine stereo left.png right.png -o out --focal 1400 --baseline 0.12          (depth "
      "in "
      "metres)\n"
      "  submarine stereo left.png right.png -o out --truth disparity.png,16\n"
      "  submarine stereo --frames left/ right/ -o out --fast\n"
      "  submarine stereo left.png right.png -o out --cost volume.npy          (costs of a "
      "network)\n"
      "  submarine stereo left.png right.png -o out --preset paper --disparities 16          (the "
      "paper's model of Tsukuba)");
  sub->callback([sub, command] {
    try {
      RunStereo(*sub, *command);
    } catch (const TooLarge& error) {
      throw TooLarge(InOptions(error, command->shrink));
    }
  });
}

}  // namespace submarine::apps
