#include "submarine/stereo/match/semi_global.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/stereo/semi_global/semi_global_test_util.h"

namespace submarine::internal {
namespace {

using testing::RandomPair;

// A wall of disparity 4 with noise for texture, and a square of disparity 10 before it.
struct Wall {
  static constexpr int kWidth = 120;
  static constexpr int kHeight = 60;

  Wall() : left(Size()), right(Size()) {
    std::mt19937 random(1);
    std::vector<float> wall(Size());
    for (float& v : wall) v = static_cast<float>(random() % 256);
    const auto at = [](int x, int y) { return static_cast<std::size_t>(y) * kWidth + x; };
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        left[at(x, y)] = wall[at(x, y)];
        right[at(x, y)] = wall[at(std::min(x + 4, kWidth - 1), y)];
      }
    }
    for (int y = 20; y < 40; ++y) {
      for (int x = 60; x < 90; ++x) {
        left[at(x, y)] = right[at(x - 10, y)] = static_cast<float>(random() % 256);
      }
    }
  }
  static std::size_t Size() { return std::size_t{kWidth} * kHeight; }
  StereoView Left() const { return {kWidth, kHeight, 1, left}; }
  StereoView Right() const { return {kWidth, kHeight, 1, right}; }

  std::vector<float> left;
  std::vector<float> right;
};

TEST(MatchSemiGlobal, FindsASquareBeforeAWall) {
  const Wall wall;
  const SemiGlobalMatch match = MatchSemiGlobal(wall.Left(), wall.Right(), 16, {});
  int wrong = 0;
  int hidden = 0;
  for (int y = 0; y < Wall::kHeight; ++y) {
    for (int x = 0; x < Wall::kWidth; ++x) {
      const std::size_t a = static_cast<std::size_t>(y) * Wall::kWidth + x;
      const bool square = y >= 20 && y < 40 && x >= 60 && x < 90;
      wrong += std::abs(match.disparities[a] - (square ? 10.0F : 4.0F)) > 0.5F ? 1 : 0;
      // The wall beside the square, which the right view sees behind it.
      if (y >= 22 && y < 38 && x >= 55 && x < 60) hidden += match.visible[a] == 0 ? 1 : 0;
    }
  }
  EXPECT_LT(wrong, 0.02 * Wall::kWidth * Wall::kHeight);
  EXPECT_GT(hidden, 60);  // of 80
}

TEST(MatchSemiGlobal, DoesNotDependOnThreads) {
  const Wall wall;
  const SemiGlobalMatch match = MatchSemiGlobal(wall.Left(), wall.Right(), 16, {});
  const ThreadLimit one(1);
  const SemiGlobalMatch again = MatchSemiGlobal(wall.Left(), wall.Right(), 16, {});
  EXPECT_EQ(match.disparities, again.disparities);
  EXPECT_EQ(match.visible, again.visible);
}

TEST(MatchSemiGlobal, TakesViewsOfAnySize) {
  for (const auto& [width, height, channels, disparities] :
       {std::array{2, 1, 1, 2}, std::array{3, 50, 3, 3}, std::array{70, 1, 3, 70},
        std::array{65, 3, 1, 40}, std::array{130, 5, 3, 2}}) {
    const RandomPair pair(width, height, channels, 1, 8);
    const SemiGlobalMatch match = MatchSemiGlobal(pair.left, pair.right, disparities, {});
    ASSERT_EQ(match.disparities.size(), static_cast<std::size_t>(width) * height);
    for (const float d : match.disparities) {
      EXPECT_GE(d, 0.0F);
      EXPECT_LE(d, static_cast<float>(disparities) + 20.0F);
    }
  }
}

// Of constant views nothing is known; samples may be outside of 0 to 255, too.
TEST(MatchSemiGlobal, GivesNumbersForStrangeViews) {
  for (const float value : {0.0F, -1e30F, 1e30F, std::numeric_limits<float>::max()}) {
    std::vector<float> samples(40 * 30 * 3, value);
    samples[1000] = -value;
    const StereoView view{40, 30, 3, samples};
    for (const float d : MatchSemiGlobal(view, view, 12, {}).disparities)
      EXPECT_TRUE(std::isfinite(d));
  }
}

TEST(MatchSemiGlobal, RefusesBadInput) {
  const RandomPair pair(20, 10, 3, 1, 9);
  const RandomPair other(21, 10, 3, 1, 9);
  EXPECT_THROW(MatchSemiGlobal(pair.left, other.right, 8, {}), InvalidInput);
  EXPECT_THROW(MatchSemiGlobal(pair.left, pair.right, 1, {}), InvalidInput);
  EXPECT_THROW(MatchSemiGlobal(pair.left, pair.right, 21, {}), InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
