#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/bound/exact_bounds.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/bound/verify/dense/normalisation.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/solve/method/policy.h"
#include "submarine/solve/method/times.h"
#include "submarine/solve/registry.h"
#include "submarine/solver/exact/elimination_order.h"
#include "submarine/solver/exact/exact.h"

namespace submarine::internal {
namespace {

// The model with the unaries phi - delta values, and a bound on the rounding of its energies.
struct TiltedModel {
  double error = 0.0;

  SparseCrf Of(const SparseCrf& model, const Matrix<double>& values, double delta) {
    Matrix<double> unary = model.unary();
    for (std::size_t a = 0; a < unary.rows(); ++a) {
      double magnitude = 0.0;
      for (std::size_t i = 0; i < unary.cols(); ++i) {
        const double by = delta * values(a, i);
        magnitude = std::max(magnitude, std::abs(unary(a, i)) + 2.0 * std::abs(by));
        unary(a, i) -= by;
      }
      error += std::numeric_limits<double>::epsilon() * magnitude;
    }
    return {std::move(unary), model.edges(), model.labels(), model.constant()};
  }

  FactorGraph Of(const FactorGraph& graph, const Matrix<double>& values, double delta) {
    FactorGraph tilted = graph;
    for (std::size_t a = 0; a < graph.cardinality.size(); ++a) {
      Factor factor;
      factor.scope = {static_cast<int>(a)};
      double magnitude = 0.0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(graph.cardinality[a]); ++i) {
        factor.energy.push_back(-delta * values(a, i));
        magnitude = std::max(magnitude, std::abs(factor.energy.back()));
      }
      error += std::numeric_limits<double>::epsilon() * magnitude;
      tilted.factors.push_back(std::move(factor));
    }
    return tilted;
  }
};

std::size_t LabelsOf(const SparseCrf& model, std::size_t) {
  return static_cast<std::size_t>(model.num_labels());
}
std::size_t LabelsOf(const FactorGraph& graph, std::size_t a) {
  return static_cast<std::size_t>(graph.cardinality[a]);
}
std::size_t VariablesOf(const SparseCrf& model) { return model.num_variables(); }
std::size_t VariablesOf(const FactorGraph& graph) { return graph.cardinality.size(); }

// Exact inference once more for every sum.
template <class Model>
class TiltedExact : public TiltedUpper {
 public:
  TiltedExact(const Model& model, const ExactOptions& options, const Bound& untilted)
      : model_(model), untilted_(untilted) {
    options_.temperature = options.temperature;
    options_.max_bytes = options.max_bytes;
  }

  Bound LogZ(const Matrix<double>& values, double delta) const override {
    try {
      TiltedModel tilted;
      const ExactResult found = SolveExact(tilted.Of(model_, values, delta), options_);
      return Raised(ExactBounds(found.log_partition, found.error).upper, 2.0 * tilted.error);
    } catch (const InvalidInput&) {  // energies so large that nothing is known
      return ExactBounds(std::numeric_limits<double>::infinity(), 0.0).upper;
    }
  }
  Bound untilted() const override { return untilted_; }
  double temperature() const override { return options_.temperature; }
  std::size_t num_variables() const override { return VariablesOf(model_); }
  std::size_t num_labels(std::size_t a) const override { return LabelsOf(model_, a); }

 private:
  const Model model_;
  ExactOptions options_;
  Bound untilted_;
};

template <class Model>
SolveResult Eliminate(const Model& model, const SolveOptions& options, double deadline,
                      Budget* budget, std::string description) {
  ExactOptions exact;
  exact.temperature = options.temperature;
  exact.max_bytes = static_cast<std::int64_t>(options.limits.max_bytes);
  exact.time_limit_seconds = std::max(0.0, deadline - budget->Seconds());
  exact.interrupted = [budget] {
    return !budget->Tell("exact inference", {.k = -1, .seconds = budget->Seconds()});
  };
  ExactResult result = SolveExact(model, exact);
  SolveResult solved;
  solved.method = Method::kExact;
  solved.termination = Termination::kExact;
  solved.certificate.model = std::move(description);
  const auto [lower, upper] = ExactBounds(result.log_partition, result.error);
  solved.certificate.lower = lower;
  solved.certificate.upper = upper;
  if (options.expectations)
    solved.tilted = std::make_shared<TiltedExact<Model>>(model, exact, upper);
  solved.energy = VerifiedEnergy(model, result.map_labeling);
  solved.labels = std::move(result.map_labeling);
  solved.marginals = ToMatrixIfEven(std::move(result.marginals));
  return solved;
}

// Exact inference if it is cheap; none if it is not, or turns out not to be.
template <class Model>
std::optional<SolveResult> TryElimination(const Model& model, const FactorGraph& graph, double room,
                                          const SolveOptions& options, Budget* budget,
                                          std::string description) {
  const EliminationOrder plan =
      FindEliminationOrder(graph, std::min(SparsePolicy::kCheapBytes, room));
  if (!plan.complete || plan.table_entries > SparsePolicy::kCheapEntries ||
      EliminationSeconds(plan.table_entries) > SparsePolicy::kShareForExact * budget->SecondsLeft())
    return std::nullopt;
  const double deadline = 0.5 * (budget->Seconds() + budget->deadline());
  try {
    return Eliminate(model, options, deadline, budget, std::move(description));
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

// The tables as given, as solved, and messages of their size.
double BytesToEliminate(const SparseCrf& model) { return 3.0 * 8.0 * TableEntries(model); }

// The tables of a model's edges exist only once they are built, so their memory is checked before.
void CheckTableMemory(const SparseCrf& model, std::size_t max_bytes) {
  const double bytes = BytesToEliminate(model);
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

double TableBytes(const FactorGraph& graph) {
  constexpr double kFactor = 112.0;  // its scope, and what vectors hold beside their numbers
  return 8.0 * TableEntries(graph) + kFactor * static_cast<double>(graph.factors.size());
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

std::optional<SolveResult> TryExactly(const FactorGraph& graph, const SolveOptions& options,
                                      Budget* budget) {
  if (TableEntries(graph) > SparsePolicy::kCheapTables) return std::nullopt;
  return TryElimination(graph, graph, budget->max_bytes(), options, budget, Describe(graph));
}

SolveResult TablesExactly(const FactorGraph& graph, const SolveOptions& options, Budget* budget) {
  return Eliminate(graph, options, budget->deadline(), budget, Describe(graph));
}

// An interrupt leaves `auto` what it has found before.
void FindExact(SparseState* state) {
  const SparseCrf& model = state->model;
  const SolveOptions& options = state->options;
  state->view.tried_exact = true;
  std::optional<SolveResult> found;
  if (options.method == Method::kExact) {
    CheckTableMemory(model, options.limits.max_bytes);
    found =
        Eliminate(model, options, state->budget.deadline(), &state->budget, model.Description());
  } else if (TableEntries(model) <= SparsePolicy::kCheapTables &&
             BytesToEliminate(model) <= state->view.room) {
    try {
      found =
          TryElimination(model, ToFactorGraph(model), state->view.room - BytesToEliminate(model),
                         options, &state->budget, model.Description());
    } catch (const Interrupted&) {
      return;
    }
  }
  if (!found) return;
  state->solved = *std::move(found);
  state->view.is_exact = true;
}

SolveResult DenseExactly(const SolveTask<DenseCrf>& task) {
  const DenseCrf& model = task.model;
  const bool has_pairs = HasPairs(model);
  if (has_pairs) CheckTableOfAll(model, task.options.limits.max_bytes);
  if (has_pairs && NeedsNormalisation(model)) {
    const DenseCrf normalised = WithNormalisation(model, {.source = RowSumSource::kExact});
    return DenseExactly({normalised, task.options, task.clock, task.watch});
  }
  const SparseCrf pairs = has_pairs ? ToSparseCrf(model) : WithoutPairs(model);
  const FactorGraph graph = ToFactorGraph(pairs);
  Budget budget(task.clock, task.options, task.watch);
  SolveResult result = Eliminate(graph, task.options, budget.deadline(), &budget,
                                 model.Description() + ", exact Gaussians");
  // Pair weights are rounded in the conversion.
  const double error = has_pairs ? EnergyError(model) : 0.0;
  result.certificate.lower = Lowered(*result.certificate.lower, error);
  result.certificate.upper = Raised(*result.certificate.upper, error);
  result.energy = Raised(*result.energy, error);
  result.tilted = RaisedBy(error, std::move(result.tilted));
  const auto& y = std::get<Matrix<double>>(result.marginals);
  Matrix<float> rounded(y.rows(), y.cols());
  std::transform(y.data(), y.data() + y.size(), rounded.data(),
                 [](double p) { return static_cast<float>(p); });
  result.marginals = std::move(rounded);
  return result;
}

}  // namespace submarine::internal
