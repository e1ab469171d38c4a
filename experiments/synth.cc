#include "experiments/synth.h"

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <set>
#include <string_view>
#include <utility>

#include "experiments/synth_published.h"
#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/io/model/metric_spec.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {
namespace {

// The finaliser of SplitMix64: neighbouring numbers become unrelated ones.
std::uint64_t Scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The options with which Solve runs the method, and in *parameters what they depend on. Only the
// bound and its dual value are needed: no rounding, and no mean field after an upper bound.
SolveOptions OptionsOf(const SynthSettings& settings, const std::string& method, int instance,
                       Row* parameters) {
  SolveOptions options;
  options.limits.max_iterations = 10000;
  options.limits.deterministic = settings.deterministic;
  options.sparse.rounding_draws = 0;
  options.sparse.starts = 0;
  if (method == "submod-fw" || method == "alternate") {
    options.method = Method::kFrankWolfe;
    options.harmonic_steps = true;
    if (method == "alternate") options.sparse.extension = ExtensionKind::kAlternate;
    options.limits.gap = 0.0;
    options.limits.max_iterations = (*parameters)["steps"] = settings.steps;
  } else if (method == "trw" || method == "trw-opt") {
    options.method = Method::kTrw;
    options.limits.gap = (*parameters)["trw_tolerance"] = settings.trw_tolerance;
    if (method == "trw-opt")
      options.sparse.rho_steps = (*parameters)["rho_steps"] = settings.rho_steps;
  } else if (method == "mf") {
    options.method = Method::kMeanField;
    options.sparse.starts = 4;
    options.sparse.seed = Scramble(settings.seed) + static_cast<std::uint64_t>(instance);
    options.limits.max_iterations = 1000;
  } else {
    options.method = Method::kPdhg;
    options.limits.gap = (*parameters)["gap"] = settings.gap;
  }
  return options;
}

Row Run(const SparseCrf& model, const SynthSettings& settings, const std::string& method,
        const SolveOptions& options, const Watch& watch) {
  const internal::Stopwatch clock;
  Row row = {{"iterations", settings.steps}, {"termination", "iteration limit"}};
  if (method.starts_with("published")) {
    const auto unaries = method == "published-submod" ? PublishedUnaries::kModular
                                                      : PublishedUnaries::kUndirectedCycle;
    row["value"] = PublishedBound(model, unaries, settings.steps, [&] { return watch(""); });
  } else {
    const SolveResult solved =
        Solve(model, options, [&](std::string_view, const SolveRecord&) { return watch(""); });
    const Certificate& bounds = solved.certificate;
    const auto& bound = method == "mf" ? bounds.lower : bounds.upper;
    if (bound) row["value"] = bound->value();
    if (bounds.dual) row["dual"] = bounds.dual->value();
    row["iterations"] = solved.records.empty() ? 0 : solved.records.back().k;
    row["termination"] = ToString(solved.termination);
  }
  if (!settings.deterministic) row["seconds"] = clock.Seconds();
  return row;
}

}  // namespace

std::vector<std::string> SynthMethods() {
  return {"submod-fw", "submod", "alternate", "trw", "trw-opt", "mf"};
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
  if (settings.range.size() != 2)
    throw InvalidInput("--unary-range needs two numbers, for example 0,10");
  if (!(settings.range[0] <= settings.range[1]) ||
      !std::isfinite(settings.range[1] - settings.range[0])) {
    throw InvalidInput(fmt::format("the unaries' range {} to {} is empty or not finite",
                                   settings.range[0], settings.range[1]));
  }
  for (const double weight : settings.weights) {
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
  const double low = settings.range[0];
  const double high = settings.range[1];
  // From the generator's bits alone, as distributions may differ between standard libraries.
  for (std::size_t k = 0; k < unary.size(); ++k)
    unary.data()[k] = low + (high - low) * static_cast<double>(rng() >> 11) * 0x1p-53;
  return unary;
}

SynthTasks::SynthTasks(const SynthSettings& settings)
    : settings_(settings), methods_(settings.methods) {
  if (settings.as_published) {
    methods_.emplace_back("published-submod");
    methods_.emplace_back("published-alternate");
  }
  for (const std::string& metric : settings.metrics)
    labels_.push_back(ParseMetricSpec(metric, settings.labels, false, nullptr));
}

std::size_t SynthTasks::size() const {
  return static_cast<std::size_t>(settings_.instances) * labels_.size() * settings_.weights.size() *
         methods_.size();
}

Task SynthTasks::operator[](std::size_t k) const {
  const auto next = [&k](std::size_t size) {
    const std::size_t index = k % size;
    k /= size;
    return index;
  };
  const std::string& method = methods_[next(methods_.size())];
  const double weight = settings_.weights[next(settings_.weights.size())];
  const std::size_t metric = next(labels_.size());
  const int instance = static_cast<int>(k);
  Row parameters = {{"width", settings_.width},   {"height", settings_.height},
                    {"labels", settings_.labels}, {"unary_range", settings_.range},
                    {"seed", settings_.seed},     {"deterministic", settings_.deterministic}};
  if (method.starts_with("published")) parameters["steps"] = settings_.steps;
  const SolveOptions options = OptionsOf(settings_, method, instance, &parameters);
  return {{{"metric", settings_.metrics[metric]},
           {"weight", weight},
           {"instance", instance},
           {"method", method}},
          parameters,
          [=, this](const Watch& watch) {
            const SparseCrf model(SynthUnaries(settings_, instance),
                                  GridEdges(settings_.width, settings_.height, 4, weight),
                                  labels_[metric]);
            return Run(model, settings_, method, options, watch);
          }};
}

}  // namespace submarine::apps
