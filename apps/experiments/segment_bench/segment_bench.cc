#include "apps/experiments/segment_bench/segment_bench.h"

#include <fmt/format.h>

#include <charconv>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "submarine/base/stopwatch.h"
#include "submarine/segmentation/evaluation.h"
#include "submarine/segmentation/softmax.h"
#include "submarine/solve/solve.h"
#include "submarine/solver/common/dense_result.h"
#include "submarine/solver/mean_field/filtered_mean_field.h"

namespace submarine::apps {
namespace {

using internal::ArgmaxLabels;
using internal::BoundaryBand;
using internal::CountLabels;
using internal::ScoreLabels;
using internal::ScoreProbabilities;
using internal::Stopwatch;

using Json = nlohmann::ordered_json;
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

SolveOptions MeanFieldOptions(int iterations) {
  SolveOptions options;
  options.method = Method::kMeanField;
  options.dense.marginals = DenseMarginals::kMeanField;
  options.dense.certify = Certify::kNone;
  options.dense.pairs.kind = OperatorKind::kLattice;
  if (iterations > 0) {
    options.dense.updates = iterations;
  }
  return options;
}

Solved SolveModel(const LabelledPicture& picture, const SegmentationParameters& parameters,
                  const SolveOptions& options, const SegmentWatch& watch) {
  const DenseCrf model = SegmentationModel(picture.softmax, picture.view(), parameters);
  SolveResult run = Solve(model, options, [&](std::string_view phase, const SolveRecord& record) {
    std::string text = fmt::format("{:.1f} s  {}", record.seconds, phase);
    if (record.k >= 0) text += fmt::format(" {}", record.k);
    return watch(text);
  });
  return {std::move(std::get<Matrix<float>>(run.marginals)),
          std::string(ToString(run.termination))};
}

Solved SolveByBound(const LabelledPicture& picture, const SegmentationParameters& parameters,
                    Method method, double time_limit, const SegmentWatch& watch) {
  SolveOptions options;
  options.method = method;
  options.dense.certify = Certify::kNone;
  options.limits.time_limit_seconds = time_limit;
  return SolveModel(picture, parameters, options, watch);
}

// Without kernels, the result is the distribution of the unaries.
FilteredMeanField PackageMeanField(const LabelledPicture& picture,
                                   const SegmentationParameters& parameters, bool with_kernels) {
  FilteredMeanField mean_field(picture.softmax.rows(), picture.softmax.cols());
  mean_field.SetUnary(UnariesFromSoftmax(picture.softmax, parameters.softmax_temperature));
  if (!with_kernels) return mean_field;
  for (const GaussianKernel& kernel : SegmentationKernels(picture.view(), parameters)) {
    mean_field.AddTerm(SinglePrecisionFeatures(kernel), kernel.normalisation,
                       {static_cast<float>(-kernel.weight)});
  }
  return mean_field;
}

Solved SolveBy(const LabelledPicture& picture, const SegmentationParameters& parameters,
               const SegmentMethod& method, double time_limit, const SegmentWatch& watch) {
  switch (method.kind) {
    case Kind::kMeanField:
    case Kind::kConverged:
      return SolveModel(picture, parameters, MeanFieldOptions(method.iterations), watch);
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

Json ToJson(const SegmentationParameters& parameters) {
  return {{"position_sigma", parameters.position_sigma},
          {"position_weight", parameters.position_weight},
          {"bilateral_sigma", parameters.bilateral_sigma},
          {"colour_sigma", parameters.colour_sigma},
          {"bilateral_weight", parameters.bilateral_weight},
          {"normalisation",
           parameters.normalisation == KernelNormalisation::kNone ? "none" : "symmetric"},
          {"softmax_temperature", parameters.softmax_temperature}};
}

Json RunParameters(const LabelledPicture& picture, const SegmentationParameters& parameters,
                   const SegmentMethod& method, double time_limit) {
  Json json = ToJson(parameters);
  json["contents"] = fmt::format("{:016x}", picture.contents);
  if (method.kind == Kind::kAuto || method.kind == Kind::kRouted) json["time_limit"] = time_limit;
  return json;
}

SegmentResult Score(const LabelledPicture& picture, const Matrix<float>& probabilities) {
  const std::vector<int> labels = ArgmaxLabels(probabilities);
  const int count = picture.num_labels();
  const auto scores = ScoreLabels(CountLabels(picture.truth, labels, count));
  SegmentResult result;
  result.accuracy = scores.accuracy;
  result.mean_iou = scores.mean_iou;
  for (const auto& [radius, boundary] :
       {std::pair(3, &result.boundary_3), std::pair(6, &result.boundary_6)}) {
    const auto band = BoundaryBand(picture.truth, picture.width, picture.height, radius);
    const auto counts = CountLabels(picture.truth, labels, count, band);
    if (std::any_of(counts.data(), counts.data() + counts.size(),
                    [](std::int64_t n) { return n > 0; }))
      *boundary = ScoreLabels(counts).accuracy;
  }
  const auto calibration = ScoreProbabilities(probabilities, picture.truth);
  result.calibration_error = calibration.calibration_error;
  result.negative_log_likelihood = calibration.negative_log_likelihood;
  return result;
}

std::optional<SegmentResult> RunSegmentMethod(const LabelledPicture& picture,
                                              const SegmentationParameters& parameters,
                                              const SegmentMethod& method, double time_limit,
                                              const SegmentWatch& watch) {
  bool stopped = false;
  const SegmentWatch remember = [&](const std::string& doing) {
    stopped = stopped || !watch(doing);
    return !stopped;
  };
  if (!remember("preparing")) return std::nullopt;
  const Stopwatch clock;
  const double cpu = CpuSeconds();
  const Solved solved = SolveBy(picture, parameters, method, time_limit, remember);
  const double seconds = clock.Seconds();
  const double cpu_seconds = CpuSeconds() - cpu;
  if (stopped || !remember("scoring")) return std::nullopt;
  SegmentResult result = Score(picture, solved.probabilities);
  result.seconds = seconds;
  result.cpu_seconds = cpu_seconds;
  result.termination = solved.termination;
  return result;
}

Matrix<float> MeanFieldMarginals(const LabelledPicture& picture,
                                 const SegmentationParameters& parameters, int iterations) {
  return SolveModel(picture, parameters, MeanFieldOptions(iterations),
                    [](const std::string&) { return true; })
      .probabilities;
}

}  // namespace submarine::apps
