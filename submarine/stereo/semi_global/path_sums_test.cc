// The sums, and the kernel of a row on every instruction set, against their definitions.
#include "submarine/stereo/semi_global/path_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/base/simd/simd_test_util.h"
#include "submarine/stereo/semi_global/best_disparities.h"
#include "submarine/stereo/semi_global/census_difference.h"
#include "submarine/stereo/semi_global/path_kernels.h"
#include "submarine/stereo/semi_global/semi_global_test_util.h"

namespace submarine::internal {
namespace {

// The plain forms, which the kernels are compared with.
namespace scalar {

std::uint16_t Units(double penalty) {
  return static_cast<std::uint16_t>(std::lround(penalty * kCostUnit));
}

std::array<PathPenalties, 2> Penalties(const PathOptions& options) {
  const auto divided = [&](double by, double by_at_step) {
    return PathPenalties{Units(options.one / by), Units(options.more / by),
                         Units(options.one / by_at_step), Units(options.more / by_at_step)};
  };
  return {divided(1.0, options.one_view), divided(options.one_view, options.both_views)};
}

bool HasStep(const StereoView& view, int x, int y, int x2, int y2, float step) {
  if (x2 < 0 || x2 >= view.width || y2 < 0 || y2 >= view.height) return false;
  const auto at = [&](int column, int row) {
    return view.samples.data() + (static_cast<std::size_t>(row) * view.width + column) *
                                     static_cast<std::size_t>(view.channels);
  };
  const float* a = at(x, y);
  const float* b = at(x2, y2);
  for (int c = 0; c < view.channels; ++c) {
    if (std::abs(a[c] - b[c]) >= step) return true;
  }
  return false;
}

CostVolume PathSums(const CostVolume& costs, const StereoView& left, const StereoView& right,
                    const PathOptions& options) {
  const std::array<PathPenalties, 2> penalties = Penalties(options);
  const int width = costs.width;
  const int height = costs.height;
  std::vector<int> totals(costs.cells.size(), 0);
  for (int dx = -1; dx <= 1; ++dx) {
    for (int dy = -1; dy <= 1; ++dy) {
      if (dx == 0 && dy == 0) continue;
      CostVolume path(width, height, costs.disparities);
      // In the direction of the path, so that the pixel before is done first.
      for (int i = 0; i < height; ++i) {
        const int y = dy > 0 ? height - 1 - i : i;
        for (int j = 0; j < width; ++j) {
          const int x = dx > 0 ? width - 1 - j : j;
          const int x2 = x + dx;
          const int y2 = y + dy;
          const bool first = x2 < 0 || x2 >= width || y2 < 0 || y2 >= height;
          const PathPenalties& penalty =
              penalties[HasStep(left, x, y, x2, y2, options.step) ? 1 : 0];
          for (int k = 0; k < costs.disparities; ++k) {
            const auto kk = static_cast<std::size_t>(k);
            int least = 0;
            int best = 0;
            if (!first) {
              const bool step = x - k >= 0 && HasStep(right, x - k, y, x2 - k, y2, options.step);
              const auto before =
                  path.at(x2, y2).first(static_cast<std::size_t>(costs.disparities));
              least = *std::min_element(before.begin(), before.end());
              best =
                  std::min(int{before[kk]}, least + (step ? penalty.more_at_step : penalty.more));
              const int one = step ? penalty.one_at_step : penalty.one;
              if (k > 0) best = std::min(best, before[kk - 1] + one);
              if (k + 1 < costs.disparities) best = std::min(best, before[kk + 1] + one);
            }
            path.at(x, y)[kk] =
                static_cast<std::uint16_t>(std::min(costs.at(x, y)[kk] + best - least, 65535));
            totals[costs.Pixel(x, y) * costs.stride() + kk] += path.at(x, y)[kk];
          }
        }
      }
    }
  }
  CostVolume sums(width, height, costs.disparities);
  for (std::size_t a = 0; a < sums.cells.rows(); ++a) {
    for (std::size_t k = 0; k < sums.stride(); ++k) {
      sums.cells(a, k) =
          k < static_cast<std::size_t>(costs.disparities)
              ? static_cast<std::uint16_t>(std::min(totals[a * sums.stride() + k], 65535))
              : kPaddingCost;
    }
  }
  return sums;
}

BestDisparities FindBest(const CostVolume& sums) {
  const std::size_t pixels = sums.cells.rows();
  BestDisparities best{std::vector<int>(pixels), std::vector<int>(pixels)};
  for (int y = 0; y < sums.height; ++y) {
    for (int x = 0; x < sums.width; ++x) {
      const auto costs = sums.at(x, y).first(static_cast<std::size_t>(sums.disparities));
      best.left[sums.Pixel(x, y)] =
          static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin());
      int least = kPaddingCost;
      for (int k = 0; k < sums.disparities && x + k < sums.width; ++k) {
        const int cost = sums.at(x + k, y)[static_cast<std::size_t>(k)];
        if (cost >= least) continue;
        least = cost;
        best.right[sums.Pixel(x, y)] = k;
      }
    }
  }
  return best;
}

}  // namespace scalar

using testing::ForEachTarget;
using testing::RandomPair;

struct Size {
  int width;
  int height;
  int channels;
  int disparities;
};
// Odd ones, single pixels, and more disparities than columns.
constexpr Size kSizes[] = {{1, 1, 1, 2},   {1, 7, 3, 5},    {9, 1, 3, 20}, {13, 11, 1, 16},
                           {17, 9, 3, 17}, {40, 23, 3, 33}, {31, 8, 1, 70}};

void ExpectSame(const CostVolume& a, const CostVolume& b) {
  ASSERT_EQ(a.cells.rows(), b.cells.rows());
  for (std::size_t row = 0; row < a.cells.rows(); ++row) {
    for (int k = 0; k < a.disparities; ++k)
      ASSERT_EQ(a.cells(row, static_cast<std::size_t>(k)),
                b.cells(row, static_cast<std::size_t>(k)))
          << "pixel " << row << ", disparity " << k;
  }
}

TEST(PathSums, AreTheirDefinition) {
  ForEachTarget([] {
    for (const Size& size : kSizes) {
      const RandomPair pair(size.width, size.height, size.channels, 3, 1);
      const CostVolume costs = CensusDifference(pair.left, pair.right, size.disparities, {});
      ExpectSame(PathSums(costs, pair.left, pair.right, {}),
                 scalar::PathSums(costs, pair.left, pair.right, {}));
    }
  });
}

TEST(PathSums, DoNotDependOnThreads) {
  const RandomPair pair(40, 30, 3, 4, 2);
  const CostVolume costs = CensusDifference(pair.left, pair.right, 12, {});
  const CostVolume sums = PathSums(costs, pair.left, pair.right, {});
  const ThreadLimit one(1);
  ExpectSame(PathSums(costs, pair.left, pair.right, {}), sums);
}

// Without penalties, every path is the cost of its last pixel plus nothing.
TEST(PathSums, OfFreeChangesAreEightTimesTheCosts) {
  const RandomPair pair(12, 9, 1, 2, 3);
  const CostVolume costs = CensusDifference(pair.left, pair.right, 6, {});
  const CostVolume sums = PathSums(costs, pair.left, pair.right, {.one = 0.0, .more = 0.0});
  for (std::size_t a = 0; a < costs.cells.rows(); ++a) {
    for (std::size_t k = 0; k < 6; ++k) EXPECT_EQ(sums.cells(a, k), 8 * costs.cells(a, k));
  }
}

TEST(BestDisparities, AreTheirDefinition) {
  ForEachTarget([] {
    for (const Size& size : kSizes) {
      const RandomPair pair(size.width, size.height, size.channels, 3, 4);
      const CostVolume sums = PathSums(
          CensusDifference(pair.left, pair.right, size.disparities, {}), pair.left, pair.right, {});
      const BestDisparities best = FindBest(sums);
      const BestDisparities expected = scalar::FindBest(sums);
      EXPECT_EQ(best.left, expected.left);
      EXPECT_EQ(best.right, expected.right);
    }
  });
}

}  // namespace
}  // namespace submarine::internal
