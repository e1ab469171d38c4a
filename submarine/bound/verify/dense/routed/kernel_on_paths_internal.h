// A kernel in the order of the positions on paths, for the verifier of dense routed bounds; not for use elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "submarine/model/dense_crf.h"

namespace submarine::internal {

// One kernel in the order of the positions on the paths, with padding on both sides, whose scales
// are 0.
struct KernelOnPaths {
  std::vector<double> features;  // dimension x stride
  std::vector<double> scale;
  std::vector<double> log_scale;
  std::size_t stride = 0;
  std::size_t dimension = 0;
  double factor = 0.0;
  double excess = 0.0;  // by which share the true factor may be larger
  double feature_error = 0.0;
  std::vector<double> low;  // boxes of the blocks, blocks x dimension
  std::vector<double> high;
  std::vector<double> centre;  // of the boxes, and how far they reach from it at most
  std::vector<double> reach;
  std::vector<double> radius;  // of the blocks around it
  bool is_moderate = false;    // factor and scales: products stay within the range of doubles

  // Between any two positions of two blocks, at least.
  double LeastSquared(std::size_t row, std::size_t column) const {
    double squared = 0.0;
    for (std::size_t d = 0; d < dimension; ++d) {
      const double apart = std::max({0.0, low[row * dimension + d] - high[column * dimension + d],
                                     low[column * dimension + d] - high[row * dimension + d]});
      squared += apart * apart;
    }
    return squared;
  }
  // At least the largest |x.y| of a square, x and y the distances from the centres of its two blocks.
  double LargestCross(std::size_t row, std::size_t column) const;
};

KernelOnPaths PlaceKernel(const DenseCrf& model, const GaussianKernel& kernel,
                          const std::vector<std::uint32_t>& order);

}  // namespace submarine::internal
