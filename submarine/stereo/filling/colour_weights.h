// How much a pixel counts for another, by their colours.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "submarine/stereo/matching_cost.h"

namespace submarine::internal {

// exp(-d / scale), d the mean over channels of |difference|, in whole numbers: kOne is 1. So sums are exact,
// whatever their order.
class ColourWeights {
 public:
  static constexpr int kOne = 65536;
  static constexpr std::size_t kMostChannels = 3;

  // Of the pixels in every step-th row and column.
  ColourWeights(const StereoView& view, double scale, int step = 1);

  // How much `count` pixels from `first` on count for pixel `a` of the view; pixels are counted among every
  // step-th of a row, and of those rows.
  void OfRun(std::size_t a, std::size_t first, std::size_t count, int* weights) const;

 private:
  const float* samples_;
  std::size_t channels_;
  std::array<std::vector<float>, kMostChannels> planes_;
  std::vector<int> weights_;
};

}  // namespace submarine::internal
