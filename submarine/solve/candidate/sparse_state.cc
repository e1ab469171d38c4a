#include "submarine/solve/candidate/sparse_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/bound/verify/sparse/verifier.h"

namespace submarine::internal {

SolveRecord SparseState::RecordOf(SolveRecord record, double begin) {
  record.seconds += begin;
  return record;
}

void SparseState::TakeUpper(const Bound& upper) {
  std::optional<Bound>& best = solved.certificate.upper;
  if (!best || upper < *best) best = upper;
}

void SparseState::TakeUpper(const std::function<Bound(TiltedPlace)>& verify) {
  std::shared_ptr<const TiltedUpper> tilted;
  TakeUpper(verify(options.expectations ? &tilted : nullptr));
  KeepTighter(std::move(tilted), &solved.tilted);
}

void SparseState::TakeLower(const Bound& lower) {
  std::optional<Bound>& best = solved.certificate.lower;
  if (!best || lower > *best) best = lower;
}

// T log Z_T >= -E(x) for every labeling.
void SparseState::TakeLabels(std::vector<int> labels) {
  const Bound energy = VerifiedEnergy(model, labels);
  if (solved.energy && !(energy < *solved.energy)) return;
  solved.energy = energy;
  solved.labels = std::move(labels);
  TakeLower(Negated(energy));
}

std::vector<int> SparseState::Rounded(const Matrix<double>& y) {
  const StopCheck stop(SecondsFor(costs.lower_certificate), [this] { return budget.AsksToStop(); });
  return RoundMarginals(model, y, options.sparse.rounding_draws, options.sparse.seed, stop).labels;
}

void SparseState::TakeRecords(const std::vector<SolveRecord>& records, double begin) {
  for (const SolveRecord& record : records) solved.records.push_back(RecordOf(record, begin));
}

SparseView ViewOf(const SparseState& state) {
  SparseView view = state.view;
  view.left = state.budget.SecondsLeft();
  view.stopped = state.budget.stopped();
  const Certificate& certificate = state.solved.certificate;
  if (certificate.upper) view.upper = *certificate.upper;
  if (certificate.lower) view.lower = *certificate.lower;
  return view;
}

}  // namespace submarine::internal
