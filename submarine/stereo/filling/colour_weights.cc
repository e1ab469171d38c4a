#include "submarine/stereo/filling/colour_weights.h"

#include <cmath>

#include "submarine/base/simd/wide_registers.h"

namespace submarine::internal {
namespace {

SUBMARINE_FOR_WIDE_REGISTERS
void WeighThree(const float* __restrict first, const float* __restrict second,
                const float* __restrict third, const float* own, std::size_t count, float largest,
                const int* __restrict table, int* __restrict weights) {
  const float own_first = own[0];
  const float own_second = own[1];
  const float own_third = own[2];
  for (std::size_t b = 0; b < count; ++b) {
    float difference = 0.5F;
    difference += std::abs(own_first - first[b]);
    difference += std::abs(own_second - second[b]);
    difference += std::abs(own_third - third[b]);
    weights[b] = static_cast<int>(difference < largest ? difference : largest);
  }
  for (std::size_t b = 0; b < count; ++b) weights[b] = table[weights[b]];
}

SUBMARINE_FOR_WIDE_REGISTERS
void WeighOne(const float* __restrict plane, float own, std::size_t count, float largest,
              const int* __restrict table, int* __restrict weights) {
  for (std::size_t b = 0; b < count; ++b) {
    const float difference = 0.5F + std::abs(own - plane[b]);
    weights[b] = static_cast<int>(difference < largest ? difference : largest);
  }
  for (std::size_t b = 0; b < count; ++b) weights[b] = table[weights[b]];
}

}  // namespace

ColourWeights::ColourWeights(const StereoView& view, double scale, int step)
    : samples_(view.samples.data()), channels_(static_cast<std::size_t>(view.channels)) {
  const auto width = static_cast<std::size_t>(view.width);
  for (std::size_t c = 0; c < channels_; ++c) {
    for (std::size_t y = 0; y < static_cast<std::size_t>(view.height);
         y += static_cast<std::size_t>(step)) {
      for (std::size_t x = 0; x < width; x += static_cast<std::size_t>(step))
        planes_[c].push_back(samples_[(y * width + x) * channels_ + c]);
    }
  }
  for (int n = 0; n <= 255 * view.channels; ++n) {
    weights_.push_back(
        static_cast<int>(std::lround(kOne * std::exp(-n / (scale * view.channels)))));
  }
}

void ColourWeights::OfRun(std::size_t a, std::size_t first, std::size_t count, int* weights) const {
  const auto largest = static_cast<float>(weights_.size() - 1);
  const float* own = samples_ + a * channels_;
  if (channels_ == 1) {
    WeighOne(planes_[0].data() + first, own[0], count, largest, weights_.data(), weights);
  } else {
    WeighThree(planes_[0].data() + first, planes_[1].data() + first, planes_[2].data() + first, own,
               count, largest, weights_.data(), weights);
  }
}

}  // namespace submarine::internal
