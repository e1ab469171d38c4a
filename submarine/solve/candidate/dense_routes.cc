#include "submarine/solve/candidate/dense_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/freed_memory.h"
#include "submarine/bound/verify/dense/routed/routed_verifier.h"
#include "submarine/extension/submodular_bound_limit.h"
#include "submarine/solve/candidate/dense_candidates.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/candidate/dense_flows.h"
#include "submarine/solve/candidate/dense_mean_field.h"
#include "submarine/solve/candidate/dense_pairs.h"
#include "submarine/solve/method/policy.h"
#include "submarine/solve/method/times.h"
#include "submarine/solver/routed/listed_solver.h"
#include "submarine/solver/routed/routed_plan.h"
#include "submarine/solver/routed/routed_solver.h"
#include "submarine/solver/routed/routed_times.h"

namespace submarine::internal {
namespace {

using P = DensePolicy;

bool HasFewPairs(const DenseCrf& model) {
  const auto n = static_cast<double>(model.num_variables());
  return n * n <= P::kFewPairs;
}

bool FlowsBySquare(const DenseCrf& model, double seconds) {
  const auto n = static_cast<double>(model.num_variables());
  return model.num_cuts() >= P::kManyCuts &&
         (!HasFewPairs(model) || P::kRoutedFlowSeconds * n * n * model.num_cuts() > seconds);
}

// Tells the budget of every iteration, and keeps what it was told.
std::function<bool(const SolveRecord&)> TellOf(DenseState* state) {
  const double begin = state->budget.Seconds();
  const double lower = state->found.lower;
  return [state, begin, lower](const SolveRecord& record) {
    const SolveRecord shown{.k = record.k,
                            .seconds = begin + record.seconds,
                            .upper = record.upper,
                            .dual = IfFinite(lower),
                            .lower = IfFinite(lower)};
    state->records.push_back(shown);
    return state->budget.Tell("routed", shown);
  };
}

// Takes what was found, and verifies as much of it as leaves `reserve` seconds.
void Verify(RoutedResult result, double cutoff, double reserve, DenseState* state,
            RoutedPart* part) {
  const DenseCrf& model = state->model;
  const SolveOptions& options = state->options;
  part->termination = result.termination;
  const RoutedPaths& paths = result.proof.routing.paths;
  part->description = fmt::format(
      "a path along {} of bandwidth {}: {:.3g} on its edges per variable, {:.3g} left to flows, "
      "kernels "
      "below {:.2g} left out{}{}",
      ToString(result.order), paths.bandwidth, result.routed_weight, result.left_weight, cutoff,
      result.proof.routing.product_limit > 0.0
          ? fmt::format(" ({:.2g} where products bound those of two blocks)",
                        result.proof.routing.product_cutoff)
          : "",
      result.proof.routing.by_square ? ", routes and flows by squares of 32 x 32 pairs" : "");
  part->marginals = std::move(result.marginals);
  if (options.dense.certify == Certify::kNone) return;
  PairOptions verification;
  verification.temperature = options.temperature;
  const bool raised = cutoff > P::kCutoffOfFewPairs;  // because of a time limit
  verification.cutoff =
      HasFewPairs(model) && !raised ? std::min(cutoff, P::kVerifiedOfFewPairs) : cutoff;
  RoutedTimes times(model, result.proof.routing.by_square, true);
  times.bandwidth = paths.bandwidth;
  const double at_end = times.VerifierPathSeconds(!result.proof.dual_point.empty());
  verification.on_progress = [&](double done) {
    return state->budget.Progress("certify upper bound", done, at_end + reserve);
  };
  const RoutedBounds bounds = VerifiedRoutedBounds(model, result.proof, verification,
                                                   options.expectations ? &part->tilted : nullptr);
  part->upper = bounds.upper;
  part->dual = bounds.dual;
  part->complete = bounds.complete;
  if (!bounds.complete) {
    part->notes.emplace_back(
        "There was no time to certify all routes: the routed bound is looser for it.");
  }
}

double GrowthByCuts(const DenseCrf& model) {
  return 1.0 + P::kPassesPerCut * std::max(0, model.num_cuts() - 2);
}

double SecondsOf(const P::RoutingEffort& effort, const DenseCrf& model) {
  return effort.passes * GrowthByCuts(model) *
         RoutingPassSeconds(static_cast<double>(model.num_variables()));
}

// The most that there is time for, or the least.
const P::RoutingEffort& EffortFor(const DenseCrf& model, double seconds) {
  return *std::find_if(
      P::kEfforts.begin(), std::prev(P::kEfforts.end()),
      [&](const P::RoutingEffort& effort) { return SecondsOf(effort, model) <= seconds; });
}

bool HasPairs(const DenseCrf& model) {
  return std::any_of(model.kernels().begin(), model.kernels().end(),
                     [](const GaussianKernel& kernel) { return kernel.weight > 0.0; });
}

}  // namespace

double LeastRoutingSeconds(const DenseCrf& model) {
  return HasPairs(model) ? SecondsOf(P::kEfforts.back(), model)
                         : std::numeric_limits<double>::infinity();
}

double MostRoutingSeconds(const DenseCrf& model) {
  return HasPairs(model) ? SecondsOf(P::kEfforts.front(), model)
                         : std::numeric_limits<double>::infinity();
}

double RoutedBytes(const DenseCrf& model, double max_bytes) {
  const auto n = static_cast<double>(model.num_variables());
  const double all_pairs = n * n;  // two bytes for each
  // The verifier has eight sums under way, in double, of every cut and edge of a position.
  const double sums = 64.0 * n * static_cast<double>(model.num_cuts() + kMaxBandwidth);
  return std::min(P::kMemoryOfRoutes * max_bytes, all_pairs) +
         std::min(P::kMemoryOfPaths * max_bytes, MostPathBytes(model)) + sums;
}

std::string AsPublished(const DenseResult& bound) {
  return fmt::format(
      "Without routing, as published, the upper bound would be about {:.0f}; at best {:.0f}.",
      bound.upper, bound.dual);
}

RoutedPart FindRoutes(const RoutesLimits& limits, DenseState* state) {
  const DenseCrf& model = state->model;
  const SolveOptions& options = state->options;
  Budget& budget = state->budget;
  RoutedPart part;
  RoutedOptions solver;
  const double seconds = std::min(limits.patience, budget.SecondsLeft());
  const P::RoutingEffort& effort = EffortFor(model, seconds);
  solver.bandwidth = effort.bandwidth;
  solver.temperature = options.temperature;
  solver.marginals = state->found.mean_field;
  solver.lower = state->found.lower;
  solver.time_limit_seconds = std::max(0.0, budget.SecondsLeft() - limits.reserve);
  solver.planned_seconds = std::max(0.0, limits.patience - limits.reserve);
  solver.finishes_first_bound = limits.finishes_first_bound;
  solver.leaves_time_to_verify = options.dense.certify != Certify::kNone;
  solver.max_bytes = static_cast<std::size_t>(P::kMemoryOfRoutes * budget.max_bytes());
  solver.max_path_bytes = static_cast<std::size_t>(P::kMemoryOfPaths * budget.max_bytes());
  solver.cutoff = HasFewPairs(model) ? P::kCutoffOfFewPairs : effort.cutoff;
  if (!HasFewPairs(model)) solver.products = RoutedProducts::kWhereTimeIsShort;
  solver.by_square = FlowsBySquare(model, seconds);
  if (options.limits.max_iterations) solver.max_iterations = *options.limits.max_iterations;
  solver.on_iteration = TellOf(state);
  solver.on_routing = [&](double done) {
    budget.Progress("routing pairs", done, 0.0);
    return !budget.stopped();
  };
  RoutedResult result;
  try {
    result = SolveRouted(model, solver);
  } catch (const Interrupted&) {
    part.termination = Termination::kInterrupted;
    part.notes.emplace_back("It ended while pairs were routed: there is no upper bound from them.");
    return part;
  } catch (const TooLarge& error) {
    if (options.method == Method::kRouted) throw;
    part.termination = Termination::kStalled;
    part.refused = true;
    part.notes.push_back(fmt::format("There is no routed bound: {}.", error.what()));
    return part;
  }
  part.termination = result.termination;
  if (limits.is_worth_verifying && !limits.is_worth_verifying(result.upper)) return part;
  const double floor = SubmodularBoundLimit(model, options.temperature);
  if (options.dense.certify != Certify::kNone && floor > result.upper) {
    part.notes.push_back(fmt::format(
        "Without routing, no flow whatever proves an upper bound below about {:.0f}: that "
        "is what the published extension could say at best.",
        std::round(floor) + 0.0));  // no -0
  }
  const double cutoff = result.cutoff;
  // Where verifying takes longer than expected, it may use most of the reserve.
  Verify(std::move(result), cutoff, P::kReserveForLateVerifier * limits.reserve, state, &part);
  return part;
}

RoutedPart FindListedRoutes(const NeighbourList& pairs, double reserve, DenseState* state) {
  const DenseEvidence& found = state->found;
  RoutedPart part;
  ListedOptions solver;
  solver.temperature = state->options.temperature;
  solver.time_limit_seconds = std::max(0.0, state->budget.SecondsLeft() - reserve);
  solver.worthwhile_gain = P::kWorthwhileGain * state->gap;
  solver.sample_neighbours = P::kSampleNeighbours;
  solver.on_iteration = TellOf(state);
  RoutedResult result;
  try {
    result = RouteListed(*state->extension, pairs, found.bound.state, solver);
  } catch (const Interrupted&) {
    return {};
  }
  if (!(result.upper < found.bound.upper)) return {};
  part.notes.push_back(AsPublished(found.bound));
  Verify(std::move(result), pairs.cutoff(), reserve, state, &part);
  return part;
}

namespace {

// Of mean field, so that there is a lower bound whatever time routing leaves: its labels, and its marginals where these prove
// much more.
void VerifyMeanField(DenseState* state) {
  if (state->options.dense.certify == Certify::kNone || state->verified_labels || state->exact)
    return;
  Budget& budget = state->budget;
  const double begin = budget.Seconds();
  const double end = begin + P::kForLabels * budget.SecondsLeft();
  PairOptions verification;
  verification.temperature = state->options.temperature;
  verification.on_progress = [&](double done) {
    return budget.Progress("certify energy", done, 0.0) && budget.Seconds() < end;
  };
  try {
    std::vector<int> labels = state->labels_to_certify();
    const VerifiedPoint point = VerifiedAt(state->model, labels, verification);
    state->verified_labels = {std::move(labels), point, budget.Seconds() - begin};
    const double gain = state->found.lower - point.lower;
    if (!std::isfinite(budget.limit()) || gain < P::kMuchMore * std::abs(point.lower)) return;
    verification.far_tolerance = P::kMostForGroups;
    KeepLower(
        VerifiedAt(state->model, state->found.mean_field, verification, VerifiedValues::kLower)
            .lower,
        state);
  } catch (const Interrupted&) {  // there may be time at the end
  }
}

// For the lower bound, after routing.
double ReserveForLower(const DenseState& state) {
  const DenseView view = ViewOf(state);
  const double left = std::max(0.0, view.left);
  if (view.certify == Certify::kNone || !std::isfinite(left)) return 0.0;
  const double most = P::kForOneStep * left;
  if (!state.verified_labels) return std::min(view.exact_certificate, most);
  const double labels = state.verified_labels->seconds;
  const bool marginals_may_fit = P::kMarginalsAtLeast * labels <= most;
  return std::min(marginals_may_fit ? P::kMarginalsByLabels * labels : labels, most);
}

// Whether there is time to certify the plain bound after all.
bool PlainFitsInto(double seconds, const DenseState& state) {
  const DenseView view = ViewOf(state);
  return std::isfinite(view.upper) &&
         (view.exact_pairs ? view.exact_certificate : view.lattice_certificate) <= seconds;
}

// What routes must prove less than.
double UpperSoFar(const DenseState& state) {
  const bool certified = state.exact && state.exact->certificate.upper;
  return certified ? state.exact->certificate.upper->value() : state.found.bound.upper;
}

// The plain bound is dropped where routes prove as much.
void KeepRoutes(RoutedPart routes, DenseState* state) {
  DenseResult& plain = state->found.bound;
  if (routes.upper && std::isfinite(plain.upper))
    routes.notes.insert(routes.notes.begin(), AsPublished(plain));
  if (state->routed.upper && !(routes.upper && *routes.upper < *state->routed.upper)) return;
  state->routed = std::move(routes);
  if (state->exact) {
    AddRoutes(state->routed, *state, &*state->exact);
    return;
  }
  if (state->routed.upper && state->routed.complete && *state->routed.upper <= plain.upper) {
    plain.upper = std::numeric_limits<double>::infinity();
    plain.proof = {};
  }
  state->changed_for_exact = true;
}

}  // namespace

void RouteAllPairs(DenseState* state) {
  state->routes_sought = true;
  // After a certificate the pairs are gone, and routes do without.
  const bool again = state->exact || state->of_operator;
  if ((!again && !UsePairs(state)) || state->found.mean_field.size() == 0) return;
  Budget& budget = state->budget;
  VerifyMeanField(state);
  RoutesLimits limits{.patience = RoutingPatience(state->view), .reserve = ReserveForLower(*state)};
  if (std::isfinite(state->found.bound.upper)) {
    limits.finishes_first_bound = !PlainFitsInto(state->options.limits.interrupt_seconds, *state);
    limits.is_worth_verifying = [state](double upper) {
      return upper < UpperSoFar(*state) || !PlainFitsInto(state->budget.SecondsLeft(), *state);
    };
  }
  RoutedPart part = FindRoutes(limits, state);
  if (part.refused) {  // for want of memory: by flows, then
    state->view.memory_for_routes = false;
    for (std::string& note : part.notes) state->notes.push_back(std::move(note));
    FreePairs(state);
    return;
  }
  const double before = state->found.lower;
  const auto may_go_on = [&] {
    return part.marginals.size() > 0 && state->extension && !budget.over();
  };
  const MeanFieldRestart restart{.temperature = state->options.temperature};
  if (may_go_on())
    RestartMeanField(*state->extension, part.marginals, restart, &budget, &state->found);
  if (may_go_on()) RestartFromFewerLabels(*state->extension, restart, &budget, &state->found);
  KeepRoutes(std::move(part), state);
  if (state->found.lower > before) state->Change();
}

void RouteListedPairs(DenseState* state) {
  ReturnFreedMemory();  // of the chain
  const NeighbourList* const pairs = ListOf(*state->pairs.op);
  RoutedPart part = FindListedRoutes(*pairs, ViewOf(*state).exact_certificate, state);
  DenseResult& plain = state->found.bound;
  // Cut short, it may prove less than the plain bound, for which there is still time then.
  if (!part.upper || (!part.complete && !(*part.upper < plain.upper))) return;
  // Its own gap is what mean field was worth to the plain bound; the routed one leaves less to be gained.
  MeanFieldRestart restart{.temperature = state->options.temperature};
  restart.max_iterations = P::kUpdatesAfterRoutes;
  restart.tolerance = P::kWorthwhileGain * P::kGainAfterRoutes * state->gap;
  RestartMeanField(*state->extension, state->found.mean_field, restart, &state->budget,
                   &state->found);
  state->routed = std::move(part);
  plain.upper = std::numeric_limits<double>::infinity();
  plain.proof = {};
  state->Change();
}

}  // namespace submarine::internal
