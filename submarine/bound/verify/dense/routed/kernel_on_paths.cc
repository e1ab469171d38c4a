#include <cmath>
#include <limits>

#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/routed/kernel_on_paths_internal.h"
#include "submarine/bound/verify/dense/routed/routed_rows_internal.h"

namespace submarine::internal {

using dense_verifier::kUlp;
using dense_verifier::LargestFactor;
using dense_verifier::LeastFactor;
using routed_rows::kHalo;
using routed_rows::kSide;

namespace {

constexpr double kUp = 1.0 + 1e-12;  // more than the rounding errors of a sum of squares

}  // namespace

double KernelOnPaths::LargestCross(std::size_t row, std::size_t column) const {
  double of_boxes = 0.0;
  for (std::size_t d = 0; d < dimension; ++d) {
    const std::size_t r = row * dimension + d;
    const std::size_t c = column * dimension + d;
    of_boxes += reach[r] * reach[c];
  }
  return kUp * std::min(of_boxes, radius[row] * radius[column]);
}

KernelOnPaths PlaceKernel(const DenseCrf& model, const GaussianKernel& kernel,
                          const std::vector<std::uint32_t>& order) {
  const std::size_t blocks = (order.size() + kSide - 1) / kSide;
  KernelOnPaths placed;
  const std::size_t stride = placed.stride = blocks * kSide + 2 * kHalo;
  const std::size_t dimension = placed.dimension = kernel.dimension();
  placed.factor = LeastFactor(model, kernel);
  if (placed.factor > 0.0)
    placed.excess = LargestFactor(model, kernel) / placed.factor * (1.0 + kUlp) - 1.0;
  placed.feature_error = FeatureErrorOfValue(kernel);
  placed.features.assign(dimension * stride, 0.0);
  placed.scale.assign(stride, 0.0);
  placed.low.assign(blocks * dimension, std::numeric_limits<double>::infinity());
  placed.high.assign(blocks * dimension, -std::numeric_limits<double>::infinity());
  for (std::size_t p = 0; p < order.size(); ++p) {
    const std::size_t a = order[p];
    placed.scale[kHalo + p] = kernel.scale.empty() ? 1.0 : kernel.scale[a];
    for (std::size_t d = 0; d < dimension; ++d) {
      const double f = kernel.features(a, d);
      placed.features[d * stride + kHalo + p] = f;
      double& low = placed.low[p / kSide * dimension + d];
      double& high = placed.high[p / kSide * dimension + d];
      low = std::min(low, f);
      high = std::max(high, f);
    }
  }
  constexpr double kLeastLog = -1e4;  // of scales that are 0, whose weights are, too
  for (const double scale : placed.scale)
    placed.log_scale.push_back(scale > 0.0 ? std::log(scale) : kLeastLog);
  for (std::size_t n = 0; n < placed.low.size(); ++n) {
    // The centre may be rounded.
    const double centre = 0.5 * (placed.low[n] + placed.high[n]);
    placed.centre.push_back(centre);
    placed.reach.push_back(kUp * std::max(placed.high[n] - centre, centre - placed.low[n]));
  }
  constexpr double kMost = 1e100;
  const auto moderate = [](double value) { return value >= 1.0 / kMost && value <= kMost; };
  placed.is_moderate = moderate(placed.factor);
  for (const double scale : kernel.scale)
    placed.is_moderate = placed.is_moderate && (scale == 0.0 || moderate(scale * scale));
  placed.radius.assign(blocks, 0.0);
  for (std::size_t p = 0; p < order.size(); ++p) {
    double squared = 0.0;
    for (std::size_t d = 0; d < dimension; ++d) {
      const double x =
          placed.features[d * stride + kHalo + p] - placed.centre[p / kSide * dimension + d];
      squared += x * x;
    }
    double& radius = placed.radius[p / kSide];
    radius = std::max(radius, kUp * std::sqrt(squared));
  }
  return placed;
}

}  // namespace submarine::internal
