// The kernels of a dense model in the order of the positions on paths, and the blocks of these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "submarine/extension/routing.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

// Beyond either end of arrays over positions.
inline constexpr std::size_t kRoom = 48;
static_assert(kRoom >= kRoutingBlock + 2 * static_cast<std::size_t>(kMaxBandwidth));

inline std::size_t NumBlocks(std::size_t positions) {
  return (positions + kRoutingBlock - 1) / kRoutingBlock;
}

struct ReorderedKernel {
  std::vector<float> coordinates;  // dimension x stride, that of position 0 at kRoom
  std::size_t stride = 0;
  std::size_t dimension = 0;
  std::vector<float> scale;      // with the root of the weight; 0 beyond the ends
  std::vector<float> log_scale;  // far below 0 there
  // Of the blocks: boxes (blocks x dimension), their centres, and the distance of the farthest position from them.
  std::vector<float> low;
  std::vector<float> high;
  std::vector<float> centre;
  std::vector<float> radius;

  float LeastSquared(std::size_t row, std::size_t column) const {
    float squared = 0.0F;
    for (std::size_t d = 0; d < dimension; ++d) {
      const float apart = std::max({0.0F, low[row * dimension + d] - high[column * dimension + d],
                                    low[column * dimension + d] - high[row * dimension + d]});
      squared += apart * apart;
    }
    return squared;
  }
  // exp(|c_row - c_column|^2 / 2).
  float CentreScale(std::size_t row, std::size_t column) const;
  // The largest |x.y| of a square.
  float LargestCross(std::size_t row, std::size_t column) const;
};

// Kernels with a positive weight.
std::vector<ReorderedKernel> ReorderKernels(const DenseCrf& model, const RoutedPaths& paths);

// Whether products take the place of the kernel in a square (extension/routing.h).
inline bool IsProduct(const ReorderedKernel& kernel, std::size_t row, std::size_t column,
                      double product_limit) {
  return product_limit > 0.0 && column > row + 1 &&
         kernel.radius[row] + kernel.radius[column] <= static_cast<float>(kMostRadii) &&
         kernel.LargestCross(row, column) <= static_cast<float>(product_limit);
}

}  // namespace submarine::internal
