#include "submarine/solve/candidate/dense_mean_field.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/bound/constant_labeling.h"
#include "submarine/solve/candidate/dense_candidates.h"
#include "submarine/solve/candidate/dense_pairs.h"
#include "submarine/solve/method/policy.h"
#include "submarine/solver/mean_field/dense_mean_field.h"
#include "submarine/solver/mean_field/label_merging.h"

namespace submarine::internal {

void TakeLabels(const DenseExtension& extension, std::vector<int> labels, DenseEvidence* evidence) {
  DenseResult& bound = evidence->bound;
  try {
    if (bound.labels.empty()) {
      std::vector<int> known = LabelsOf(*evidence);
      bound.energy = extension.Energy(known);
      bound.labels = std::move(known);
    }
    const double energy = extension.Energy(labels);
    if (!(energy < bound.energy)) return;
    bound.energy = energy;
    bound.labels = std::move(labels);
  } catch (const Interrupted&) {  // the labels are what they were
  }
}

void RestartMeanField(const DenseExtension& extension, const Matrix<float>& start,
                      const MeanFieldRestart& restart, Budget* budget, DenseEvidence* evidence) {
  DenseMeanFieldOptions again;
  again.temperature = restart.temperature;
  again.max_iterations = restart.max_iterations;
  again.tolerance = restart.tolerance;
  again.start = start;
  again.time_limit_seconds = restart.share * std::max(0.0, budget->SecondsLeft());
  again.on_iteration = [&](int k, double, double) {
    budget->Progress("mean field", static_cast<double>(k) / restart.max_iterations, 0.0);
    return !budget->stopped();
  };
  DenseMeanFieldResult result = SolveMeanField(extension, again);
  if (!(result.lower > evidence->lower)) return;
  evidence->lower = result.lower;
  evidence->mean_field = std::move(result.marginals);
  // Where there are no others, labels are mean field's.
  if (std::isfinite(evidence->bound.upper) || !evidence->bound.labels.empty())
    TakeLabels(extension, ArgmaxLabels(evidence->mean_field), evidence);
}

void RestartFromFewerLabels(const DenseExtension& extension, const MeanFieldRestart& restart,
                            Budget* budget, DenseEvidence* evidence) {
  const auto restart_from = [&](const std::vector<int>& labels) {
    RestartMeanField(extension, Indicator(labels, extension.num_labels()), restart, budget,
                     evidence);
  };
  const std::vector<int> labels = LabelsOf(*evidence);
  try {
    const std::vector<int> merged = MergeLabels(extension, labels);
    if (merged != labels) restart_from(merged);
  } catch (const Interrupted&) {
    return;
  }
  const ConstantLabeling one = BestConstantLabeling(extension.model());
  const std::vector<int> one_for_all(labels.size(), one.label);
  if (MeanFieldMayHelp(one.energy, evidence->lower)) restart_from(one_for_all);
  TakeLabels(extension, one_for_all, evidence);
}

void FindMeanField(DenseState* state) {
  state->has_mean_field = true;
  if (!UsePairs(state)) return;
  const DenseView view = ViewOf(*state);
  const bool alone = view.method == Method::kMeanField;
  // Now that the pairs are known: only for what may follow.
  const bool bounds_fluctuations = MayBoundFluctuations(view) && !state->pairs.exact;
  if (!alone && !RoutesFirst(view) && !MayRouteAfterFlows(view) && !bounds_fluctuations) return;
  DenseChainOptions chain;
  chain.temperature = state->options.temperature;
  const int updates = alone ? state->options.dense.updates : 0;
  chain.classic_updates = updates > 0;
  chain.max_iterations =
      updates > 0 ? updates
      : alone     ? state->options.limits.max_iterations.value_or(state->method.traits.iterations)
                  : DensePolicy::kMeanFieldIterations;
  chain.deadline = DeadlineOf(*state, alone || RoutesFirst(view)
                                          ? ReserveOfFlows(view)
                                          : (1.0 - DensePolicy::kForQuickLower) * view.left);
  const DenseTell tell = [state](std::string_view phase, const SolveRecord& record) {
    return state->budget.Tell(phase, record);
  };
  DenseEvidence& found = state->found;
  found = ChainMeanField({state->method.name, *state->extension, state->pairs.exact, chain,
                          state->budget.clock(), tell});
  TakeRecords(state);
  if (found.empty()) return;
  state->Change();
  // One label for all may be far from what mean field has found: then flows come first, by pairs planned for them.
  if (!view.plain_says_little || PlainSaysLittle(view, found.lower)) return;
  state->view.plain_says_little = false;
  FreePairs(state);
}

void FindFewerLabels(DenseState* state) {
  if (state->found.empty() || !state->extension) return;  // freed, if flows were to follow
  const double before = state->found.lower;
  RestartFromFewerLabels(*state->extension, {.temperature = state->options.temperature},
                         &state->budget, &state->found);
  if (state->found.lower > before) state->Change();
}

}  // namespace submarine::internal
