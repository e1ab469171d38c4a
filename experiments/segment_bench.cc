#include "experiments/segment_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <string_view>
#include <utility>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/fit/fit.h"
#include "submarine/io/segmentation/parameters_json.h"
#include "submarine/segmentation/evaluation.h"
#include "submarine/segmentation/softmax.h"
#include "submarine/segmentation/superpixels.h"
#include "submarine/solve/solve.h"
#include "submarine/solver/mean_field/pydensecrf_mean_field.h"

namespace submarine::apps {
namespace {

using internal::Stopwatch;

using Kind = SegmentMethod::Kind;

constexpr int kMostIterations = 9999;

struct Named {
  Kind kind;
  std::string_view name;
  bool counted;  // a number of iterations follows
};
constexpr Named kMethods[] = {
    {Kind::kUnary, "unary", false}, {Kind::kConverged, "mf", false},
    {Kind::kMeanField, "mf", true}, {Kind::kPydensecrf, "pydensecrf", true},
    {Kind::kAuto, "auto", false},   {Kind::kRouted, "routed", false},
};

struct Solved {
  Matrix<float> probabilities;
  std::string termination;
};

// CPU seconds of all threads of the process: comparable even on a machine that others use.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Solved SolveModel(const LabelledPicture& picture, const SegmentationParameters& parameters,
                  const SolveOptions& options, const Watch& watch) {
  const CliqueCrf<DenseCrf> model(SegmentationModel(picture.softmax, picture.view(), parameters),
                                  SegmentationCliques(picture.view(), parameters));
  SolveResult run = Solve(model, options, [&](std::string_view phase, const SolveRecord& record) {
    std::string text = fmt::format("{:.1f} s  {}", record.seconds, phase);
    if (record.k >= 0) text += fmt::format(" {}", record.k);
    return watch(text);
  });
  return {std::move(std::get<Matrix<float>>(run.marginals)),
          std::string(ToString(run.termination))};
}

Solved SolveByBound(const LabelledPicture& picture, const SegmentationParameters& parameters,
                    Method method, double time_limit, const Watch& watch) {
  SolveOptions options;
  options.method = method;
  options.dense.certify = Certify::kNone;
  options.limits.time_limit_seconds = time_limit;
  return SolveModel(picture, parameters, options, watch);
}

// Without kernels, the result is the distribution of the unaries.
PydensecrfMeanField PackageMeanField(const LabelledPicture& picture,
                                     const SegmentationParameters& parameters, bool with_kernels) {
  PydensecrfMeanField mean_field(picture.softmax.rows(), picture.softmax.cols());
  mean_field.SetUnary(UnariesFromSoftmax(picture.softmax, parameters.softmax_temperature));
  if (!with_kernels) return mean_field;
  if (!parameters.superpixel_sizes.empty())
    throw InvalidInput("the method pydensecrf has no superpixels, which the parameters ask for");
  for (const GaussianKernel& kernel : SegmentationKernels(picture.view(), parameters)) {
    mean_field.AddTerm(SinglePrecisionFeatures(kernel), kernel.normalisation,
                       {static_cast<float>(-kernel.weight)});
  }
  return mean_field;
}

Solved SolveBy(const LabelledPicture& picture, const SegmentationParameters& parameters,
               const SegmentMethod& method, double time_limit, const Watch& watch) {
  switch (method.kind) {
    case Kind::kMeanField:
    case Kind::kConverged:
      return SolveModel(picture, parameters, internal::MeanFieldOptions(method.iterations), watch);
    case Kind::kPydensecrf:
      return {PackageMeanField(picture, parameters, true).Infer(method.iterations),
              "iteration limit"};
    case Kind::kAuto:
      return SolveByBound(picture, parameters, Method::kAuto, time_limit, watch);
    case Kind::kRouted:
      return SolveByBound(picture, parameters, Method::kRouted, time_limit, watch);
    case Kind::kUnary:
      break;
  }
  return {PackageMeanField(picture, parameters, false).Start(), "no iterations"};
}

// Of pixels so near to a boundary; null if the truth has none.
Row BoundaryAccuracy(const LabelledPicture& picture, const Matrix<float>& probabilities,
                     int radius) {
  const auto band = internal::BoundaryBand(picture.truth, picture.width, picture.height, radius);
  const internal::LabelCounts counts = internal::CountLabels(
      picture.truth, internal::ArgmaxLabels(probabilities), picture.num_labels(), band);
  const bool any =
      std::any_of(counts.truth.begin(), counts.truth.end(), [](auto n) { return n > 0; });
  return any ? Row(ScoreLabels(counts).accuracy) : Row(nullptr);
}

Row RunSegment(const LabelledPicture& picture, const SegmentationParameters& parameters,
               const SegmentMethod& method, double time_limit, const Watch& watch) {
  if (!watch("preparing")) return {};
  const Stopwatch clock;
  const double cpu = CpuSeconds();
  const Solved solved = SolveBy(picture, parameters, method, time_limit, watch);
  const double seconds = clock.Seconds();
  const double cpu_seconds = CpuSeconds() - cpu;
  if (!watch("scoring")) return {};
  const internal::PictureScores scores = internal::ScorePicture(picture, solved.probabilities);
  const internal::LabelScores labels = ScoreLabels(scores.counts);
  return {{"accuracy", labels.accuracy},
          {"mean_iou", labels.mean_iou},
          {"boundary_accuracy_3", BoundaryAccuracy(picture, solved.probabilities, 3)},
          {"boundary_accuracy_6", BoundaryAccuracy(picture, solved.probabilities, 6)},
          {"calibration_error", scores.probabilities.calibration_error},
          {"negative_log_likelihood", scores.probabilities.negative_log_likelihood},
          {"seconds", seconds},
          {"cpu_seconds", cpu_seconds},
          {"termination", solved.termination}};
}

}  // namespace

std::string ToString(const SegmentMethod& method) {
  for (const Named& named : kMethods) {
    if (named.kind == method.kind)
      return std::string(named.name) + (named.counted ? fmt::format("{}", method.iterations) : "");
  }
  return "";
}

std::optional<SegmentMethod> ParseSegmentMethod(const std::string& name) {
  for (const Named& named : kMethods) {
    if (!name.starts_with(named.name)) continue;
    const std::string_view rest = std::string_view(name).substr(named.name.size());
    if (rest.empty() && !named.counted) return SegmentMethod{named.kind, 0};
    int iterations = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), iterations);
    if (named.counted && error == std::errc() && end == rest.data() + rest.size() &&
        iterations >= 1 && iterations <= kMostIterations && rest.front() != '0')
      return SegmentMethod{named.kind, iterations};
  }
  return std::nullopt;
}

std::vector<SegmentMethod> DefaultSegmentMethods() {
  return {{Kind::kUnary, 0},     {Kind::kMeanField, 1},  {Kind::kMeanField, 2},
          {Kind::kMeanField, 5}, {Kind::kMeanField, 10}, {Kind::kConverged, 0},
          {Kind::kPydensecrf, 5}};
}

std::vector<Task> SegmentTasks(const LabelledPicture& picture,
                               const std::vector<NamedParameters>& parameters,
                               const std::vector<SegmentMethod>& methods, double time_limit) {
  std::vector<Task> tasks;
  for (const NamedParameters& set : parameters) {
    for (const SegmentMethod& method : methods) {
      Row known = internal::ToJson(set.parameters);
      known["contents"] = fmt::format("{:016x}", picture.contents);
      if (method.kind == Kind::kAuto || method.kind == Kind::kRouted)
        known["time_limit"] = time_limit;
      tasks.push_back(
          {{{"picture", picture.name}, {"parameters", set.name}, {"method", ToString(method)}},
           known,
           [=, &picture, &set](const Watch& watch) {
             return RunSegment(picture, set.parameters, method, time_limit, watch);
           }});
    }
  }
  return tasks;
}

}  // namespace submarine::apps
