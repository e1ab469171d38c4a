#include "submarine/model/forest.h"

#include <gtest/gtest.h>

#include <cmath>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

const std::vector<Link> kSquare = {{0, 1}, {2, 1}, {2, 3}, {3, 0}};

TEST(Forest, LinksFollowTheModelsNumbering) {
  const FactorGraph graph{{2, 2, 2},
                          {{{0}, {0, 0}}, {{2, 1}, {0, 0, 0, 0}}, {{0, 1}, {0, 0, 0, 0}}}};
  const std::vector<Link> links = Links(graph);
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].a, 2);
  EXPECT_EQ(links[0].b, 1);
  EXPECT_EQ(links[1].a, 0);
}

TEST(Forest, RefusesCyclesUnknownEdgesAndWrongWeights) {
  EXPECT_THROW(CheckForest(std::vector<std::size_t>{0, 1, 2, 3}, kSquare, 4), InvalidInput);
  EXPECT_THROW(CheckForest(std::vector<std::size_t>{1, 1}, kSquare, 4), InvalidInput);
  EXPECT_THROW(CheckForest(std::vector<std::size_t>{4}, kSquare, 4), InvalidInput);
  const auto check = [](std::vector<WeightedForest> forests) { CheckForests(forests, kSquare, 4); };
  EXPECT_NO_THROW(check({{0.5, {0, 1, 2}}, {0.5, {}}}));
  EXPECT_THROW(check({}), InvalidInput);
  EXPECT_THROW(check({{0.9, {0}}}), InvalidInput);
  EXPECT_THROW(check({{1.5, {0}}, {-0.5, {1}}}), InvalidInput);
  EXPECT_THROW(check({{std::nan(""), {0}}}), InvalidInput);
}

TEST(Forest, ProbabilitiesAddUpOverForests) {
  const std::vector<WeightedForest> forests = {{0.25, {0, 1}}, {0.5, {1}}, {0.25, {}}};
  EXPECT_EQ(EdgeProbabilities(forests, 3), (std::vector<double>{0.25, 0.75, 0.0}));
}

TEST(Forest, RootedVisitsParentsFirstAndEveryVariableOnce) {
  const std::vector<Link> links = {{1, 0}, {1, 2}, {4, 3}};
  const RootedForest rooted = Rooted(std::vector<std::size_t>{0, 1, 2}, links, 6);
  ASSERT_EQ(rooted.nodes.size(), 6u);
  EXPECT_EQ(rooted.component, (std::vector<std::size_t>{0, 3, 5, 6}));
  std::vector<char> seen(6, 0);
  for (const RootedForest::Node& node : rooted.nodes) {
    EXPECT_FALSE(seen[static_cast<std::size_t>(node.variable)]);
    seen[static_cast<std::size_t>(node.variable)] = 1;
    if (node.parent < 0) continue;
    EXPECT_TRUE(seen[static_cast<std::size_t>(node.parent)]);
    EXPECT_EQ(node.parent_is_a ? links[node.edge].a : links[node.edge].b, node.parent);
    EXPECT_EQ(node.parent_is_a ? links[node.edge].b : links[node.edge].a, node.variable);
  }
}

}  // namespace
}  // namespace submarine::internal
