#include "apps/experiments/synth/synth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <utility>

#include "apps/experiments/synth/synth_published.h"
#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {
namespace {

using internal::Stopwatch;

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

// The options with which Solve runs the method. Only the bound and its dual value are needed: no
// rounding, and no mean field after an upper bound.
SolveOptions OptionsOf(const SynthSettings& settings, const SynthTask& task) {
  SolveOptions options;
  options.limits.max_iterations = 10000;
  options.limits.deterministic = settings.deterministic;
  options.sparse.rounding_draws = 0;
  options.sparse.starts = 0;
  switch (task.method) {
    case SynthMethod::kAlternate:
      options.sparse.extension = ExtensionKind::kAlternate;
      [[fallthrough]];
    case SynthMethod::kSubmodFrankWolfe:
      options.method = Method::kFrankWolfe;
      options.harmonic_steps = true;
      options.limits.gap = 0.0;
      options.limits.max_iterations = settings.steps;
      break;
    case SynthMethod::kTrwOptimised:
      options.sparse.rho_steps = settings.rho_steps;
      [[fallthrough]];
    case SynthMethod::kTrw:
      options.method = Method::kTrw;
      options.limits.gap = settings.trw_tolerance;
      break;
    case SynthMethod::kMeanField:
      options.method = Method::kMeanField;
      options.sparse.starts = 4;
      options.sparse.seed = Scramble(settings.seed) + static_cast<std::uint64_t>(task.instance);
      options.limits.max_iterations = 1000;
      break;
    case SynthMethod::kHybrid:
      options.method = Method::kHybrid;
      // In a grid of one column, the rows have no edges.
      options.forest =
          settings.width > 1 && settings.height > 1 ? HybridForest::kRows : HybridForest::kSpanning;
      options.limits.gap = settings.hybrid_gap;
      break;
    default:
      options.method = Method::kPdhg;
      options.limits.gap = settings.gap;
  }
  return options;
}

SynthResult Run(const SynthSettings& settings, const SynthTask& task, const LabelSpace& labels,
                const std::function<bool()>& go_on) {
  const SparseCrf model = MakeModel(settings, task, labels);
  if (task.method == SynthMethod::kPublishedSubmod ||
      task.method == SynthMethod::kPublishedAlternate) {
    const auto unaries = task.method == SynthMethod::kPublishedSubmod
                             ? PublishedUnaries::kModular
                             : PublishedUnaries::kUndirectedCycle;
    return {PublishedBound(model, unaries, settings.steps, go_on), std::nullopt, settings.steps,
            "iteration limit", std::nullopt};
  }
  const SolveResult solved = Solve(model, OptionsOf(settings, task),
                                   [&](std::string_view, const SolveRecord&) { return go_on(); });
  const Certificate& bounds = solved.certificate;
  return {task.method == SynthMethod::kMeanField ? *bounds.lower : *bounds.upper,
          bounds.dual ? std::optional<double>(*bounds.dual) : std::nullopt,
          solved.records.empty() ? 0 : solved.records.back().k,
          std::string(ToString(solved.termination)), std::nullopt};
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
  // From the generator's bits alone, as distributions may differ between standard libraries.
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
