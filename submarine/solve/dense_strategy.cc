#include "submarine/solve/dense_strategy.h"

#include <algorithm>
#include <cmath>

namespace submarine::internal {
namespace {

// Of one pair, found, counted and stored in both directions.
constexpr double kListPairSeconds = 8e-8;
constexpr double kListVariableSeconds = 1.5e-6;
// Of one pair and cut of a flow, and of one label of a variable in the prox and the bounds.
constexpr double kFlowSeconds = 2.5e-10;
constexpr double kProxSeconds = 1.5e-8;
// Of one pair and cut in the verifier of the upper bound; dual, lower bound and energy take as long together.
constexpr double kVerifyPairCutSeconds = 4e-9;
constexpr double kVerifyPairSeconds = 4e-8;
constexpr double kVerifyLabelSeconds = 6e-8;
// Of one variable, corner, level and cut of an ordered lattice filter, and of a variable's place in it.
constexpr double kLatticeSeconds = 4e-10;
constexpr double kLatticeVariableSeconds = 2e-6;
// The flow is applied before and in the first iteration, then its labels and marginals are evaluated.
constexpr double kFirstBound = 4.0;
// A cutoff is chosen that leaves time for a few iterations: fewer prove nothing useful.
constexpr double kFewIterations = 12.0;

}  // namespace

double ListSeconds(const DenseSize& size) {
  return kListPairSeconds * size.pairs + kListVariableSeconds * size.variables;
}

double IterationSeconds(const DenseSize& size) {
  return kFlowSeconds * size.pairs * size.cuts + kProxSeconds * size.variables * size.labels;
}

double CertificateSeconds(const DenseSize& size) {
  return size.pairs * (kVerifyPairCutSeconds * size.cuts + kVerifyPairSeconds) +
         kVerifyLabelSeconds * size.variables * size.labels;
}

double LeastSeconds(const DenseSize& size) {
  return ListSeconds(size) + kFirstBound * IterationSeconds(size);
}

double LeastSecondsByLattice(const DenseSize& size, double corners, double levels) {
  const double flow = kLatticeSeconds * size.variables * corners * levels * size.cuts;
  return kLatticeVariableSeconds * size.variables +
         kFirstBound * (flow + kProxSeconds * size.variables * size.labels);
}

std::size_t ChooseCutoff(DenseSize size, std::span<const double> pairs, double seconds) {
  std::size_t k = 0;
  for (; k + 1 < pairs.size(); ++k) {
    size.pairs = pairs[k];
    if (ListSeconds(size) + kFewIterations * IterationSeconds(size) + CertificateSeconds(size) <=
        seconds)
      break;
  }
  return k;
}

double SolverGap(const DenseStrategy& strategy, double gap, bool certifies_exactly) {
  return certifies_exactly
             ? std::max(strategy.share_for_solver * gap, gap - strategy.room_for_far_pairs)
             : gap;
}

bool MeanFieldMayHelp(const DenseStrategy& strategy, double energy, double dual) {
  return -energy >= dual - strategy.mean_field_reach * std::abs(dual);
}

bool Stalled(const DenseStrategy& strategy, int stage, double gap_before, double gap) {
  return stage > strategy.first_stage && gap > strategy.stall_ratio * gap_before;
}

}  // namespace submarine::internal
