#include "submarine/solve/candidate/dense_state.h"

#include <algorithm>
#include <cmath>

#include "submarine/bound/constant_labeling.h"
#include "submarine/extension/submodular_bound_limit.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/candidate/dense_routes.h"

namespace submarine::internal {

namespace {

bool HasUniformMetric(const DenseCrf& model) {
  const Matrix<double>& d = model.metric().distance;
  for (std::size_t i = 0; i < d.rows(); ++i) {
    for (std::size_t j = 0; j < d.cols(); ++j) {
      if (d(i, j) != (i == j ? 0.0 : d(0, 1))) return false;
    }
  }
  return true;
}

}  // namespace

DenseState::DenseState(const DenseCrf& given, const SolveOptions& of_call,
                       const DenseMethod& of_method, double target_gap, bool was_normalised,
                       const std::vector<int>* of_updates, Budget* limits)
    : model(given),
      options(of_call),
      method(of_method),
      gap(target_gap),
      normalised(was_normalised),
      given_labels(of_updates),
      budget(*limits) {
  view.method = options.method;
  view.certify = options.dense.certify;
  view.zero_temperature = options.temperature == 0.0;
  view.limit = options.limits.time_limit_seconds;
  view.gap = gap;
  view.cuts = model.num_cuts();
  view.uniform_metric = HasUniformMetric(model);
  // Some matrices in double, beside a lattice.
  constexpr double kBytesOfEntry = 64.0;
  view.memory_for_fluctuations = kBytesOfEntry * static_cast<double>(model.unary().size()) <=
                                 0.25 * static_cast<double>(options.limits.max_bytes);
  view.lattices_forced = options.dense.pairs.kind != OperatorKind::kAuto;
  if (options.method == Method::kAuto && options.temperature > 0.0) {
    view.unaries_upper = UnaryUpper(model, options.temperature);
    view.plain_floor = SubmodularBoundLimit(model, options.temperature);
    view.plain_says_little = PlainSaysLittle(view, -BestConstantLabeling(model).energy.value());
    view.least_routing = LeastRoutingSeconds(model);
    view.most_routing = MostRoutingSeconds(model);
  }
}

DenseView ViewOf(const DenseState& state) {
  DenseView view = state.view;
  view.left = state.budget.SecondsLeft();
  view.stopped = state.budget.stopped();
  view.machine_time_factor = state.machine_time_factor;
  view.exact_certificate = state.machine_time_factor * state.exact_certificate_seconds;
  view.lattice_certificate = state.machine_time_factor * state.lattice_certificate_seconds;
  view.exact_pairs = state.pairs_are_exact;
  view.listed =
      state.plan.routes_listed && state.pairs.op != nullptr && ListOf(*state.pairs.op) != nullptr;
  const DenseEvidence& found = state.found;
  view.has_mean_field = state.has_mean_field || found.mean_field.size() > 0;
  view.labels_verified = state.verified_labels.has_value();
  view.has_flows = state.has_flows;
  view.lower = found.lower;
  if (std::isfinite(found.bound.energy)) view.lower = std::max(view.lower, -found.bound.energy);
  view.upper = found.bound.upper;
  view.dual = found.bound.dual;
  view.gap_reached = found.termination == Termination::kGapReached;
  view.plain_is_wide = state.plain_is_wide;
  if (state.routed.upper) view.routed = *state.routed.upper;
  view.routes_sought = state.routes_sought;
  view.fluctuations_sought = state.fluctuations_sought;
  for (const auto* certified : {&state.exact, &state.of_operator}) {
    if (!*certified) continue;
    const Certificate& certificate = (*certified)->certificate;
    if (certificate.upper && certificate.lower)
      view.certified_width =
          std::min(view.certified_width, RelativeGap(*certificate.upper, *certificate.lower));
  }
  if (state.of_operator && state.of_operator->certificate.upper)
    view.operator_upper = *state.of_operator->certificate.upper;
  view.changed_for_exact = state.changed_for_exact;
  view.changed_for_operator = state.changed_for_operator;
  return view;
}

}  // namespace submarine::internal
