#include "apps/experiments/synth/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <utility>

#include "apps/experiments/synth/synth_published.h"
#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/verify/sparse/hybrid_dual.h"
#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solver/flow/frank_wolfe.h"
#include "submarine/solver/flow/pdhg.h"
#include "submarine/solver/forest/hybrid.h"
#include "submarine/solver/forest/trw.h"
#include "submarine/solver/mean_field/mean_field.h"

namespace submarine::apps {
namespace {

using internal::BoundResult;
using internal::FrankWolfeOptions;
using internal::FrankWolfeStep;
using internal::HybridOptions;
using internal::HybridPart;
using internal::HybridResult;
using internal::IterationRecord;
using internal::MeanFieldOptions;
using internal::MeanFieldResult;
using internal::PdhgOptions;
using internal::SolveFrankWolfe;
using internal::SolveHybrid;
using internal::SolveMeanField;
using internal::SolvePdhg;
using internal::SolveTrw;
using internal::Stopwatch;
using internal::TrwOptions;
using internal::TrwResult;
using internal::VerifiedDual;
using internal::VerifiedHybridDual;
using internal::VerifiedHybridUpper;
using internal::VerifiedLower;
using internal::VerifiedTrwUpper;
using internal::VerifiedUpper;

constexpr std::array<std::pair<SynthMethod, std::string_view>, 9> kNames = {{
    {SynthMethod::kSubmodFrankWolfe, "submod-fw"},
    {SynthMethod::kSubmod, "submod"},
    {SynthMethod::kAlternate, "alternate"},
    {SynthMethod::kTrw, "trw"},
    {SynthMethod::kTrwOptimised, "trw-opt"},
    {SynthMethod::kMeanField, "mf"},
    {SynthMethod::kHybrid, "hybrid"},
    {SynthMethod::kPublishedSubmod, "published-submod"},
    {SynthMethod::kPublishedAlternate, "published-alternate"},
}};
constexpr std::size_t kChoosable = 7;

// The finaliser of SplitMix64: neighbouring numbers become unrelated ones.
std::uint64_t Scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

SparseCrf MakeModel(const SynthSettings& settings, const SynthTask& task,
                    const LabelSpace& labels) {
  return {SynthUnaries(settings, task.instance),
          GridEdges(settings.width, settings.height, 4, settings.weights[task.weight]), labels};
}

template <class Options>
void Configure(const std::function<bool()>& go_on, Options* options) {
  options->on_iteration = [&go_on](const IterationRecord&) { return go_on(); };
}

SynthResult ByFrankWolfe(const SparseCrf& model, const SynthSettings& settings,
                         ExtensionKind extension, const std::function<bool()>& go_on) {
  FrankWolfeOptions options;
  options.extension = extension;
  options.step = FrankWolfeStep::kHarmonic;
  options.relative_gap = 0.0;
  options.max_iterations = settings.steps;
  Configure(go_on, &options);
  const BoundResult result = SolveFrankWolfe(model, options);
  return {VerifiedUpper(model, extension, result.flow, 1.0),
          VerifiedDual(model, extension, result.marginals, 1.0), result.iterations,
          std::string(ToString(result.termination)), std::nullopt};
}

SynthResult Converged(const SparseCrf& model, const SynthSettings& settings,
                      const std::function<bool()>& go_on) {
  PdhgOptions options;
  options.relative_gap = settings.gap;
  if (settings.deterministic)
    options.seconds_between_evaluations = std::numeric_limits<double>::infinity();
  Configure(go_on, &options);
  const BoundResult result = SolvePdhg(model, options);
  return {VerifiedUpper(model, ExtensionKind::kOptimal, result.flow, 1.0),
          VerifiedDual(model, ExtensionKind::kOptimal, result.marginals, 1.0), result.iterations,
          std::string(ToString(result.termination)), std::nullopt};
}

SynthResult ByTrw(const SparseCrf& model, const SynthSettings& settings, int rho_steps,
                  const std::function<bool()>& go_on) {
  TrwOptions options;
  options.tolerance = settings.trw_tolerance;
  options.rho_steps = rho_steps;
  Configure(go_on, &options);
  const TrwResult result = SolveTrw(model, options);
  return {VerifiedTrwUpper(model, result.evidence, 1.0), std::nullopt, result.iterations,
          std::string(ToString(result.termination)), std::nullopt};
}

SynthResult ByMeanField(const SparseCrf& model, const SynthSettings& settings, int instance,
                        const std::function<bool()>& go_on) {
  MeanFieldOptions options;
  options.seed = Scramble(settings.seed) + static_cast<std::uint64_t>(instance);
  options.on_iteration = [&](int, double, double) { return go_on(); };
  const MeanFieldResult result = SolveMeanField(model, options);
  return {VerifiedLower(model, result.marginals, 1.0), std::nullopt, result.iterations,
          result.converged ? "converged" : "stopped before convergence", std::nullopt};
}

SynthResult ByHybrid(const SparseCrf& model, const SynthSettings& settings,
                     const std::function<bool()>& go_on) {
  HybridOptions options;
  // A grid of one column has no rows to be exact on.
  options.forest =
      settings.width > 1 && settings.height > 1 ? HybridForest::kRows : HybridForest::kSpanning;
  options.relative_gap = settings.hybrid_gap;
  Configure(go_on, &options);
  const HybridResult result = SolveHybrid(model, options);
  std::vector<WeightedBound> upper;
  std::vector<WeightedBound> dual;
  for (const HybridPart& part : result.parts) {
    upper.push_back({part.weight, VerifiedHybridUpper(model, part.forest, part.flow, 1.0)});
    dual.push_back({part.weight, VerifiedHybridDual(model, part.forest, part.costs, 1.0)});
  }
  return {MeanOfUpper(upper), MeanOfLower(dual), result.iterations,
          std::string(ToString(result.termination)), std::nullopt};
}

SynthResult Run(const SynthSettings& settings, const SynthTask& task, const LabelSpace& labels,
                const std::function<bool()>& go_on) {
  const SparseCrf model = MakeModel(settings, task, labels);
  switch (task.method) {
    case SynthMethod::kSubmodFrankWolfe:
      return ByFrankWolfe(model, settings, ExtensionKind::kOptimal, go_on);
    case SynthMethod::kAlternate:
      return ByFrankWolfe(model, settings, ExtensionKind::kAlternate, go_on);
    case SynthMethod::kSubmod:
      return Converged(model, settings, go_on);
    case SynthMethod::kTrw:
      return ByTrw(model, settings, 0, go_on);
    case SynthMethod::kTrwOptimised:
      return ByTrw(model, settings, settings.rho_steps, go_on);
    case SynthMethod::kMeanField:
      return ByMeanField(model, settings, task.instance, go_on);
    case SynthMethod::kHybrid:
      return ByHybrid(model, settings, go_on);
    case SynthMethod::kPublishedSubmod:
    case SynthMethod::kPublishedAlternate:
      break;
  }
  const auto unaries = task.method == SynthMethod::kPublishedSubmod
                           ? PublishedUnaries::kModular
                           : PublishedUnaries::kUndirectedCycle;
  return {PublishedBound(model, unaries, settings.steps, go_on), std::nullopt, settings.steps,
          "iteration limit", std::nullopt};
}

}  // namespace

std::string_view ToString(SynthMethod method) {
  for (const auto& [value, name] : kNames) {
    if (value == method) return name;
  }
  return "unknown";
}

std::optional<SynthMethod> ParseSynthMethod(std::string_view name) {
  for (const auto& [value, text] : kNames) {
    if (text == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string> SynthMethodNames() {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < kChoosable; ++k) names.emplace_back(kNames[k].second);
  return names;
}

LabelSpace SynthLabels(const std::string& metric, int num_labels) {
  const std::string spec = metric == "tree1"   ? "tree:5x4:1,0.5"
                           : metric == "tree2" ? "tree:2x2x5:1,1,0.5"
                                               : metric;
  return ParseMetricSpec(spec, num_labels, false, nullptr);
}

std::vector<SynthTask> SynthTasks(const SynthSettings& settings) {
  std::vector<SynthTask> tasks;
  for (int instance = 0; instance < settings.instances; ++instance) {
    for (std::size_t metric = 0; metric < settings.metrics.size(); ++metric) {
      for (std::size_t weight = 0; weight < settings.weights.size(); ++weight) {
        for (SynthMethod method : settings.methods)
          tasks.push_back({metric, weight, instance, method});
      }
    }
  }
  return tasks;
}

void CheckSynthSettings(const SynthSettings& settings) {
  constexpr double kMostValues = 1e8;  // of one model
  CheckLabelCount(settings.labels);
  if (settings.width < 1 || settings.height < 1 ||
      static_cast<double>(settings.width) * settings.height * settings.labels > kMostValues) {
    throw InvalidInput(fmt::format(
        "a grid of {} x {} variables with {} labels cannot be made, expected at least 1 x 1 and at "
        "most {:g} unaries",
        settings.width, settings.height, settings.labels, kMostValues));
  }
  if (!(settings.low <= settings.high) || !std::isfinite(settings.high - settings.low)) {
    throw InvalidInput(fmt::format("the unaries' range {} to {} is empty or not finite",
                                   settings.low, settings.high));
  }
  for (double weight : settings.weights) {
    if (!(weight >= 0.0 && weight <= 1e12))
      throw InvalidInput(fmt::format("a weight is {}, expected a number from 0 to 1e12", weight));
  }
  const auto distinct = [](const auto& list, const char* what) {
    if (list.empty()) throw InvalidInput(fmt::format("there are no {}", what));
    if (std::set(list.begin(), list.end()).size() != list.size())
      throw InvalidInput(fmt::format("one of the {} is listed twice", what));
  };
  distinct(settings.metrics, "metrics");
  distinct(settings.weights, "weights");
  distinct(settings.methods, "methods");
}

Matrix<double> SynthUnaries(const SynthSettings& settings, int instance) {
  std::mt19937_64 rng(Scramble(Scramble(settings.seed) ^ static_cast<std::uint64_t>(instance)));
  Matrix<double> unary(
      static_cast<std::size_t>(settings.width) * static_cast<std::size_t>(settings.height),
      static_cast<std::size_t>(settings.labels));
  // From the generator's bits alone: distributions may differ between standard libraries.
  for (std::size_t k = 0; k < unary.size(); ++k) {
    const double uniform = static_cast<double>(rng() >> 11) * 0x1p-53;
    unary.data()[k] = settings.low + (settings.high - settings.low) * uniform;
  }
  return unary;
}

std::optional<SynthResult> RunSynthTask(const SynthSettings& settings, const SynthTask& task,
                                        const LabelSpace& labels,
                                        const std::function<bool()>& go_on) {
  const Stopwatch clock;
  bool stopped = false;
  SynthResult result = Run(settings, task, labels, [&] {
    stopped = stopped || !go_on();
    return !stopped;
  });
  if (stopped) return std::nullopt;
  result.seconds = clock.Seconds();
  return result;
}

}  // namespace submarine::apps
