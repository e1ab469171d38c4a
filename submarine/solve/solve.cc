#include "submarine/solve/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/machine.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/model/recognise.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/candidate/dense_plan.h"
#include "submarine/solve/classic_updates.h"
#include "submarine/solve/method/times.h"
#include "submarine/solve/registry.h"
#include "submarine/solver/common/dense_result.h"
#include "submarine/solver/common/progress.h"

namespace submarine {
namespace {

using internal::Budget;
using internal::CheckDenseTemperature;
using internal::Describe;
using internal::EntryOf;
using internal::IsClassic;
using internal::NumThreads;
using internal::PhysicalMemoryBytes;
using internal::PlanDense;
using internal::ProveUpdates;
using internal::RecognisedCrf;
using internal::RecogniseSparseCrf;
using internal::RequirePositiveTemperature;
using internal::SizeOf;
using internal::SolveClassic;
using internal::SolveCliques;
using internal::SolveSparse;
using internal::SolveTables;
using internal::SolveTask;
using internal::Stopwatch;
using internal::TableBytes;
using internal::TablesExactly;
using internal::ThreadLimit;
using internal::ToMatrixIfEven;
using internal::TryExactly;
using internal::UnaryUpper;

// Defaults of the options.
constexpr double kDenseGap = 1e-2;
constexpr int kSparseIterations = 100000;
constexpr double kShareOfMachine = 0.75;  // of the physical memory
constexpr std::size_t kMemoryWhereUnknown = std::size_t{4} << 30;

// The steps that all solves share.
class Call {
 public:
  explicit Call(const SolveOptions& options) : options_(options) {
    if (!(options.limits.time_limit_seconds >= 0.0))
      throw InvalidInput(fmt::format("the time limit is {} s, expected 0 or more",
                                     options.limits.time_limit_seconds));
    if (!(options.temperature >= 0.0) || !std::isfinite(options.temperature))
      throw InvalidInput(
          fmt::format("the temperature is {}, expected a finite number >= 0", options.temperature));
    if (options.dense.updates < 0)
      throw InvalidInput(
          fmt::format("the number of updates is {}, expected 0 or more", options.dense.updates));
    if (options.limits.threads < 0)
      throw InvalidInput(
          fmt::format("the number of threads is {}, expected 0 or more", options.limits.threads));
    if (options.expectations && options.temperature == 0.0)
      throw InvalidInput("expectations need a temperature above 0");
    if (options.limits.threads > 0) threads_.emplace(options.limits.threads);
    if (options_.limits.max_bytes == 0) options_.limits.max_bytes = DefaultMemory();
  }

  void CheckExtension() const {
    if (options_.sparse.extension == ExtensionKind::kOptimal) return;
    if (EntryOf(options_.method).sparse.alternate_extension) return;
    std::vector<std::string_view> names;
    for (const MethodInfo& info : Methods()) {
      if (EntryOf(info.method).sparse.alternate_extension) names.push_back(info.name);
    }
    throw InvalidInput(fmt::format("the alternate extension goes with the methods {}, not with {}",
                                   fmt::join(names, " and "), ToString(options_.method)));
  }

  SolveOptions& options() { return options_; }
  const Stopwatch& clock() const { return clock_; }

  SolveResult Finish(SolveResult result) const {
    result.certificate.temperature = options_.temperature;
    result.certificate.Check();
    result.seconds = clock_.Seconds();
    result.threads = static_cast<int>(NumThreads());
    return result;
  }

 private:
  SolveOptions options_;
  std::optional<ThreadLimit> threads_;
  const Stopwatch clock_;
};

// Trees with their own distances, and enumeration, have no need of cuts.
bool BoundsThroughCuts(const SolveResult& solved) {
  const bool of_trees = solved.method == Method::kTrw && solved.certificate.extension.empty();
  return solved.certificate.upper && !of_trees && solved.method != Method::kMeanField &&
         solved.termination != Termination::kExact;
}

double CliqueEnergy(std::span<const Clique> cliques, std::span<const int> labels,
                    std::size_t num_labels) {
  double energy = 0.0;
  for (const Clique& clique : cliques) energy += clique.Energy(labels, num_labels);
  return energy;
}

template <class Model>
SolveResult WithMetricLoss(const Model& model, SolveResult solved,
                           std::span<const Clique> cliques = {}) {
  const LabelSpace& labels = model.labels();
  if (labels.exact() || !BoundsThroughCuts(solved) || !solved.energy) return solved;
  MetricLoss loss;
  loss.mean = 0.0;
  for (const LabelMetric& metric : labels.metrics) {
    const MetricFit fit = FitOf(*labels.cuts, metric);
    loss.worst = std::max(loss.worst, fit.worst);
    loss.mean += fit.mean / static_cast<double>(labels.metrics.size());
  }
  double unaries = model.constant() + CliqueEnergy(cliques, solved.labels,
                                                   static_cast<std::size_t>(model.num_labels()));
  for (std::size_t a = 0; a < solved.labels.size(); ++a)
    unaries += static_cast<double>(model.unary()(a, static_cast<std::size_t>(solved.labels[a])));
  loss.pairs = std::max(0.0, solved.energy->value() - unaries);
  solved.metric_loss = loss;
  solved.notes.push_back(
      fmt::format("The label metric is no sum of cuts: the upper bound is about d' <= d, with d/d' "
                  "up to {:.3g} "
                  "and {:.3g} on average, which counts {:.4g} to {:.4g} of the {:.4g} that the "
                  "pairs of the best "
                  "labeling cost.",
                  loss.worst, loss.mean, loss.pairs / loss.worst, loss.pairs, loss.pairs));
  return solved;
}

// For tables whose energies differ from those of the solved model by at most the defect.
SolveResult Widened(SolveResult solved, double defect) {
  Certificate& certificate = solved.certificate;
  certificate.defect = defect;
  if (certificate.upper) certificate.upper = Raised(*certificate.upper, defect);
  if (certificate.lower) certificate.lower = Lowered(*certificate.lower, defect);
  solved.tilted = internal::RaisedBy(defect, std::move(solved.tilted));
  if (solved.energy) solved.energy = Raised(*solved.energy, defect);
  return solved;
}

}  // namespace

double DefaultGap(Method method, ModelKind kind) {
  return kind == ModelKind::kDense ? kDenseGap : EntryOf(method).sparse.gap;
}

int DefaultIterations(Method method, ModelKind kind) {
  return kind == ModelKind::kDense ? EntryOf(method).dense.traits.iterations : kSparseIterations;
}

std::size_t DefaultMemory() {
  const std::size_t physical = PhysicalMemoryBytes();
  return physical > 0 ? static_cast<std::size_t>(kShareOfMachine * static_cast<double>(physical))
                      : kMemoryWhereUnknown;
}

SolveResult Solve(const SparseCrf& model, const SolveOptions& given, const Watch& watch) {
  Call call(given);
  SolveOptions& options = call.options();
  RequireAccepted(options.method, ModelKind::kSparse);
  call.CheckExtension();
  return call.Finish(WithMetricLoss(model, SolveSparse({model, options, call.clock(), watch})));
}

SolveResult Solve(const FactorGraph& graph, const SolveOptions& given, const Watch& watch) {
  Call call(given);
  SolveOptions& options = call.options();
  const bool any = options.method == Method::kAuto;
  call.CheckExtension();
  Budget budget(call.clock(), options, watch);
  if (options.method == Method::kExact) return call.Finish(TablesExactly(graph, options, &budget));
  if (any) {
    if (auto solved = TryExactly(graph, options, &budget)) return call.Finish(*std::move(solved));
  }
  std::string why;
  try {
    const RecognisedCrf recognised = RecogniseSparseCrf(graph);
    RequireAccepted(options.method, ModelKind::kSparse);
    const SolveTask<SparseCrf> task{recognised.model, options, call.clock(), watch};
    return call.Finish(Widened(
        WithMetricLoss(recognised.model, SolveSparse(task, TableBytes(graph))), recognised.defect));
  } catch (const NotExpressible& error) {
    if (!InfoOf(options.method).tables) throw;
    why = error.what();
  }
  SolveResult result = SolveTables(
      graph, options, options.limits.gap.value_or(DefaultGap(Method::kTrw, ModelKind::kTables)),
      options.limits.max_iterations.value_or(DefaultIterations(Method::kTrw, ModelKind::kTables)),
      &budget);
  result.certificate.model = Describe(graph);
  result.marginals =
      ToMatrixIfEven(std::get<std::vector<std::vector<double>>>(std::move(result.marginals)));
  if (any) {
    result.notes.push_back(
        fmt::format("The method is trw, which works on any tables of pairs: {}.", why));
  }
  return call.Finish(std::move(result));
}

SolveResult Solve(const DenseCrf& model, const SolveOptions& given, const Watch& watch) {
  Call call(given);
  const SolveOptions& options = call.options();
  RequireAccepted(options.method, ModelKind::kDense);
  if (options.sparse.extension != ExtensionKind::kOptimal)
    throw InvalidInput("the alternate extension is not for dense models");
  if (options.method == Method::kRouted &&
      (options.dense.certify == Certify::kOperator || options.dense.certify == Certify::kLower)) {
    throw InvalidInput(
        "the method routed proves bounds of the exact Gaussian model, and a certificate about the "
        "operator is asked for; ask for exact, auto or none");
  }
  if (options.expectations && options.dense.certify == Certify::kNone)
    throw InvalidInput("expectations are proven from the certificate, and none is asked for");
  CheckDenseTemperature(options.temperature);
  if (!EntryOf(options.method).dense.traits.zero_temperature)
    RequirePositiveTemperature(options.temperature);
  const SolveTask<DenseCrf> task{model, options, call.clock(), watch};
  const bool proves_updates = options.dense.updates > 0 && options.method != Method::kMeanField &&
                              options.method != Method::kExact;
  SolveResult result = IsClassic(model, options) ? SolveClassic(task)
                       : proves_updates          ? ProveUpdates(task)
                                                 : EntryOf(options.method).dense.run(task);
  if (options.expectations && !result.tilted)
    UnaryUpper(model, options.temperature, &result.tilted);
  return call.Finish(WithMetricLoss(model, std::move(result)));
}

template <class Pairs>
SolveResult SolveWithCliques(const CliqueCrf<Pairs>& model, ModelKind kind,
                             const SolveOptions& given, const Watch& watch) {
  if (model.cliques().empty()) return Solve(model.pairs(), given, watch);
  Call call(given);
  SolveOptions& options = call.options();
  RequireAccepted(options.method, kind);
  if (options.sparse.extension != ExtensionKind::kOptimal)
    throw InvalidInput("the alternate extension is not for models with cliques");
  options.limits.threads = 0;  // the limit is that of this call
  SolveResult result =
      SolveCliques(SolveTask<CliqueCrf<Pairs>>{model, options, call.clock(), watch});
  return call.Finish(WithMetricLoss(model.pairs(), std::move(result), model.cliques()));
}

SolveResult Solve(const CliqueCrf<SparseCrf>& model, const SolveOptions& given,
                  const Watch& watch) {
  return SolveWithCliques(model, ModelKind::kSparse, given, watch);
}

SolveResult Solve(const CliqueCrf<DenseCrf>& model, const SolveOptions& given, const Watch& watch) {
  return SolveWithCliques(model, ModelKind::kDense, given, watch);
}

void RequireFits(std::span<const GaussianKernel> kernels, std::size_t num_variables,
                 const LabelSpace& labels, const SolveOptions& given) {
  Call call(given);
  if (call.options().method == Method::kExact) return;  // checks its own limits
  std::vector<WeightedKernel> weighted;
  for (const GaussianKernel& kernel : kernels) weighted.push_back({&kernel, kernel.weight});
  PlanDense(SizeOf(num_variables, labels), weighted, call.options(),
            {.method = EntryOf(call.options().method).dense.traits,
             .seconds_left = call.options().limits.time_limit_seconds});
}

}  // namespace submarine
