// Random pairs of views for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "submarine/stereo/matching_cost.h"

namespace submarine::internal::testing {

struct RandomPair {
  // Patches of constant colour with noise, so that there are steps and ties; the right view is the left
  // one moved by `shift`.
  RandomPair(int width, int height, int channels, int shift, std::uint32_t seed)
      : left_(Size(width, height, channels)),
        right_(left_.size()),
        left{width, height, channels, left_},
        right{width, height, channels, right_} {
    std::mt19937 random(seed);
    const auto c = static_cast<std::size_t>(channels);
    for (std::size_t a = 0; a < left_.size(); ++a) {
      const auto pixel = static_cast<int>(a / c);
      const int patch = (pixel % width / 5) * 7 + (pixel / width / 4) * 13;
      left_[a] = static_cast<float>(
          std::clamp(60 + 45 * (patch % 4) + static_cast<int>(random() % 25) - 12, 0, 255));
    }
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        for (std::size_t k = 0; k < c; ++k) {
          const int from = std::min(x + shift, width - 1);
          right_[(static_cast<std::size_t>(y) * width + x) * c + k] =
              left_[(static_cast<std::size_t>(y) * width + from) * c + k];
        }
      }
    }
  }
  RandomPair(const RandomPair&) = delete;
  RandomPair& operator=(const RandomPair&) = delete;

  static std::size_t Size(int width, int height, int channels) {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(height) *
           static_cast<std::size_t>(channels);
  }

 private:
  std::vector<float> left_;
  std::vector<float> right_;

 public:
  StereoView left;
  StereoView right;
};

}  // namespace submarine::internal::testing
