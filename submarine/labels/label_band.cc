#include "submarine/labels/label_band.h"

#include <algorithm>
#include <cmath>

namespace submarine::internal {

std::optional<LabelBand> BandOf(const LabelMetric& metric) {
  const Matrix<double>& d = metric.distance;
  const std::size_t n = d.rows();
  LabelBand band{d(0, n - 1), {}};
  if (!(band.diameter > 0.0)) return std::nullopt;
  std::size_t reach = n - 1;
  while (reach > 0 && d(0, reach) == band.diameter) --reach;
  if (reach > kMostBand) return std::nullopt;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (d(i, j) != d(0, i < j ? j - i : i - j)) return std::nullopt;
    }
  }
  for (std::size_t k = 1; k <= reach; ++k)
    band.neighbours.push_back(static_cast<float>(1.0 - d(0, k) / band.diameter));
  return band;
}

void ApplyBand(const std::vector<float>& neighbours, const float* x, std::size_t n, float* y) {
  std::copy(x, x + n, y);
  for (std::size_t k = 1; k <= std::min(neighbours.size(), n - 1); ++k) {
    const float weight = neighbours[k - 1];
    for (std::size_t i = 0; i + k < n; ++i) y[i] += weight * x[i + k];
    for (std::size_t i = k; i < n; ++i) y[i] += weight * x[i - k];
  }
}

}  // namespace submarine::internal
