#include "submarine/solve/dense_strategy.h"

#include <algorithm>
#include <cmath>

namespace submarine {
namespace {

// A limit is kept with a few iterations in it, or nothing comes of them.
constexpr double kFewIterations = 12.0;

}  // namespace

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

}  // namespace submarine
