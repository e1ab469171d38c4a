#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
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
#include "apps/solve/solve_output.h"
#include "apps/solve/solve_progress.h"
#include "apps/stereo/stereo.h"
#include "apps/stereo/stereo_output.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/stereo/disparity.h"

namespace submarine::apps {
namespace {

using internal::Stopwatch;
using internal::ThreadLimit;

struct StereoCommand {
  std::string left;
  std::string right;
  std::string directory;
  StereoSettings settings = DefaultStereoSettings();
  std::string disparities = "auto";
  std::string unary;
  std::optional<double> truncate;
  std::optional<double> factor;
  std::vector<double> spatial = {settings.spatial_sigma, settings.spatial_weight};
  std::vector<double> bilateral = {settings.bilateral_sigma, settings.bilateral_colour_sigma,
                                   settings.bilateral_weight};
  int shrink = 1;
  std::string truth;
  std::string mask;
  DenseCommand dense;
};

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

// The settings as changed by the options.
StereoSettings SettingsOf(const StereoCommand& command) {
  StereoSettings settings = command.settings;
  settings.disparities = ParseDisparities(command.disparities);
  if (!command.unary.empty()) {
    // The default truncation and factor apply to the default comparison only.
    settings.matching = ParseMatchingKind(command.unary);
  }
  if (command.truncate) settings.matching.truncate = *command.truncate;
  if (command.factor) settings.matching.factor = *command.factor;
  CheckKernelOption("--spatial", command.spatial);
  CheckKernelOption("--bilateral", command.bilateral);
  settings.spatial_sigma = command.spatial[0];
  settings.spatial_weight = command.spatial[1];
  settings.bilateral_sigma = command.bilateral[0];
  settings.bilateral_colour_sigma = command.bilateral[1];
  settings.bilateral_weight = command.bilateral[2];
  return settings;
}

// For every pixel, whatever the number of disparities turns out to be.
double LeastBytes(const StereoSettings& settings) {
  constexpr int kFewest = 2;
  constexpr double kViews = 2.0 * sizeof(float);
  return kViews +
         LeastBytesPerPixel(static_cast<std::size_t>(std::max(kFewest, settings.disparities)));
}

void RunStereo(const StereoCommand& command) {
  const Stopwatch clock;
  const ThreadLimit thread_limit(command.dense.threads);
  CatchInterrupts();
  StereoSettings settings = SettingsOf(command);
  SolveOptions solve = command.dense.solve;
  SolveProgress progress(solve, command.dense.quiet);
  progress("reading", {.k = -1});
  const ReadingLimits limits(solve, clock, LeastBytes(settings), command.shrink);
  const StereoPair pair = ReadStereoPair(command.left, command.right, command.shrink, limits);
  StereoTruth truth;
  if (!command.truth.empty())
    truth.disparity = ReadTruth(command.truth, pair, command.shrink, limits);
  if (!command.mask.empty()) {
    if (command.truth.empty()) throw InvalidInput("--mask needs --truth");
    truth.mask = ReadMask(command.mask, pair, command.shrink, limits);
  }
  Bundle bundle(command.directory);
  progress("comparing views", {.k = -1});
  ModelInput input;
  input.dense = BuildStereoModel(
      pair, &settings, [&](std::span<const GaussianKernel> kernels, const LabelSpace& labels) {
        const std::size_t pixels = pair.left.size() / static_cast<std::size_t>(pair.channels);
        SolveOptions left = solve;
        left.limits.time_limit_seconds =
            std::max(0.0, solve.limits.time_limit_seconds - clock.Seconds() -
                              WritingTime(pixels, static_cast<std::size_t>(labels.num_labels()))
                                  .Reserve(true, solve.limits.time_limit_seconds));
        RequireFits(kernels, pixels, labels, left);
      });
  const WritingTime writing(input.dense->num_variables(),
                            static_cast<std::size_t>(settings.disparities));
  SolveResult outcome = SolveInTime(
      input, solve, clock, writing.Reserve(true, solve.limits.time_limit_seconds), &progress);
  const StereoResult result = ConcludeStereo(outcome, truth);

  const PicturePage page = StereoPage(
      &bundle, fmt::format("Stereo: {}", std::filesystem::path(command.left).filename().string()),
      pair, settings, outcome, result, truth, command.dense.top);
  const auto report = writing.PageInTime(ReportOptions(), clock.Seconds(),
                                         solve.limits.time_limit_seconds, &outcome.notes);
  nlohmann::ordered_json summary =
      SummaryJson(outcome, solve, fmt::format("{} {}", command.left, command.right), true);
  summary["options"]["stereo"] =
      SettingsJson(settings, command.left, command.right, command.shrink);
  if (result.judgement) summary["truth"] = JudgementJson(*result.judgement, command.truth);
  FinishBundle(std::move(summary), "stereo", page.json(), &bundle, report);
  progress.Clear();
  if (!command.dense.quiet) {
    PrintText(Summary(outcome));
    if (result.judgement) PrintText(JudgementText(*result.judgement));
    if (report)
      PrintLine("Report: " + (std::filesystem::path(command.directory) / "report.html").string());
  }
  CheckComplete(outcome);
}

void AddModelOptions(CLI::App* sub, StereoCommand* command) {
  const char* group = "Model";
  const StereoSettings& settings = command->settings;
  sub->add_option("--disparities", command->disparities,
                  "Number of disparities: 0 to N - 1 pixels; auto estimates it from the pair")
      ->type_name("N|auto")
      ->capture_default_str()
      ->group(group);
  sub->add_option(
         "--unary", command->unary,
         "Matching cost. ad: sum over channels of absolute differences; census: differing "
         "comparisons with 62 neighbours; bt: Birchfield and Tomasi's, insensitive to sampling; "
         "sad:R, census:R, bt:R: their means over windows of radius R")
      ->type_name("ad|sad:R|census[:R]|bt[:R]")
      ->default_str(ToString(settings.matching))
      ->group(group);
  sub->add_option("--truncate", command->truncate, "Largest matching cost")
      ->check(NumberInside(0, 1e30))
      ->default_str(std::isfinite(settings.matching.truncate)
                        ? fmt::format("{:g}", settings.matching.truncate)
                        : "none")
      ->group(group);
  sub->add_option("--scale", command->factor,
                  "Factor of the matching costs: the larger, the less smoothing")
      ->check(NumberInside(0, 1e30))
      ->default_str(fmt::format("{:g}", settings.matching.factor))
      ->group(group);
  sub->add_option("--metric", command->settings.metric,
                  "Distance of disparities: potts, linear, truncated:T, or a file of a matrix or of a "
                  "label tree (.csv, .tsv, .txt, .json, .npy)")
      ->capture_default_str()
      ->group(group);
  AddKernelOptions(sub, &command->spatial, &command->bilateral);
  sub->add_option("--shrink", command->shrink,
                  "Work at 1/K of the resolution; ground truth is shrunk, too")
      ->type_name("K")
      ->check(NumberBetween(1, 64))
      ->capture_default_str()
      ->group(group);
}

}  // namespace

void AddStereoCommand(CLI::App* app) {
  auto command = std::make_shared<StereoCommand>();
  command->dense.solve.limits.gap = kStereoGap;
  CLI::App* sub = app->add_subcommand(
      "stereo", "Two views in; disparities, their uncertainty and a certified interval out");
  sub->add_option("LEFT", command->left, "The left view (PNG, JPEG, TIFF, BMP, PGM, PPM)")
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
  AddDenseSolveOptions(sub, &command->dense);
  AddModelOptions(sub, command.get());
  AddPairOptions(sub, &command->dense.solve);
  sub->footer(
      "Examples:\n"
      "  submarine stereo left.png right.png -o out\n"
      "  submarine stereo left.jpg right.jpg -o out --shrink 3 --disparities 80 --time-limit 60\n"
      "  submarine stereo left.png right.png -o out --truth disparity.png,16\n"
      "  submarine stereo left.png right.png -o out --unary ad --metric potts --disparities 16 \\\n"
      "    --spatial 1.64,12.99 --bilateral 50.84,1.51,1.10        (the paper's model of Tsukuba)");
  sub->callback([command] {
    try {
      RunStereo(*command);
    } catch (const TooLarge& error) {
      throw TooLarge(InOptions(error, command->shrink));
    }
  });
}

}  // namespace submarine::apps
