#include "submarine/solver/routed/deletion_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace submarine::internal {
namespace {

using Found = std::vector<std::pair<float, std::uint32_t>>;

// All that are left, nearest first; equal distances are ordered by index.
Found BruteForce(const Matrix<float>& points, const std::vector<char>& removed, std::uint32_t a) {
  Found found;
  for (std::uint32_t b = 0; b < points.rows(); ++b) {
    if (b == a || removed[b] != 0) continue;
    float squared = 0.0F;
    for (std::size_t d = 0; d < points.cols(); ++d) {
      const float apart = points(b, d) - points(a, d);
      squared += apart * apart;
    }
    found.emplace_back(squared, b);
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(DeletionTreeTest, FindsWhatComparingAllFindsWhilePointsAreTakenAway) {
  std::mt19937 random(41);
  for (int trial = 0; trial < 40; ++trial) {
    const std::size_t n = 2 + random() % 120;
    Matrix<float> points(n, 1 + random() % 5);
    // Coarse coordinates, so that many points are equal or equally far.
    for (std::size_t k = 0; k < points.size(); ++k)
      points.data()[k] = static_cast<float>(random() % (trial % 2 == 0 ? 4 : 1000));
    DeletionTree tree(points);
    std::vector<char> removed(n, 0);
    for (std::size_t left = n; left > 1; --left) {
      auto a = static_cast<std::uint32_t>(random() % n);
      while (removed[a] != 0) a = (a + 1) % static_cast<std::uint32_t>(n);
      tree.Remove(a);
      removed[a] = 1;
      Found expected = BruteForce(points, removed, a);
      ASSERT_EQ(tree.Nearest(a, 1).front().first, expected.front().first);
      ASSERT_EQ(removed[tree.Nearest(a)], 0);
      // Of this point, or of another one, which may be left: it is not its own neighbour.
      const std::size_t count = 1 + random() % 9;
      if (random() % 2 == 0) {
        a = static_cast<std::uint32_t>(random() % n);
        expected = BruteForce(points, removed, a);
      }
      Found found = tree.Nearest(a, count);
      std::sort(found.begin(), found.end());
      ASSERT_EQ(found.size(), std::min(count, expected.size()));
      for (std::size_t k = 0; k < found.size(); ++k)
        ASSERT_EQ(found[k].first, expected[k].first) << "neighbour " << k << " of trial " << trial;
    }
  }
}

TEST(DeletionTreeTest, SquaredDistancesMayOverflow) {
  Matrix<float> points(20, 2);
  for (std::size_t k = 0; k < points.size(); ++k)
    points.data()[k] = (k % 3 == 0 ? -1.0F : 1.0F) * 3e38F;
  DeletionTree tree(points);
  for (std::uint32_t a = 0; a + 1 < 20; ++a) {
    tree.Remove(a);
    EXPECT_GT(tree.Nearest(a), a);
  }
}

}  // namespace
}  // namespace submarine::internal
