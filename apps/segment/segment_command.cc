#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/dense_options.h"
#include "apps/cli/messages.h"
#include "apps/cli/option_checks.h"
#include "apps/cli/terminal.h"
#include "apps/commands.h"
#include "apps/report/picture_page.h"
#include "apps/segment/segment.h"
#include "apps/solve/bundle.h"
#include "apps/solve/solve_output.h"
#include "apps/solve/solve_progress.h"
#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/model/dense_bundle.h"

namespace submarine::apps {
namespace {

using internal::NpyShape;
using internal::Stopwatch;
using internal::ThreadLimit;
using internal::WriteNpy;

struct SegmentCommand {
  std::string image;
  std::string scribbles;
  std::string unary;
  std::string directory;
  double confidence = 0.7;
  std::string metric = "potts";
  std::vector<double> spatial = {3.0, 3.0};
  std::vector<double> bilateral = {80.0, 13.0, 10.0};
  bool normalise = true;
  bool ordered = false;
  DenseCommand dense;
};

Segments ReadSegments(const SegmentCommand& command, const Image& image) {
  if (command.scribbles.empty() == command.unary.empty())
    throw InvalidInput("segment needs either --scribbles or --unary, and not both");
  return command.unary.empty() ? ReadScribbles(command.scribbles, image, command.confidence)
                               : ReadUnaries(command.unary, image);
}

ModelInput BuildModel(const SegmentCommand& command, const Image& image, Matrix<float> unary) {
  CheckKernelOption("--spatial", command.spatial);
  CheckKernelOption("--bilateral", command.bilateral);
  DenseSpec spec;
  spec.width = image.width;
  spec.height = image.height;
  spec.unary = std::move(unary);
  spec.metric = command.metric;
  spec.counting = command.ordered ? PairCounting::kOrdered : PairCounting::kOnce;
  spec.channels = image.channels;
  spec.image = ColourValues(image);
  if (command.spatial[1] > 0.0) {
    spec.kernels.push_back({.type = DenseKernelType::kPosition,
                            .sigma = {command.spatial[0]},
                            .weight = command.spatial[1]});
  }
  if (command.bilateral[2] > 0.0) {
    spec.kernels.push_back({.type = DenseKernelType::kBilateral,
                            .sigma = {command.bilateral[0]},
                            .colour_sigma = {command.bilateral[1]},
                            .weight = command.bilateral[2]});
  }
  if (command.normalise) {
    for (DenseKernelSpec& kernel : spec.kernels)
      kernel.normalisation = KernelNormalisation::kSymmetric;
  }
  ModelInput input;
  input.dense = BuildDenseCrf(spec);
  return input;
}

nlohmann::ordered_json SettingsJson(const SegmentCommand& command) {
  return {{"image", command.image},
          {"scribbles", command.scribbles},
          {"unary", command.unary},
          {"confidence", command.confidence},
          {"metric", command.metric},
          {"spatial", command.spatial},
          {"bilateral", command.bilateral},
          {"normalisation", command.normalise ? "symmetric" : "none"},
          {"pairs", command.ordered ? "ordered" : "once"}};
}

PicturePage SegmentPage(const Bundle* bundle, const SegmentCommand& command, const Image& image,
                        const Segments& segments, const SolveResult& outcome) {
  PicturePage page(
      bundle, image.width, image.height,
      fmt::format("Segmentation: {}", std::filesystem::path(command.image).filename().string()));
  const std::vector<float> entropies = Entropies(outcome.marginals);
  page.AddPicture("picture", "image", image.channels, ColourValues(image));
  page.AddLabels("labels", "labels", outcome.labels, segments.names, segments.colours);
  page.AddColoured("uncertainty", "entropy_colour", entropies, 0.0,
                   std::log(static_cast<double>(segments.names.size())), "nats");
  page.AddValues("entropy", "entropy", entropies, "nats");
  page.AddMarginals(outcome.marginals, command.dense.top, "label", segments.names);
  const std::vector<std::int32_t> labels(outcome.labels.begin(), outcome.labels.end());
  WriteNpy<std::int32_t>(bundle->File("labels.npy"), labels, NpyShape{image.height, image.width});
  return page;
}

void RunSegment(const SegmentCommand& command) {
  const Stopwatch clock;
  const ThreadLimit thread_limit(command.dense.threads);
  CatchInterrupts();
  const SolveOptions& solve = command.dense.solve;
  SolveProgress progress(solve, command.dense.quiet);
  progress("reading", {.k = -1});
  const Image image = ReadImage(command.image);
  Segments segments = ReadSegments(command, image);
  ModelInput input = BuildModel(command, image, std::move(segments.unary));
  Bundle bundle(command.directory);
  const SolveResult outcome =
      SolveInTime(input, solve, clock, WritingSeconds(*input.dense), &progress);
  nlohmann::ordered_json summary = SummaryJson(outcome, solve, command.image, true);
  summary["options"]["segment"] = SettingsJson(command);
  const PicturePage page = SegmentPage(&bundle, command, image, segments, outcome);
  FinishBundle(std::move(summary), "segment", page.json(), &bundle);
  progress.Clear();
  if (!command.dense.quiet) {
    PrintText(SummaryText(outcome));
    PrintLine("Report: " + (std::filesystem::path(command.directory) / "report.html").string());
  }
}

}  // namespace

void AddSegmentCommand(CLI::App* app) {
  auto command = std::make_shared<SegmentCommand>();
  // Scribbles are weak unaries beside these kernels: the upper bound is far from tight there and takes
  // minutes, while mean field is what such models are used with.
  command->dense.solve.method = Method::kMeanField;
  command->dense.solve.marginals = DenseMarginals::kMeanField;
  CLI::App* sub = app->add_subcommand(
      "segment", "A picture and scribbles (or unaries) in; labels and their uncertainty out");
  sub->add_option("IMAGE", command->image, "The picture (PNG, JPEG, TIFF, PGM, PPM)")->required();
  AddOutputOption(sub, &command->directory);
  sub->add_option("--scribbles", command->scribbles,
                  "A picture of the same size: a colour for every label, black for undecided");
  sub->add_option("--unary", command->unary,
                  "Instead: costs (-log probability) as .npy of shape (height, width, labels)");
  sub->add_option("--confidence", command->confidence,
                  "Probability that a scribble is right, against all other labels together")
      ->check(NumberInside(0, 1))
      ->capture_default_str();
  AddDenseSolveOptions(sub, &command->dense);
  const char* group = "Model";
  sub->add_option("--metric", command->metric,
                  "Distance of labels: potts, linear, truncated:T, tree:FILE")
      ->capture_default_str()
      ->group(group);
  AddKernelOptions(sub, &command->spatial, &command->bilateral);
  AddChoice<bool>(
      sub, "--normalisation", &command->normalise, {{"symmetric", true}, {"none", false}},
      "symmetric: divide by row sums, so that pixels with many similar ones weigh no more")
      ->group(group);
  AddChoice<bool>(sub, "--count", &command->ordered, {{"once", false}, {"ordered", true}},
                  "once: a pair adds its weight once; ordered: as (a, b) and as (b, a), twice")
      ->group(group);
  AddPairOptions(sub, &command->dense.solve);
  sub->footer(
      "Examples:\n"
      "  submarine segment photo.jpg --scribbles scribbles.png -o out\n"
      "  submarine segment photo.png --unary costs.npy -o out --bilateral 60,10,5\n"
      "  submarine segment photo.png --scribbles scribbles.png -o out --method auto --time-limit "
      "60");
  sub->callback([command] { RunSegment(*command); });
}

}  // namespace submarine::apps
