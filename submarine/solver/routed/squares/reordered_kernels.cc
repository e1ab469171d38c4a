#include "submarine/solver/routed/squares/reordered_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace submarine::internal {

float ReorderedKernel::CentreScale(std::size_t row, std::size_t column) const {
  float squared = 0.0F;
  for (std::size_t d = 0; d < dimension; ++d) {
    const float apart = centre[row * dimension + d] - centre[column * dimension + d];
    squared += apart * apart;
  }
  return std::exp(0.5F * squared);
}

float ReorderedKernel::LargestCross(std::size_t row, std::size_t column) const {
  float of_boxes = 0.0F;
  for (std::size_t d = 0; d < dimension; ++d) {
    const std::size_t r = row * dimension + d;
    const std::size_t c = column * dimension + d;
    of_boxes += 0.25F * (high[r] - low[r]) * (high[c] - low[c]);
  }
  return std::min(of_boxes, radius[row] * radius[column]);
}

std::vector<ReorderedKernel> ReorderKernels(const DenseCrf& model, const RoutedPaths& paths) {
  const std::size_t size = model.num_variables();
  const std::size_t blocks = NumBlocks(size);
  std::vector<ReorderedKernel> placed;
  for (const WeightedKernel& weighted : PairWeights(model)) {
    const GaussianKernel& source = *weighted.kernel;
    if (!(weighted.factor > 0.0)) continue;
    ReorderedKernel kernel;
    const std::size_t dimension = kernel.dimension = source.dimension();
    kernel.stride = blocks * kRoutingBlock + 2 * kRoom;
    kernel.coordinates.assign(dimension * kernel.stride, 0.0F);
    kernel.scale.assign(kernel.stride, 0.0F);
    kernel.low.assign(blocks * dimension, std::numeric_limits<float>::infinity());
    kernel.high.assign(blocks * dimension, -std::numeric_limits<float>::infinity());
    const double factor = std::sqrt(weighted.factor);
    for (std::size_t p = 0; p < size; ++p) {
      const std::size_t a = paths.order[p];
      kernel.scale[kRoom + p] =
          static_cast<float>(factor * (source.scale.empty() ? 1.0 : source.scale[a]));
      for (std::size_t d = 0; d < dimension; ++d) {
        const auto f = static_cast<float>(source.features(a, d));
        kernel.coordinates[d * kernel.stride + kRoom + p] = f;
        const std::size_t at = p / kRoutingBlock * dimension + d;
        kernel.low[at] = std::min(kernel.low[at], f);
        kernel.high[at] = std::max(kernel.high[at], f);
      }
    }
    constexpr float kLeastLog = -1e4F;
    for (const float scale : kernel.scale)
      kernel.log_scale.push_back(scale > 0.0F ? std::log(scale) : kLeastLog);
    for (std::size_t n = 0; n < kernel.low.size(); ++n)
      kernel.centre.push_back(0.5F * (kernel.low[n] + kernel.high[n]));
    kernel.radius.assign(blocks, 0.0F);
    for (std::size_t p = 0; p < size; ++p) {
      float squared = 0.0F;
      for (std::size_t d = 0; d < dimension; ++d) {
        const float x = kernel.coordinates[d * kernel.stride + kRoom + p] -
                        kernel.centre[p / kRoutingBlock * dimension + d];
        squared += x * x;
      }
      float& radius = kernel.radius[p / kRoutingBlock];
      radius = std::max(radius, std::sqrt(squared));
    }
    placed.push_back(std::move(kernel));
  }
  return placed;
}

}  // namespace submarine::internal
