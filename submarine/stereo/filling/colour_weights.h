// How much a pixel counts for another, by their colours.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "submarine/stereo/matching_cost.h"

namespace submarine::internal {

// exp(-d / scale), d the mean over channels of |difference|, in whole numbers: kOne is 1. So sums are exact,
// whatever their order.
class ColourWeights {
 public:
  static constexpr int kOne = 65536;

  ColourWeights(const StereoView& view, double scale)
      : samples_(view.samples.data()),
        channels_(static_cast<std::size_t>(view.channels)),
        largest_(255.0F * static_cast<float>(view.channels)) {
    for (int n = 0; n <= 255 * view.channels; ++n) {
      weights_.push_back(
          static_cast<int>(std::lround(kOne * std::exp(-n / (scale * view.channels)))));
    }
  }

  int Of(std::size_t a, std::size_t b) const {
    float difference = 0.5F;
    for (std::size_t c = 0; c < channels_; ++c)
      difference += std::abs(samples_[a * channels_ + c] - samples_[b * channels_ + c]);
    return weights_[static_cast<std::size_t>(std::min(difference, largest_))];
  }

 private:
  const float* samples_;
  std::size_t channels_;
  float largest_;
  std::vector<int> weights_;
};

}  // namespace submarine::internal
