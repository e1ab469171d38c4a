#include "submarine/solve/limits.h"

#include <algorithm>

#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {
namespace {

// Of one entry of a flow or of a label's marginal, and of one pair of labels of an edge.
constexpr double kFlowEntrySeconds = 2e-9;
constexpr double kLabelSeconds = 1.5e-8;
constexpr double kLabelPairSeconds = 4e-10;
constexpr double kDualPairSeconds = 4e-8;
constexpr double kForestPairSeconds = 2e-9;

}  // namespace

bool Alarm::Tell(std::string_view phase, const SolveRecord& record) {
  latest_ = record;
  if (!stopped_ && watch_ && !watch_(phase, record)) {
    stopped_ = true;
    deadline_ = std::min(deadline_, clock_.Seconds() + grace_);
  }
  return !stopped_;
}

bool Alarm::Progress(std::string_view phase, double done, double reserve) {
  SolveRecord record = latest_;
  record.k = -1;
  record.seconds = clock_.Seconds();
  const SolveRecord kept = latest_;
  record.done = done;
  Tell(phase, record);
  latest_ = kept;
  return SecondsLeft() > reserve;
}

bool KeepsGap(const Certificate& certificate, double gap) {
  constexpr double kTolerance = 1.2;
  constexpr double kFloor = 1e-6;
  return !certificate.upper || !certificate.dual ||
         RelativeGap(*certificate.upper, *certificate.dual) <= kTolerance * gap + kFloor;
}

SparseCostEstimate SparseCosts(const SparseCrf& model) {
  const auto variables = static_cast<double>(model.num_variables());
  const double labels = model.num_labels();
  const auto edges = static_cast<double>(model.num_edges());
  const double cuts = model.num_cuts();
  SparseCostEstimate costs;
  costs.flow_certificate =
      kFlowEntrySeconds * edges * cuts * 4.0 + kLabelSeconds * variables * labels;
  costs.forest_certificate = kForestPairSeconds * edges * labels * labels * 2.0;
  costs.hybrid_dual = kDualPairSeconds * edges * labels * labels;
  costs.lower_certificate =
      kLabelPairSeconds * edges * labels * labels + kLabelSeconds * variables * labels;
  return costs;
}

double TableCertificateSeconds(const FactorGraph& graph) {
  double entries = 0.0;
  for (const Factor& factor : graph.factors) entries += static_cast<double>(factor.energy.size());
  return 2.0 * kForestPairSeconds * entries;
}

}  // namespace submarine::internal
