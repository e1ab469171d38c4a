// The sums, and the kernel of a row on every instruction set, against their definitions.
#include "submarine/stereo/semi_global/path_sums.h"

#include <gtest/gtest.h>

#include "submarine/base/parallel.h"
#include "submarine/base/simd/simd_test_util.h"
#include "submarine/stereo/semi_global/best_disparities.h"
#include "submarine/stereo/semi_global/census_difference.h"
#include "submarine/stereo/semi_global/semi_global_test_util.h"

namespace submarine::internal {
namespace {

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
