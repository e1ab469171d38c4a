#include "submarine/solver/mean_field/induced_forest.h"

#include <gtest/gtest.h>

#include "submarine/model/forest.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

void ExpectInducedAndColoured(const SparseCrf& model, const InducedForest& forest) {
  CheckForest(forest.edges, Links(model), model.num_variables());
  std::vector<int> tree_of(model.num_variables(), -1);
  for (std::size_t t = 0; t < forest.trees.size(); ++t) {
    for (const int a : forest.trees[t]) {
      EXPECT_EQ(tree_of[a], -1);
      tree_of[a] = static_cast<int>(t);
    }
  }
  std::vector<char> inside(model.num_edges(), 0);
  for (const std::size_t e : forest.edges) inside[e] = 1;
  for (std::size_t e = 0; e < model.num_edges(); ++e) {
    const int t = tree_of[model.edges()[e].a];
    const int u = tree_of[model.edges()[e].b];
    ASSERT_GE(t, 0);
    ASSERT_GE(u, 0);
    EXPECT_EQ(inside[e] != 0, t == u) << "edge " << e;
    if (t != u) {
      EXPECT_NE(forest.colour[t], forest.colour[u]);
    }
  }
  for (const int colour : forest.colour) EXPECT_LT(colour, forest.num_colours);
}

TEST(InducedForest, RowsOrColumnsOfGridsInTwoColours) {
  for (const int connectivity : {4, 8}) {
    std::vector<Edge> edges = GridEdges(7, 5, connectivity, 1.0);
    for (const bool columns : {false, true}) {
      for (Edge& e : edges) {
        if (std::abs(e.a - e.b) == 7) e.weight = columns ? 2.0 : 0.5;
      }
      const SparseCrf model(Matrix<double>(35, 2), edges, PottsLabels(2));
      const InducedForest forest = InducedForestOf(model);
      ExpectInducedAndColoured(model, forest);
      EXPECT_EQ(forest.trees.size(), columns ? 7U : 5U);
      EXPECT_EQ(forest.num_colours, 2);
    }
  }
}

TEST(InducedForest, AnyGraph) {
  RandomModels random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const SparseCrf simple = random.Model(random.Integer(1, 12), 2);
    std::vector<Edge> edges = simple.edges();
    for (int k = random.Integer(0, 2); k > 0 && !edges.empty(); --k)  // pairs with two edges
      edges.push_back(edges[random.Integer(0, static_cast<int>(edges.size()) - 1)]);
    const SparseCrf model(simple.unary(), edges, simple.labels());
    ExpectInducedAndColoured(model, InducedForestOf(model));
  }
}

// A tree is one tree; a complete graph falls into its heaviest pairs.
TEST(InducedForest, HoldsWhatItCan) {
  const SparseCrf tree(Matrix<double>(5, 2), {{0, 1}, {1, 2}, {1, 3}, {3, 4}}, PottsLabels(2));
  EXPECT_EQ(InducedForestOf(tree).edges.size(), 4U);
  std::vector<Edge> edges;
  for (int a = 0; a < 6; ++a)
    for (int b = 0; b < a; ++b) edges.push_back({a, b, a / 2 == b / 2 ? 2.0 : 1.0});
  const SparseCrf complete(Matrix<double>(6, 2), edges, PottsLabels(2));
  const InducedForest pairs = InducedForestOf(complete);
  ASSERT_EQ(pairs.trees.size(), 3U);
  for (const std::size_t e : pairs.edges) EXPECT_EQ(edges[e].weight, 2.0);
}

}  // namespace
}  // namespace submarine::internal
