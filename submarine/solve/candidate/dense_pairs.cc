#include "submarine/solve/candidate/dense_pairs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/freed_memory.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/candidate/dense_plan.h"
#include "submarine/solve/candidate/dense_routes.h"

namespace submarine::internal {
namespace {

// The least limit that there is room in, if the one given has none: routing takes a share of the limit.
double NeededBytes(const DenseState& state, double without_routes) {
  if (!RoutesFirst(state.view) || state.estimated_bytes <= state.budget.max_bytes())
    return state.estimated_bytes;
  double needed = state.estimated_bytes;
  constexpr int kEnough = 40;  // every step halves the distance, or better
  for (int k = 0; k < kEnough; ++k) needed = without_routes + RoutedBytes(state.model, needed);
  return needed;
}

DenseMethodTraits TraitsOf(const DenseState& state) {
  DenseMethodTraits traits = state.method.traits;
  if (RoutesFirst(state.view)) traits.applies_flows = false;
  return traits;
}

// Refuses what the limits have no room for.
void PlanPairs(DenseState* state) {
  const DenseSize size = SizeOf(state->model, 0.0);
  state->plan = PlanDense(size, PairWeights(state->model), state->options,
                          {.method = TraitsOf(*state),
                           .seconds_left = state->budget.SecondsLeft(),
                           .normalises = state->normalised});
  DensePlan& plan = state->plan;
  const double limit = state->budget.max_bytes();
  const double with_routes = plan.estimated_bytes + RoutedBytes(state->model, limit);
  DenseView& view = state->view;
  const bool must_route =
      view.method == Method::kRouted || state->options.dense.marginals == DenseMarginals::kRouted;
  if (with_routes > limit && !must_route && RoutesFirst(view)) {
    view.memory_for_routes = false;
    return PlanPairs(state);
  }
  if (with_routes > limit && !must_route) view.memory_for_routes = false;
  const bool routes = RoutesFirst(view) || MayRouteAfterFlows(view) || RoutesAreQuick(view);
  state->estimated_bytes = routes ? with_routes : plan.estimated_bytes;
  RequireMemory({.model = NeededBytes(*state, plan.estimated_bytes)}, size.variables, limit);
  for (std::string& note : plan.notes) state->notes.push_back(std::move(note));
  plan.pairs.on_progress = [state, few = HoldsAllPairs(size)](double done) {
    return state->budget.Progress("preparing pairs", done, 0.0) || few;
  };
}

// From the lists or lattices that were just built: others may be using the machine.
void MeasureMachine(double seconds, DenseState* state) {
  constexpr double kLongEnough = 0.05;
  constexpr double kMost = 8.0;
  if (state->options.limits.deterministic) return;
  const DenseSize size = SizeOf(state->model, state->plan.listed_pairs);
  const double estimate = size.pairs > 0.0 ? ListSeconds(size) : LatticeSeconds(size);
  if (estimate >= kLongEnough)
    state->machine_time_factor = std::clamp(seconds / estimate, 1.0, kMost);
}

void EstimateCertificates(DenseState* state) {
  const DenseCrf& model = state->model;
  state->census = CountPairs(model);
  const double cutoff = VerifierCutoff(state->census, model, state->gap, kUnlimited, 1.0);
  DenseSize size = SizeOf(model, 0.0);
  for (const PairCensus::Row& row : state->census.rows) {
    if (row.cutoff <= cutoff) size.pairs = row.pairs;
  }
  state->exact_certificate_seconds = CertificateSeconds(size);
  state->lattice_certificate_seconds =
      DensePolicy::kBoundsForLattice *
      LeastSecondsByLattice(size, NumCorners(PairWeights(model)),
                            state->options.dense.pairs.lattice.levels);
}

}  // namespace

bool UsePairs(DenseState* state) {
  if (state->extension) return true;
  Budget& budget = state->budget;
  const auto tell = [&budget] {
    return budget.Tell("preparing pairs", {.k = -1, .seconds = budget.Seconds()});
  };
  tell();
  PlanPairs(state);
  if (!state->plan.has_time) return false;
  const DenseCrf& model = state->model;
  const double begin = budget.Seconds();
  try {
    state->pairs =
        MakeOperator(model.num_variables(), PairWeights(model),
                     {static_cast<std::size_t>(model.num_labels()), TraitsOf(*state).applies_flows},
                     state->plan.pairs, state->plan.kinds);
  } catch (const Interrupted&) {
    return false;
  }
  // A first bound takes seconds that nobody waits for after an interrupt.
  if (!tell()) return false;
  MeasureMachine(budget.Seconds() - begin, state);
  state->plan.kinds = state->pairs.kinds;
  state->pairs_are_exact = state->pairs.exact;
  EstimateCertificates(state);
  state->description = state->pairs.op->Description();
  const bool few = HoldsAllPairs(SizeOf(model, 0.0));
  state->extension.emplace(model, *state->pairs.op, [&budget, few] {
    return budget.Expired() && (budget.stopped() || !few);
  });
  return true;
}

void FreePairs(DenseState* state) {
  state->extension.reset();
  state->pairs.op.reset();
  state->found.bound.modular = {};
  state->found.bound.state = {};
  ReturnFreedMemory();
}

void RequireMemoryFor(const DenseCrf& model, const SolveOptions& options,
                      const DenseMethodTraits& traits) {
  std::vector<GaussianKernel> kernels = model.kernels();
  std::vector<WeightedKernel> weighted;
  for (GaussianKernel& kernel : kernels) {
    kernel.normalisation = KernelNormalisation::kNone;
    weighted.push_back({&kernel, model.pair_factor() * kernel.weight});
  }
  PlanDense(SizeOf(model, 0.0), weighted, options, {.method = traits, .normalises = true});
}

}  // namespace submarine::internal
