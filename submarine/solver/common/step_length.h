// The step rule of the primal-dual solver on flows (solver/flow/pdhg.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "submarine/labels/label_cuts.h"

namespace submarine::internal {

// How much of the entropy's strong concavity the acceleration counts on; 1 would be all of it, but
// the dual value of the marginals improves faster when they stay a little more mobile (measured on
// grids, w = 1..10).
inline constexpr double kAcceleration = 0.5;

// How far the flows of each cut may move relative to those of a leaf: the inverse of the variance p
// (1 - p) of its indicator at uniform marginals, p = |S_c| / L, as that is the curvature of the
// bound along the flow.
inline std::vector<double> MobilityOfCuts(const LabelCuts& cuts) {
  const double labels = cuts.num_labels();
  std::vector<double> mobility;
  for (int c = 0; c < cuts.num_cuts(); ++c) {
    const auto size = static_cast<double>(cuts.set(c).size());
    mobility.push_back(size < labels ? (labels - 1.0) / (size * (labels - size)) : 1.0);
  }
  return mobility;
}

// Keeps eta while the movement of the last step justified it, and lets it grow slowly otherwise
// (PDLP, section 3.1).
inline double NextStepLength(double eta, double movement, double interaction, int k) {
  const double limit = interaction != 0.0 ? movement / std::abs(interaction) : HUGE_VAL;
  const double shrink = 1.0 - std::pow(k + 1.0, -0.3);
  const double grow = 1.0 + std::pow(k + 1.0, -0.6);
  return std::clamp(std::min(shrink * limit, grow * eta), 1e-6, 1e6);
}

// Bounds are evaluated often at first, then every 16 iterations, where the evaluation costs little.
inline int NextEvaluation(int k) { return k + std::clamp(k / 8, 1, 16); }

}  // namespace submarine::internal
