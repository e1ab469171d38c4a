#include "apps/experiments/stereo_bench/stereo_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "apps/cli/file_checks.h"
#include "apps/experiments/content_hash.h"
#include "apps/experiments/stereo_bench/stereo_published.h"
#include "apps/stereo/stereo_output.h"
#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/solve/solve.h"
#include "submarine/stereo/disparity.h"

namespace submarine::apps {
namespace {

using internal::ArgmaxLabels;
using internal::ChosenOperator;
using internal::CompareDisparities;
using internal::DenseExtension;
using internal::Indicator;
using internal::MakeOperator;
using internal::PairOptions;
using internal::Stopwatch;
using internal::VerifiedEnergy;

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<BenchMethod, const char*>, 6> kMethods = {
    {{BenchMethod::kPublishedMeanField, "mf-published"},
     {BenchMethod::kSelfTermMeanField, "mf-self"},
     {BenchMethod::kMeanField, "mf"},
     {BenchMethod::kFrankWolfe, "fw"},
     {BenchMethod::kAuto, "auto"},
     {BenchMethod::kConstant, "constant"}}};

// The output of a method: the result without energy and errors, and the data to compute these from.
struct Solved {
  BenchResult result;
  Matrix<float> marginals;
  std::vector<int> labels;
};

ChosenOperator ExactPairs(const DenseCrf& model, bool flows) {
  OperatorOptions options;
  options.kind = OperatorKind::kNeighbourList;
  return MakeOperator(model.num_variables(), PairWeights(model),
                      {static_cast<std::size_t>(model.num_labels()), flows}, options);
}

MeanFieldStop StopRule(const BenchSettings& settings, const BenchWatch& watch) {
  return {settings.mean_field_change, settings.mean_field_iterations,
          [watch](int iteration, double seconds, double change) {
            return watch(
                fmt::format("{:>5}  {:.1f} s  squared change {:.3g}", iteration, seconds, change));
          }};
}

Solved FromMeanField(MeanFieldRun run) {
  Solved solved;
  solved.result.iterations = run.iterations;
  solved.result.termination = run.converged ? "converged" : "iteration limit";
  solved.result.seconds = run.seconds;
  solved.labels = ArgmaxLabels(run.marginals);
  solved.marginals = std::move(run.marginals);
  return solved;
}

Solved SolveMeanFieldAsPublished(const DenseCrf& model, const BenchSettings& settings,
                                 const BenchWatch& watch) {
  Solved solved = FromMeanField(PublishedMeanField(model, StopRule(settings, watch)));
  solved.result.published_energy = PublishedEnergy(model, solved.labels);
  solved.result.pairs = "classic lattices, symmetrically normalised, with self terms";
  return solved;
}

Solved SolveMeanFieldOfModel(const DenseCrf& model, const BenchSettings& settings, bool self_terms,
                             const BenchWatch& watch) {
  const Stopwatch clock;
  const ChosenOperator pairs = ExactPairs(model, false);
  const DenseExtension extension(model, *pairs.op);
  Solved solved = FromMeanField(
      (self_terms ? SelfTermMeanField : ModelMeanField)(extension, StopRule(settings, watch)));
  solved.result.seconds = clock.Seconds();
  solved.result.pairs = pairs.op->Description();
  return solved;
}

Solved SolveCertified(const DenseCrf& model, SolveOptions options, const BenchWatch& watch) {
  options.dense.certify = Certify::kExact;
  const auto tell = [&](std::string_view phase, const SolveRecord& record) {
    std::string text = fmt::format("{:.1f} s  {}", record.seconds, phase);
    if (record.k >= 0) text += fmt::format(" {}", record.k);
    if (record.upper) text += fmt::format("  upper {:.6g}", *record.upper);
    if (record.lower) text += fmt::format("  lower {:.6g}", *record.lower);
    return watch(text);
  };
  SolveResult run = Solve(model, options, tell);
  Solved solved;
  solved.result.seconds = run.seconds;
  if (run.certificate.lower) solved.result.lower = run.certificate.lower->value();
  if (run.certificate.upper) solved.result.upper = run.certificate.upper->value();
  if (run.certificate.dual) solved.result.dual = run.certificate.dual->value();
  if (!run.records.empty()) solved.result.iterations = run.records.back().k;
  solved.result.termination = ToString(run.termination);
  solved.result.pairs = run.pairs;
  solved.labels = std::move(run.labels);
  solved.marginals = std::move(std::get<Matrix<float>>(run.marginals));
  return solved;
}

Solved SolveByFrankWolfe(const DenseCrf& model, const BenchSettings& settings,
                         const BenchWatch& watch) {
  SolveOptions options;
  options.method = Method::kFrankWolfe;
  options.limits.gap = 0.0;
  options.limits.max_iterations = settings.frank_wolfe_iterations;
  options.dense.pairs.kind = OperatorKind::kNeighbourList;
  Solved solved = SolveCertified(model, options, watch);
  solved.labels = ArgmaxLabels(solved.marginals);  // as in the published algorithm
  return solved;
}

Solved SolveByChain(const DenseCrf& model, const BenchSettings& settings, const BenchWatch& watch) {
  SolveOptions options;
  options.limits.gap = settings.gap;
  return SolveCertified(model, options, watch);
}

Solved SolveByConstant(const DenseCrf& model) {
  const Stopwatch clock;
  const Matrix<float>& unary = model.unary();
  std::vector<double> sums(unary.cols(), 0.0);
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    const auto row = unary.row(a);
    for (std::size_t i = 0; i < row.size(); ++i) sums[i] += row[i];
  }
  const auto best = std::min_element(sums.begin(), sums.end()) - sums.begin();
  Solved solved;
  solved.labels.assign(unary.rows(), static_cast<int>(best));
  solved.marginals = Indicator(solved.labels, unary.cols());
  solved.result.termination = fmt::format("disparity {}", best);
  solved.result.seconds = clock.Seconds();
  return solved;
}

Solved SolveBy(BenchMethod method, const DenseCrf& model, const BenchSettings& settings,
               const BenchWatch& watch) {
  switch (method) {
    case BenchMethod::kPublishedMeanField:
      return SolveMeanFieldAsPublished(model, settings, watch);
    case BenchMethod::kMeanField:
      return SolveMeanFieldOfModel(model, settings, false, watch);
    case BenchMethod::kSelfTermMeanField:
      return SolveMeanFieldOfModel(model, settings, true, watch);
    case BenchMethod::kFrankWolfe:
      return SolveByFrankWolfe(model, settings, watch);
    case BenchMethod::kAuto:
      return SolveByChain(model, settings, watch);
    case BenchMethod::kConstant:
      break;
  }
  return SolveByConstant(model);
}

}  // namespace

std::string ToString(BenchMethod method) {
  return std::find_if(kMethods.begin(), kMethods.end(),
                      [&](const auto& entry) { return entry.first == method; })
      ->second;
}

std::optional<BenchMethod> ParseBenchMethod(const std::string& name) {
  const auto found = std::find_if(kMethods.begin(), kMethods.end(),
                                  [&](const auto& entry) { return name == entry.second; });
  return found == kMethods.end() ? std::nullopt : std::optional(found->first);
}

std::vector<std::string> BenchMethodNames() {
  std::vector<std::string> names;
  for (const auto& [method, name] : kMethods) names.emplace_back(name);
  return names;
}

bool IsOfPaper(BenchMethod method) {
  return method == BenchMethod::kPublishedMeanField || method == BenchMethod::kSelfTermMeanField;
}

std::vector<BenchMethod> DefaultBenchMethods(StereoPreset preset) {
  std::vector<BenchMethod> methods;
  for (const auto& [method, name] : kMethods) {
    if (preset != StereoPreset::kDefault || !IsOfPaper(method)) methods.push_back(method);
  }
  return methods;
}

std::string PairName(const std::filesystem::path& directory) {
  std::error_code ignored;
  std::filesystem::path path = std::filesystem::weakly_canonical(directory, ignored);
  if (ignored || path.empty()) path = directory.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

BenchPair ReadBenchPair(const std::filesystem::path& directory, StereoPreset preset,
                        const std::map<std::string, double>& truth_factors) {
  BenchPair pair;
  pair.name = PairName(directory);
  pair.settings = PresetSettings(preset, pair.name);
  const Stopwatch clock;
  const ReadingLimits limits(SolveOptions(), clock, LeastBytesPerPixel(2));
  pair.views = ReadStereoPair((directory / "left.png").string(), (directory / "right.png").string(),
                              1, limits);
  const std::filesystem::path truth = directory / "disparity.png";
  const auto given = truth_factors.find(pair.name);
  if (Exists(truth)) {
    const std::optional<double> factor =
        given != truth_factors.end() ? std::optional(given->second) : KnownTruthFactor(pair.name);
    const std::string spec =
        factor ? fmt::format("{},{}", truth.string(), *factor) : truth.string();
    pair.truth = ReadTruth(spec, pair.views, 1, limits);
  }
  if (pair.settings.disparities == 0) {
    pair.settings.disparities = GuessDisparities(pair.views.LeftView(), pair.views.RightView());
  }
  pair.contents = kEmptyHash;
  for (const std::vector<float>* part : {&pair.views.left, &pair.views.right, &pair.truth})
    pair.contents = ContentHash(std::span<const float>(*part), pair.contents);
  return pair;
}

Json BenchParameters(const BenchPair& pair, const BenchSettings& settings, BenchMethod method) {
  Json parameters = SettingsJson(pair.settings, "left.png", "right.png", 1);
  parameters["width"] = pair.views.width;
  parameters["height"] = pair.views.height;
  parameters["contents"] = fmt::format("{:016x}", pair.contents);
  switch (method) {
    case BenchMethod::kPublishedMeanField:
    case BenchMethod::kSelfTermMeanField:
    case BenchMethod::kMeanField:
      parameters["squared_change"] = settings.mean_field_change;
      parameters["max_iterations"] = settings.mean_field_iterations;
      break;
    case BenchMethod::kFrankWolfe:
      parameters["max_iterations"] = settings.frank_wolfe_iterations;
      break;
    case BenchMethod::kAuto:
      parameters["gap"] = settings.gap;
      break;
    case BenchMethod::kConstant:
      break;
  }
  return parameters;
}

std::optional<BenchResult> RunBench(const BenchPair& pair, const DenseCrf& model,
                                    const BenchSettings& settings, BenchMethod method,
                                    const BenchWatch& watch) {
  bool stopped = false;
  const BenchWatch remember = [&](const std::string& doing) {
    stopped = stopped || !watch(doing);
    return !stopped;
  };
  Solved solved = SolveBy(method, model, settings, remember);
  if (stopped || !remember("scoring")) return std::nullopt;
  PairOptions pairs;
  pairs.on_progress = [&](double done) {
    return remember(fmt::format("scoring {:.0f}%", 100.0 * done));
  };
  try {
    solved.result.energy = VerifiedEnergy(model, solved.labels, pairs);
  } catch (const submarine::Interrupted&) {
    return std::nullopt;
  }
  if (!pair.truth.empty()) {
    const std::vector<float> whole(solved.labels.begin(), solved.labels.end());
    solved.result.errors = CompareDisparities(whole, pair.truth);
    solved.result.refined =
        CompareDisparities(RefinedDisparities(solved.marginals, solved.labels), pair.truth);
  }
  return solved.result;
}

}  // namespace submarine::apps
