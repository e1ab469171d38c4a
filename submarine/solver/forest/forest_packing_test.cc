#include "submarine/solver/forest/forest_packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

std::vector<Link> GridLinks(int width, int height, int connectivity) {
  std::vector<Link> links;
  for (const Edge& e : GridEdges(width, height, connectivity, 1.0)) links.push_back({e.a, e.b});
  return links;
}

std::vector<Link> Complete(int variables) {
  std::vector<Link> links;
  for (int a = 0; a < variables; ++a) {
    for (int b = a + 1; b < variables; ++b) links.push_back({a, b});
  }
  return links;
}

TEST(ForestPacking, DetectsGrids) {
  for (int width : {2, 3, 7}) {
    for (int height : {2, 5}) {
      const auto grid = DetectGrid(GridLinks(width, height, 4), width * height);
      ASSERT_TRUE(grid.has_value());
      EXPECT_EQ(grid->connectivity, 4);
      EXPECT_EQ(grid->width, width);
    }
  }
  const auto diagonal = DetectGrid(GridLinks(5, 4, 8), 20);
  ASSERT_TRUE(diagonal.has_value());
  EXPECT_EQ(diagonal->connectivity, 8);
  EXPECT_EQ(diagonal->width, 5);
  EXPECT_FALSE(DetectGrid(Complete(6), 6).has_value());
  std::vector<Link> wrapped = GridLinks(4, 3, 4);
  wrapped.push_back({3, 4});  // from the end of one row to the beginning of the next
  EXPECT_FALSE(DetectGrid(wrapped, 12).has_value());
  std::vector<Link> twice = GridLinks(4, 3, 4);
  twice.push_back(twice.front());
  EXPECT_FALSE(DetectGrid(twice, 12).has_value());
}

TEST(ForestPacking, DirectionsArePartsOfTheGrid) {
  for (int connectivity : {4, 8}) {
    const std::vector<Link> links = GridLinks(5, 4, connectivity);
    const auto directions = GridDirections(links, *DetectGrid(links, 20));
    ASSERT_EQ(directions.size(), static_cast<std::size_t>(connectivity / 2));
    std::size_t total = 0;
    for (const auto& edges : directions) {
      CheckForest(edges, links, 20);
      total += edges.size();
    }
    EXPECT_EQ(total, links.size());
    EXPECT_EQ(directions[0].size(), 16u);  // rows
    EXPECT_EQ(directions[1].size(), 15u);  // columns
  }
}

TEST(ForestPacking, MaximumSpanningForestIsMaximal) {
  const std::vector<Link> links = {{0, 1}, {1, 2}, {2, 0}, {3, 4}};
  EXPECT_EQ(MaximumSpanningForest(links, 5, std::vector<double>{1.0, 3.0, 2.0, -1.0}),
            (std::vector<std::size_t>{1, 2, 3}));
}

TEST(ForestPacking, CoveringForestsHoldEveryEdge) {
  std::mt19937_64 rng(3);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<Link> links = Complete(static_cast<int>(2 + rng() % 8));
    std::shuffle(links.begin(), links.end(), rng);
    links.resize(1 + rng() % links.size());
    const auto forests = CoveringForests(links, 9, rng());
    CheckForests(forests, links, 9);
    for (double rho : EdgeProbabilities(forests, links.size())) EXPECT_GT(rho, 0.0);
  }
  const auto tree = CoveringForests(std::vector<Link>{{0, 1}, {1, 2}}, 3, 1);
  ASSERT_EQ(tree.size(), 1u);
  EXPECT_EQ(tree[0].weight, 1.0);
  EXPECT_EQ(CoveringForests({}, 3, 1).size(), 1u);
}

}  // namespace
}  // namespace submarine::internal
