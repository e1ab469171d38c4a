#include "submarine/solve/method/policy.h"

#include <algorithm>
#include <cmath>

#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {
namespace {

using P = DensePolicy;

bool IsOver(const DenseView& v) { return v.stopped || v.left <= 0.0; }

// What is about the operator's pair weights whatever they are.
bool AsksForOperator(const DenseView& v) {
  return v.certify == Certify::kOperator || v.certify == Certify::kLower;
}

bool IsLimited(const DenseView& v) { return std::isfinite(v.limit); }

// Where there are many cuts: flows of all pairs would take too long.
bool ListedRoutesAreBetter(const DenseView& v) { return v.cuts > P::kFewCuts; }

bool IsOutOfPatience(const DenseView& v) {
  // Patience is not a matter of what else the machine does at the moment.
  return v.exact_certificate / v.machine_time_factor > P::kPatience ||
         v.exact_certificate > P::kForCertificate * std::max(0.0, v.left);
}

double RelativeWidth(const DenseView& v) { return RelativeGap(v.upper, v.lower); }

}  // namespace

double RoutingPatience(const DenseView& v) {
  if (v.method == Method::kRouted) return kUnlimited;
  return IsLimited(v) ? v.limit : P::kRoutingPatience;
}

bool PlainSaysLittle(const DenseView& v, double lower) {
  return v.unaries_upper - v.plain_floor < P::kLittleToGain * (v.unaries_upper - lower);
}

bool RoutesFirst(const DenseView& v) {
  if (v.method == Method::kRouted) return true;
  return v.method == Method::kAuto && !AsksForOperator(v) && !v.zero_temperature &&
         v.memory_for_routes && v.least_routing <= RoutingPatience(v) && v.plain_says_little;
}

bool RoutesAreQuick(const DenseView& v) {
  return v.method == Method::kAuto && v.certify != Certify::kNone && !v.zero_temperature &&
         v.memory_for_routes &&
         v.most_routing <= std::min(P::kQuickSeconds, P::kForOneStep * v.left);
}

bool MayRouteAfterFlows(const DenseView& v) {
  return v.method == Method::kAuto && !RoutesFirst(v) && !RoutesAreQuick(v) &&
         !v.zero_temperature && !(v.exact_pairs && ListedRoutesAreBetter(v)) &&
         !AsksForOperator(v) && v.certify != Certify::kNone && v.memory_for_routes &&
         v.least_routing <= P::kShareAfterPlain * RoutingPatience(v);
}

bool PlainLeavesTooMuch(double upper, double dual, double lower, double gap) {
  const double interval = upper - lower;
  return interval > std::max(gap, P::kWideInterval) * std::abs(lower) &&
         dual - lower > P::kShareLeftByPlain * interval;
}

bool EndsFlows(const DenseView& v) {
  return MayRouteAfterFlows(v) && std::isfinite(v.lower) &&
         PlainLeavesTooMuch(v.upper, v.dual, v.lower, v.gap) &&
         !(v.left < P::kLeastAfterPlain * v.limit);
}

bool WantsMeanField(const DenseView& v) {
  if (v.has_mean_field || v.has_flows) return false;
  return v.method == Method::kMeanField || RoutesFirst(v) ||
         ((MayRouteAfterFlows(v) || MayBoundFluctuations(v)) && !IsOver(v));
}

bool MayBoundFluctuations(const DenseView& v) {
  return v.method == Method::kAuto &&
         (v.certify == Certify::kAuto || v.certify == Certify::kOperator) && !v.zero_temperature &&
         v.uniform_metric && v.memory_for_fluctuations && !RoutesFirst(v);
}

bool WantsFluctuations(const DenseView& v) {
  return MayBoundFluctuations(v) && !v.fluctuations_sought && !v.exact_pairs && v.has_mean_field &&
         !v.has_flows && !IsOver(v);
}

bool WantsFlows(const DenseView& v) {
  return !v.has_flows && v.method != Method::kMeanField && !RoutesFirst(v) &&
         !(v.fluctuations_sought &&
           (v.certified_width <= v.gap || v.operator_upper <= v.plain_floor));
}

bool WantsFewerLabels(const DenseView& v) {
  if (IsOver(v) || v.zero_temperature) return false;
  if (RoutesFirst(v)) return true;
  const double certificate = v.exact_pairs || CertifiesExactly(v) ? v.exact_certificate : 0.0;
  return v.method == Method::kAuto && !v.gap_reached && !v.plain_is_wide &&
         (1.0 - P::kForOneStep) * v.left > certificate;
}

bool WantsListedRoutes(const DenseView& v) {
  return !IsOver(v) && v.method == Method::kAuto && v.listed && v.has_flows && !v.plain_is_wide &&
         !v.zero_temperature && CertifiesExactly(v) && RelativeWidth(v) > v.gap &&
         v.left >= P::kListedCertificates * v.exact_certificate;
}

bool WantsRoutes(const DenseView& v) {
  if (RoutesFirst(v)) return v.has_mean_field;
  if (IsOver(v) || !v.has_mean_field || !v.has_flows) return false;
  if (v.plain_is_wide) return MayRouteAfterFlows(v);
  return RoutesAreQuick(v) && CertifiesExactly(v) &&
         RelativeGap(std::min(v.upper, v.routed), v.lower) > v.gap &&
         v.left >= P::kListedCertificates * v.exact_certificate;
}

bool CertifiesExactly(const DenseView& v) {
  if (v.certify != Certify::kAuto) return v.certify == Certify::kExact;
  if (RoutesFirst(v) || std::isfinite(v.routed)) return true;
  // Lists are the exact Gaussians but for the pairs left out, and verified in the same time.
  if (IsLimited(v) && v.exact_pairs) return true;
  // What is found of the operator's weights is verified soon; the exact Gaussians get what time is left then.
  if (IsLimited(v) && v.has_flows) return !IsOver(v);
  // Mean field took lattices because there is no time for all pairs, and none to verify them.
  if (IsLimited(v) && !v.lattices_forced) return false;
  return !IsOutOfPatience(v);
}

bool CertifiesOperator(const DenseView& v) {
  if (v.certify != Certify::kAuto) return AsksForOperator(v);
  if (v.exact_pairs || v.routed <= v.upper) return !CertifiesExactly(v);
  return v.has_flows || !CertifiesExactly(v);
}

bool WantsExactCertificate(const DenseView& v) {
  return v.changed_for_exact && (CertifiesExactly(v) || v.labels_verified);
}

bool WantsOperatorCertificate(const DenseView& v) {
  return v.changed_for_operator && CertifiesOperator(v);
}

// Time that was given is used while the interval is wider than the gap, though the solver's own gap is reached.
bool WantsRoutesAfterAll(const DenseView& v) {
  return !IsOver(v) && IsLimited(v) && v.method == Method::kAuto && !v.routes_sought &&
         v.has_flows && !v.zero_temperature && !AsksForOperator(v) && v.certify != Certify::kNone &&
         v.memory_for_routes && v.certified_width > v.gap &&
         v.left > P::kSlackOfRoutes * v.machine_time_factor * v.least_routing;
}

double ReserveOfFlows(const DenseView& v) {
  if (v.certify == Certify::kNone || !IsLimited(v)) return 0.0;
  const double left = std::max(0.0, v.left);
  const double most = P::kForCertificate * left;
  if (v.exact_pairs) return std::min(v.exact_certificate, most);
  const double of_operator = v.has_flows || v.method != Method::kMeanField
                                 ? std::min(v.lattice_certificate, most)
                                 : P::kForOneStep * left;
  return AsksForOperator(v) ? of_operator : std::max(of_operator, P::kForExactAfterLattice * left);
}

double SolverGap(double gap, bool certifies_exactly) {
  return certifies_exactly ? std::max(P::kShareForSolver * gap, gap - P::kRoomForFarPairs) : gap;
}

bool ReportsExact(double width_of_exact, double width_of_operator) {
  return width_of_exact <= P::kMuchWider * width_of_operator;
}

std::size_t ChooseCutoff(DenseSize size, std::span<const double> pairs, double seconds) {
  std::size_t k = 0;
  for (; k + 1 < pairs.size(); ++k) {
    size.pairs = pairs[k];
    if (ListSeconds(size) + P::kFewIterations * IterationSeconds(size) + CertificateSeconds(size) <=
        seconds)
      break;
  }
  return k;
}

// --- Sparse models

using S = SparsePolicy;

namespace {

const SparseCost& CostOf(const SparseView& v, Method method) {
  return v.costs[static_cast<std::size_t>(method)];
}

bool FirstBoundFits(const SparseView& v, Method method) {
  return (!v.zero_temperature || CostOf(v, method).zero_temperature) && FitsTime(v, method) &&
         FitsMemory(v, method);
}

bool IsOver(const SparseView& v) { return v.stopped || v.left <= 0.0; }

}  // namespace

bool FitsTime(const SparseView& v, Method method) {
  return FitsTime(CostOf(v, method).seconds, v.left);
}

bool FitsMemory(const SparseView& v, Method method) { return CostOf(v, method).bytes <= v.room; }

// TRW is never looser than the submodular bound at its optimum (docs/math.md, "Tree-reweighted
// bounds"), and its first sweep is worth many iterations of the others; but its certificate visits all pairs of labels, and it does not accept T = 0.
Method TightestThatFits(const SparseView& v) {
  if (FirstBoundFits(v, Method::kTrw)) return Method::kTrw;
  const double iterations = S::kFewIterations * IterationSeconds(v.size);
  if (FitsMemory(v, Method::kPdhg) &&
      FitsTime(CostOf(v, Method::kPdhg).seconds + iterations, v.left))
    return Method::kPdhg;
  for (const Method method : {Method::kFrankWolfe, Method::kPdhg}) {
    if (FirstBoundFits(v, method)) return method;
  }
  return Method::kAuto;
}

namespace {

// For the method asked for: the unaries have to do. Exact inference has limits of its own.
bool IsTooLate(const SparseView& v) {
  return v.method != Method::kAuto && v.method != Method::kExact && !FitsTime(v, v.method);
}

}  // namespace

bool WantsUnaries(const SparseView& v) {
  const bool began = v.tried_upper || v.has_mean_field;
  return !v.has_unaries && (v.method == Method::kAuto || v.gave_up || (!began && IsTooLate(v)));
}

bool WantsExact(const SparseView& v) {
  return !v.tried_exact &&
         (v.method == Method::kExact || (v.method == Method::kAuto && !v.stopped));
}

bool WantsUpper(const SparseView& v) {
  if (v.tried_upper || v.is_exact || v.stopped) return false;
  return (CostOf(v, v.method).is_upper && !IsTooLate(v)) ||
         (v.method == Method::kAuto && TightestThatFits(v) != Method::kAuto);
}

bool WantsMeanField(const SparseView& v) {
  if (v.has_mean_field || v.is_exact) return false;
  return (v.method == Method::kMeanField && !IsTooLate(v)) ||
         (v.method != Method::kMeanField && !v.zero_temperature && !v.gave_up && !v.stopped &&
          v.starts > 0 && v.left > CostOf(v, Method::kMeanField).seconds &&
          HeldBytes(kMeanFieldHeld, v.size) <= v.room);
}

bool WantsForestMeanField(const SparseView& v) {
  const SparseCostEstimate costs = SparseCosts(v.size);
  return v.has_mean_field && !v.has_forest_mean_field && v.between_trees && v.size.edges > 0.0 &&
         !v.stopped && v.left >= costs.forest_sweep + costs.forest_lower &&
         HeldBytes(kForestMeanFieldHeld, v.size) <= v.room;
}

bool WantsBetterForests(const SparseView& v) {
  return !v.tried_forests && v.method == Method::kAuto && v.upper_by == Method::kTrw &&
         !v.gave_up && std::isfinite(v.limit) && !IsOver(v) &&
         v.upper - v.lower > v.gap * std::abs(v.upper) &&
         S::kFirstBoundsForForests * CostOf(v, Method::kTrw).seconds <= v.left &&
         HeldBytes(kManyForestsHeld, v.size) <= v.room;
}

bool GivesUp(const SparseView& v) {
  return v.left < (v.stopped ? 0.0 : -S::kShareOfOverrun * Overrun(v.limit));
}

}  // namespace submarine::internal
