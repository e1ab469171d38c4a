// Metrics that say "far apart" of all but a few neighbours: Potts and truncated ones.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "submarine/labels/label_cuts.h"

namespace submarine::internal {

// d(i, j) = diameter (1 - m_|i-j|), m_0 = 1, m_n = neighbours[n - 1], and 0 beyond. So, up to a constant
// over labels, the costs that marginals x send are -diameter M x.
struct LabelBand {
  double diameter = 0.0;
  std::vector<float> neighbours;  // empty: Potts
};

// None for metrics of other forms, and where M would have more than kMostBand neighbours to a side.
inline constexpr std::size_t kMostBand = 8;
std::optional<LabelBand> BandOf(const LabelMetric& metric);

// y = M x, rows of n floats; x and y must not overlap.
void ApplyBand(const std::vector<float>& neighbours, const float* x, std::size_t n, float* y);

}  // namespace submarine::internal
