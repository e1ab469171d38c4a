// The costs, and their kernels on every instruction set, against their definitions.
#include "submarine/stereo/semi_global/census_difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "submarine/base/simd/simd_test_util.h"
#include "submarine/stereo/semi_global/cost_kernels.h"
#include "submarine/stereo/semi_global/semi_global_test_util.h"

namespace submarine::internal {
namespace {

// The plain forms, which the kernels are compared with.
namespace scalar {

void CompareRow(const CostRow& row) {
  for (int x = 0; x < row.width; ++x) {
    for (int k = 0; k < static_cast<int>(row.stride); ++k) {
      std::uint16_t& cost = row.costs[static_cast<std::size_t>(x) * row.stride + k];
      cost = k < row.disparities ? row.outside : kPaddingCost;
      if (k >= row.disparities || k > x) continue;
      const int reversed = row.width - 1 - (x - k);
      int difference = 0;
      for (int c = 0; c < row.channels; ++c)
        difference += std::abs(int{row.left[c][x]} - int{row.right[c][reversed]});
      const int bits = std::popcount(row.left_census[x] ^ row.right_census[reversed]);
      cost = static_cast<std::uint16_t>(row.by_bits[bits] + row.by_difference[difference]);
    }
  }
}

void CensusOfRow(const float* grey, int width, int height, int y, std::uint64_t* words) {
  const auto at = [&](int column, int row) {
    return grey[static_cast<std::size_t>(std::clamp(row, 0, height - 1)) * width +
                std::clamp(column, 0, width - 1)];
  };
  for (int x = 0; x < width; ++x) {
    words[x] = 0;
    for (int dy = -3; dy <= 3; ++dy) {
      for (int dx = -4; dx <= 4; ++dx) {
        if (dx != 0 || dy != 0) words[x] = 2 * words[x] + (at(x + dx, y + dy) < at(x, y) ? 1 : 0);
      }
    }
  }
}

}  // namespace scalar

using testing::ForEachTarget;
using testing::RandomPair;

std::vector<float> Grey(const StereoView& view) {
  std::vector<float> grey(view.samples.size() / static_cast<std::size_t>(view.channels));
  for (std::size_t a = 0; a < view.samples.size(); ++a)
    grey[a / static_cast<std::size_t>(view.channels)] += view.samples[a];
  return grey;
}

TEST(CensusDifference, IsItsFormula) {
  const CensusDifferenceOptions options;
  for (const int channels : {1, 3}) {
    for (const auto& [width, height, disparities] :
         {std::array{1, 1, 3}, std::array{19, 7, 5}, std::array{11, 13, 40}}) {
      const RandomPair pair(width, height, channels, 2, 5);
      const std::vector<float> left = Grey(pair.left);
      const std::vector<float> right = Grey(pair.right);
      const auto w = static_cast<std::size_t>(width);
      const auto census = [&](const std::vector<float>& grey, int y) {
        std::vector<std::uint64_t> words(w);
        scalar::CensusOfRow(grey.data(), width, height, y, words.data());
        return words;
      };
      const CostVolume costs = CensusDifference(pair.left, pair.right, disparities, options);
      for (int y = 0; y < height; ++y) {
        const std::vector<std::uint64_t> l = census(left, y);
        const std::vector<std::uint64_t> r = census(right, y);
        for (int x = 0; x < width; ++x) {
          for (int k = 0; k < disparities; ++k) {
            double expected = options.outside;
            if (k <= x) {
              double difference = 0.0;
              for (int c = 0; c < channels; ++c) {
                const auto at = [&](int column) {
                  return (static_cast<std::size_t>(y) * w + static_cast<std::size_t>(column)) *
                             static_cast<std::size_t>(channels) +
                         static_cast<std::size_t>(c);
                };
                difference += std::abs(pair.left.samples[at(x)] - pair.right.samples[at(x - k)]);
              }
              const int bits = std::popcount(l[static_cast<std::size_t>(x)] ^
                                             r[static_cast<std::size_t>(x - k)]);
              expected = 1.0 - std::exp(-bits / options.census_scale) +
                         options.difference_weight *
                             (1.0 - std::exp(-difference / channels / options.difference_scale));
            }
            // Two numbers are rounded.
            ASSERT_NEAR(costs.at(x, y)[static_cast<std::size_t>(k)], kCostUnit * expected, 1.0)
                << x << ", " << y << ", " << k;
          }
        }
      }
    }
  }
}

TEST(CensusOfRow, IsItsDefinition) {
  ForEachTarget([] {
    for (const auto& [width, height] : {std::pair(1, 1), std::pair(23, 9), std::pair(5, 2)}) {
      const RandomPair pair(width, height, 1, 0, 6);
      std::vector<std::uint64_t> words(static_cast<std::size_t>(width));
      std::vector<std::uint64_t> expected(words.size());
      for (int y = 0; y < height; ++y) {
        CensusOfRow(pair.left.samples.data(), width, height, y, words.data());
        scalar::CensusOfRow(pair.left.samples.data(), width, height, y, expected.data());
        EXPECT_EQ(words, expected);
      }
    }
  });
}

TEST(CompareRow, IsItsDefinition) {
  ForEachTarget([] {
    for (const int channels : {1, 3}) {
      std::mt19937 random(7);
      const int width = 37;
      std::vector<std::uint64_t> census(2 * static_cast<std::size_t>(width));
      for (std::uint64_t& word : census) word = (std::uint64_t{random()} << 31) ^ random();
      std::vector<std::uint8_t> samples(2 * 3 * static_cast<std::size_t>(width));
      for (std::uint8_t& sample : samples) sample = static_cast<std::uint8_t>(random());
      std::vector<std::uint16_t> by_bits(kMostDifferingBits + 1);
      std::vector<std::uint16_t> by_difference(kMostDifference + 1);
      for (std::uint16_t& cost : by_bits) cost = static_cast<std::uint16_t>(random() % 2000);
      for (std::uint16_t& cost : by_difference) cost = static_cast<std::uint16_t>(random() % 2000);
      CostRow row{.width = width, .channels = channels, .disparities = 21, .stride = 32};
      row.left_census = census.data();
      row.right_census = census.data() + width;
      for (std::size_t c = 0; c < 3; ++c) {
        row.left[c] = samples.data() + c * width;
        row.right[c] = samples.data() + (3 + c) * width;
      }
      row.by_bits = by_bits.data();
      row.by_difference = by_difference.data();
      row.outside = 600;
      std::vector<std::uint16_t> costs(static_cast<std::size_t>(width) * row.stride);
      std::vector<std::uint16_t> expected(costs.size());
      row.costs = costs.data();
      CompareRow(row);
      row.costs = expected.data();
      scalar::CompareRow(row);
      EXPECT_EQ(costs, expected);
    }
  });
}

}  // namespace
}  // namespace submarine::internal
