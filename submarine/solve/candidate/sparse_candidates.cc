#include "submarine/solve/candidate/sparse_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/bound/verify/sparse/forest_lower.h"
#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/solver/forest/trw.h"
#include "submarine/solver/mean_field/forest_mean_field.h"
#include "submarine/solver/mean_field/mean_field.h"

namespace submarine::internal {

// --- Upper bounds

namespace {

int CheapestLabel(const Matrix<double>& unary) {
  std::vector<double> total(unary.cols(), 0.0);
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    for (std::size_t i = 0; i < unary.cols(); ++i) total[i] += unary(a, i);
  }
  return static_cast<int>(std::min_element(total.begin(), total.end()) - total.begin());
}

SolveRecord Certifying(const SparseState& state, double upper) {
  return {-1, state.budget.Seconds(), upper, {}, {}};
}

// Than that of another solver; the unaries' bound leaves no marginals.
bool IsBetter(const SparseState& state, double upper) {
  const std::optional<Bound>& best = state.solved.certificate.upper;
  return state.marginals.size() == 0 || !best || upper < *best;
}

void TakeMarginals(SparseState* state, Matrix<double> marginals) {
  state->rounded = state->Rounded(marginals);
  state->TakeLabels(state->rounded);
  state->marginals = std::move(marginals);
}

TrwOptions TrwFor(const SolveOptions& given, double tolerance) {
  TrwOptions trw;
  trw.tolerance = tolerance;
  trw.seed = given.sparse.seed;
  trw.rho_steps = given.sparse.rho_steps;
  return trw;
}

// "gap reached" would promise a certified gap, which TRW does not compute.
Termination TrwTermination(Termination termination) {
  return termination == Termination::kGapReached ? Termination::kConverged : termination;
}

}  // namespace

void BoundByUnaries(SparseState* state) {
  const Matrix<double>& unary = state->model.unary();
  state->view.has_unaries = true;
  state->TakeUpper([state](TiltedPlace tilted) {
    return VerifiedUnaryUpper(state->model, state->options.temperature, tilted);
  });
  std::vector<int> cheapest(unary.rows());
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    const auto row = unary.row(a);
    cheapest[a] = static_cast<int>(std::min_element(row.begin(), row.end()) - row.begin());
  }
  state->TakeLabels(std::move(cheapest));
  state->TakeLabels(std::vector<int>(unary.rows(), CheapestLabel(unary)));
}

void FindFlows(SparseState* state, const FlowSolver& solver) {
  const SolveOptions& options = state->options;
  BoundOptions limits;
  state->Configure(state->costs.flow_certificate + state->costs.lower_certificate, &limits);
  limits.relative_gap = state->gap;
  const double begin = state->budget.Seconds();
  BoundResult found = solver(state->model, limits);
  Certificate& certificate = state->solved.certificate;
  certificate.extension =
      options.sparse.extension == ExtensionKind::kOptimal ? "optimal" : "alternate";
  state->Tell("certifying", Certifying(*state, found.upper));
  state->TakeUpper([&](TiltedPlace tilted) {
    return VerifiedUpper(state->model, options.sparse.extension, found.flow, options.temperature,
                         tilted);
  });
  certificate.dual =
      VerifiedDual(state->model, options.sparse.extension, found.marginals, options.temperature);
  found.flow = {};
  state->solved.termination = found.termination;
  state->TakeRecords(found.records, begin);
  TakeMarginals(state, std::move(found.marginals));
}

namespace {

void FindByForests(int rho_steps, SparseState* state) {
  const double T = state->options.temperature;
  TrwOptions trw = TrwFor(state->options, state->gap);
  trw.rho_steps = rho_steps;
  state->Configure(
      ForestCertificateSeconds(state->view.size, rho_steps) + state->costs.lower_certificate, &trw);
  const double begin = state->budget.Seconds();
  TrwResult result = SolveTrw(state->model, trw);
  if (!IsBetter(*state, result.upper)) return;
  state->Tell("certifying", Certifying(*state, result.upper));
  state->TakeUpper([&](TiltedPlace tilted) {
    return VerifiedTrwUpper(state->model, result.evidence, T, tilted);
  });
  result.evidence = {};
  state->solved.termination = TrwTermination(result.termination);
  state->TakeRecords(result.records, begin);
  TakeMarginals(state, std::move(result.marginals));
}

}  // namespace

void FindTrw(SparseState* state) { FindByForests(state->options.sparse.rho_steps, state); }

void FindBetterForests(SparseState* state) {
  state->view.tried_forests = true;
  FindByForests(SparsePolicy::kRhoSteps, state);
}

// There is no mean field for tables, but every labeling gives a lower bound.
SolveResult SolveTables(const FactorGraph& graph, const SolveOptions& options, double gap,
                        int max_iterations, Budget* budget) {
  TrwOptions trw = TrwFor(options, gap);
  trw.temperature = options.temperature;
  trw.max_iterations = max_iterations;
  const double begin = budget->Seconds();
  trw.time_limit_seconds = std::max(0.0, budget->SecondsLeft() - TableCertificateSeconds(graph));
  trw.on_iteration = [&](const SolveRecord& record) {
    return budget->Tell("trw", SparseState::RecordOf(record, begin));
  };
  trw.interrupted = [&] { return budget->AsksToStop(); };
  const TrwResult result = SolveTrw(graph, trw);
  SolveResult solved;
  solved.method = Method::kTrw;
  solved.certificate.upper = VerifiedTrwUpper(graph, result.evidence, options.temperature,
                                              options.expectations ? &solved.tilted : nullptr);
  solved.termination =
      budget->stopped() ? Termination::kInterrupted : TrwTermination(result.termination);
  for (const SolveRecord& record : result.records)
    solved.records.push_back(SparseState::RecordOf(record, begin));
  std::vector<std::vector<double>> rows;
  for (std::size_t a = 0; a < graph.cardinality.size(); ++a) {
    const auto row = result.marginals.row(a).first(static_cast<std::size_t>(graph.cardinality[a]));
    rows.emplace_back(row.begin(), row.end());
    solved.labels.push_back(Argmax(row));
  }
  const Bound energy = VerifiedEnergy(graph, solved.labels);
  if (std::isfinite(energy.value())) {  // otherwise the labeling is forbidden and proves nothing
    solved.energy = energy;
    solved.certificate.lower = Negated(energy);
  }
  solved.marginals = std::move(rows);
  return solved;
}

// --- Lower bounds

namespace {

using S = SparsePolicy;

// Marginals that put all mass on a labeling: as a start of mean field, their value is minus the
// labeling's energy.
Matrix<double> PointMass(const std::vector<int>& labels, std::size_t num_labels) {
  Matrix<double> y(labels.size(), num_labels);
  for (std::size_t a = 0; a < labels.size(); ++a) y(a, static_cast<std::size_t>(labels[a])) = 1.0;
  return y;
}

bool IsClosed(const SparseState& state) {
  const Certificate& certificate = state.solved.certificate;
  return certificate.upper && certificate.lower &&
         *certificate.upper - *certificate.lower <=
             S::kClosed * std::max(1.0, std::abs(certificate.upper->value()));
}

template <class Options>
void ConfigureLower(SparseState* state, std::string_view phase, double reserve, Options* options) {
  options->temperature = state->options.temperature;
  options->time_limit_seconds = state->SecondsFor(reserve);
  const double begin = state->budget.Seconds();
  options->on_iteration = [state, phase, begin](int k, double seconds, double lower) {
    std::optional<double> upper;
    if (state->solved.certificate.upper) upper = *state->solved.certificate.upper;
    return state->Tell(phase, {k, begin + seconds, upper, std::nullopt, lower});
  };
  options->interrupted = [state] { return state->budget.AsksToStop(); };
}

bool IsAlone(const SparseState& state) { return state.options.method == Method::kMeanField; }

Termination TerminationOf(const SparseState& state, bool converged) {
  return converged                           ? Termination::kConverged
         : state.budget.SecondsLeft() <= 0.0 ? Termination::kTimeLimit
                                             : Termination::kIterationLimit;
}

}  // namespace

// Started at labels or at marginals, it only improves on them.
void FindSparseMeanField(SparseState* state) {
  MeanFieldOptions options;
  options.starts = state->options.sparse.starts;
  options.seed = state->options.sparse.seed;
  options.max_iterations = S::kSweeps;
  options.tolerance = S::kTolerance;
  if (IsAlone(*state)) {
    options.max_iterations = state->max_iterations;
    options.tolerance = MeanFieldOptions().tolerance;
  } else {
    options.extra_starts = {
        PointMass(state->rounded.empty() ? state->solved.labels : state->rounded,
                  state->model.unary().cols())};
    if (state->marginals.size() > 0) options.extra_starts.push_back(state->marginals);
  }
  ConfigureLower(state, "mean field", state->costs.lower_certificate, &options);
  state->view.has_mean_field = true;
  MeanFieldResult result = SolveMeanField(state->model, options);
  state->TakeLower(VerifiedLower(state->model, result.marginals, state->options.temperature));
  if (IsAlone(*state)) {
    state->TakeRecords(result.records, 0.0);
    state->solved.termination = TerminationOf(*state, result.converged);
  } else {  // its mode is often a better labeling than the rounded one
    state->TakeLabels(ArgmaxLabels(result.marginals));
  }
  state->mean_field = std::move(result.marginals);
}

// Mean field between trees only improves on the naive one, which it is started from.
void FindForestMeanField(SparseState* state) {
  state->view.has_forest_mean_field = true;
  if (IsClosed(*state)) return;
  ForestMeanFieldOptions options;
  options.max_iterations = IsAlone(*state) ? state->max_iterations : S::kSweeps;
  options.tolerance = S::kTolerance;
  ConfigureLower(state, "forest mean field", state->costs.forest_lower, &options);
  const double begin = state->budget.Seconds();
  std::vector<Matrix<double>> starts;
  starts.push_back(std::move(state->mean_field));
  if (state->marginals.size() > 0) starts.push_back(state->marginals);
  ForestMeanFieldResult result = SolveForestMeanField(state->model, starts, options);
  state->mean_field = std::move(starts.front());
  if (!std::isfinite(result.lower)) return;
  state->TakeLower(
      VerifiedForestLower(state->model, result.distribution, state->options.temperature));
  if (IsAlone(*state)) {
    const int before = static_cast<int>(state->solved.records.size());
    for (SolveRecord& record : result.records) record.k += before;
    state->TakeRecords(result.records, begin);
    state->solved.termination = TerminationOf(*state, result.converged);
  } else {
    state->TakeLabels(ArgmaxLabels(result.marginals));
  }
  state->mean_field = std::move(result.marginals);
}

}  // namespace submarine::internal
