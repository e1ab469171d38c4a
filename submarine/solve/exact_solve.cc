#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/bound/exact_bounds.h"
#include "submarine/bound/verify/dense/normalisation.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/solve/method/times.h"
#include "submarine/solve/registry.h"
#include "submarine/solver/exact/elimination_order.h"
#include "submarine/solver/exact/exact.h"

namespace submarine::internal {
namespace {

// Exact inference is cheap up to this many table entries (a few seconds), bytes of memory, and
// entries in the given tables.
constexpr double kCheapEntries = 6e8;
constexpr double kCheapBytes = 2e9;
constexpr double kCheapTables = 2e7;

template <class Model>
SolveResult Eliminate(const SolveTask<Model>& task, std::string description) {
  const SolveOptions& options = task.options;
  ExactOptions exact;
  exact.temperature = options.temperature;
  exact.max_bytes = static_cast<std::int64_t>(options.max_bytes);
  exact.time_limit_seconds = std::max(0.0, options.time_limit_seconds - task.clock.Seconds());
  exact.interrupted = [&task] {
    return task.watch && !task.watch("exact inference", {.k = -1, .seconds = task.clock.Seconds()});
  };
  ExactResult result = SolveExact(task.model, exact);
  SolveResult solved;
  solved.method = Method::kExact;
  solved.termination = Termination::kExact;
  solved.certificate.model = std::move(description);
  const auto [lower, upper] = ExactBounds(result.log_partition, result.error);
  solved.certificate.lower = lower;
  solved.certificate.upper = upper;
  solved.energy = VerifiedEnergy(task.model, result.map_labeling);
  solved.labels = std::move(result.map_labeling);
  solved.marginals = ToMatrixIfEven(std::move(result.marginals));
  return solved;
}

// Whether exact inference takes about a second, and no more than a third of the time limit.
bool ExactIsCheap(const FactorGraph& graph, const SolveOptions& options, double seconds) {
  const double bytes = std::min(kCheapBytes, static_cast<double>(options.max_bytes));
  const ExactPlan plan = PlanExact(graph, bytes);
  return plan.complete && plan.table_entries <= kCheapEntries &&
         EliminationSeconds(plan.table_entries) <= (options.time_limit_seconds - seconds) / 3.0;
}

// Exact inference if it is cheap; none if it is not, or turns out not to be.
template <class Model>
std::optional<SolveResult> TryElimination(const SolveTask<Model>& task, const FactorGraph& graph,
                                          std::string description) {
  if (!ExactIsCheap(graph, task.options, task.clock.Seconds())) return std::nullopt;
  SolveOptions part = task.options;
  part.time_limit_seconds = 0.5 * (task.clock.Seconds() + task.options.time_limit_seconds);
  try {
    return Eliminate(SolveTask<Model>{task.model, part, task.clock, task.watch},
                     std::move(description));
  } catch (const TimeLimit&) {
    return std::nullopt;
  }
}

double TableEntries(const SparseCrf& model) {
  const double labels = model.num_labels();
  return labels * labels * static_cast<double>(model.num_edges()) +
         labels * static_cast<double>(model.num_variables());
}

double TableEntries(const FactorGraph& graph) {
  double entries = 0.0;
  for (const Factor& factor : graph.factors) entries += static_cast<double>(factor.energy.size());
  return entries;
}

// The tables of a model's edges exist only once they are built, so their memory is checked before.
void CheckTableMemory(const SparseCrf& model, std::size_t max_bytes) {
  // The tables as given, as solved, and messages of their size.
  const double bytes = 3.0 * 8.0 * TableEntries(model);
  if (bytes > static_cast<double>(max_bytes)) {
    throw TooLarge(fmt::format(
        "exact inference needs {:.3g} GB of memory for the pair tables alone, more than the limit "
        "of {:.3g} GB",
        bytes / 1e9, static_cast<double>(max_bytes) / 1e9));
  }
}

// Every pair is an edge, so elimination needs one table over all variables. With more than 64
// variables it has more than 2^64 entries, and building the pairs first would be wasted work.
void CheckTableOfAll(const DenseCrf& model, std::size_t max_bytes) {
  constexpr std::size_t kMostVariables = 64;
  if (model.num_variables() <= kMostVariables) return;
  const double digits = std::log10(8.0) + static_cast<double>(model.num_variables()) *
                                              std::log10(static_cast<double>(model.num_labels()));
  throw TooLarge(fmt::format(
      "exact inference needs about 10^{:.0f} GB of memory for a table over all {} fully connected "
      "variables, more than the limit of {:.3g} GB",
      digits - 9.0, model.num_variables(), static_cast<double>(max_bytes) / 1e9));
}

bool HasPairs(const DenseCrf& model) {
  return std::any_of(model.kernels().begin(), model.kernels().end(),
                     [](const GaussianKernel& kernel) { return kernel.weight > 0.0; });
}

SparseCrf WithoutPairs(const DenseCrf& model) {
  Matrix<double> unary(model.unary().rows(), model.unary().cols());
  std::copy(model.unary().data(), model.unary().data() + unary.size(), unary.data());
  return {std::move(unary), {}, model.labels(), model.constant()};
}

}  // namespace

std::string Describe(const FactorGraph& graph) {
  return fmt::format("factor graph with {} variables and {} factors", graph.cardinality.size(),
                     graph.factors.size());
}

MarginalRows ToMatrixIfEven(std::vector<std::vector<double>> rows) {
  for (const std::vector<double>& row : rows) {
    if (row.size() != rows.front().size()) return rows;
  }
  Matrix<double> matrix(rows.size(), rows.empty() ? 0 : rows.front().size());
  for (std::size_t a = 0; a < rows.size(); ++a)
    std::copy(rows[a].begin(), rows[a].end(), matrix.row(a).begin());
  return matrix;
}

std::optional<SolveResult> TryExactly(const SolveTask<SparseCrf>& task) {
  if (TableEntries(task.model) > kCheapTables) return std::nullopt;
  return TryElimination(task, ToFactorGraph(task.model), task.model.Description());
}

std::optional<SolveResult> TryExactly(const SolveTask<FactorGraph>& task) {
  if (TableEntries(task.model) > kCheapTables) return std::nullopt;
  return TryElimination(task, task.model, Describe(task.model));
}

SolveResult SparseExactly(const SolveTask<SparseCrf>& task) {
  CheckTableMemory(task.model, task.options.max_bytes);
  return Eliminate(task, task.model.Description());
}

SolveResult TablesExactly(const SolveTask<FactorGraph>& task) {
  return Eliminate(task, Describe(task.model));
}

SolveResult DenseExactly(const SolveTask<DenseCrf>& task) {
  const DenseCrf& model = task.model;
  const bool has_pairs = HasPairs(model);
  if (has_pairs) CheckTableOfAll(model, task.options.max_bytes);
  if (has_pairs && NeedsNormalisation(model)) {
    const DenseCrf normalised = WithNormalisation(model, {.source = RowSumSource::kExact});
    return DenseExactly({normalised, task.options, task.clock, task.watch});
  }
  const SparseCrf pairs = has_pairs ? ToSparseCrf(model) : WithoutPairs(model);
  const FactorGraph graph = ToFactorGraph(pairs);
  SolveResult result =
      Eliminate(SolveTask<FactorGraph>{graph, task.options, task.clock, task.watch},
                model.Description() + ", exact Gaussians");
  // Pair weights are rounded in the conversion.
  const double error = has_pairs ? EnergyError(model) : 0.0;
  result.certificate.lower = Lowered(*result.certificate.lower, error);
  result.certificate.upper = Raised(*result.certificate.upper, error);
  result.energy = Raised(*result.energy, error);
  const auto& y = std::get<Matrix<double>>(result.marginals);
  Matrix<float> rounded(y.rows(), y.cols());
  std::transform(y.data(), y.data() + y.size(), rounded.data(),
                 [](double p) { return static_cast<float>(p); });
  result.marginals = std::move(rounded);
  return result;
}

}  // namespace submarine::internal
