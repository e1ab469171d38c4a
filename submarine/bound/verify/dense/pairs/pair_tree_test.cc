#include "submarine/bound/verify/dense/pairs/pair_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

constexpr std::size_t kLeaf = PairTree::kLeaf;
constexpr int kSizes[] = {1, 2, 31, 32, 33, 64, 65, 100, 257, 300};

TEST(PairTreeTest, HoldsEveryVariableOnce) {
  RandomModels random(1);
  for (int size : kSizes) {
    const PairTree tree(random.Kernel(size));
    std::vector<std::size_t> variables;
    for (std::size_t p = 0; p < tree.size(); ++p) variables.push_back(tree.variable(p));
    std::sort(variables.begin(), variables.end());
    for (std::size_t a = 0; a < variables.size(); ++a) EXPECT_EQ(variables[a], a);
    EXPECT_EQ(tree.num_leaves(), (static_cast<std::size_t>(size) + kLeaf - 1) / kLeaf);
  }
}

TEST(PairTreeTest, NodesNestAndLeavesAreFull) {
  RandomModels random(2);
  for (int size : kSizes) {
    const PairTree tree(random.Kernel(size));
    EXPECT_EQ(tree.node(0).begin, 0U);
    EXPECT_EQ(tree.node(0).end, static_cast<std::size_t>(size));
    for (std::size_t n = 0; n < tree.num_nodes(); ++n) {
      const PairTree::Node& node = tree.node(n);
      if (node.is_leaf()) {
        EXPECT_EQ(node.begin % kLeaf, 0U);
        EXPECT_EQ(tree.leaf_node(node.begin / kLeaf), n);
        EXPECT_EQ(node.end, std::min(node.begin + kLeaf, tree.size()));
      } else {
        EXPECT_EQ(tree.node(n + 1).begin, node.begin);
        EXPECT_EQ(tree.node(n + 1).end, tree.node(node.right).begin);
        EXPECT_EQ(tree.node(node.right).end, node.end);
      }
    }
    std::size_t visited = 0;
    tree.Walk([&](std::size_t n) {
      EXPECT_EQ(n, visited) << "not in preorder";
      ++visited;
      return true;
    });
    EXPECT_EQ(visited, tree.num_nodes());
  }
}

TEST(PairTreeTest, DistancesToBoxesAreThoseOfEveryPoint) {
  RandomModels random(5);
  const PairTree tree(random.Kernel(300));
  double point[kMaxFeatureDimension];
  double least[kLeaf];
  double largest[kLeaf];
  for (std::size_t n = 0; n < tree.num_nodes(); ++n) {
    for (std::size_t p = 0; p < tree.size(); ++p) {
      if (p % kLeaf == 0) tree.DistancesToBox(p / kLeaf, n, least, largest);
      tree.Point(p, point);
      const PairTree::Range range = tree.SquaredDistance(point, n);
      EXPECT_EQ(least[p % kLeaf], range.least);
      EXPECT_EQ(largest[p % kLeaf], range.largest);
    }
  }
}

TEST(PairTreeTest, DistancesAreThoseOfTheFeatures) {
  RandomModels random(3);
  for (int size : kSizes) {
    GaussianKernel kernel = random.Kernel(size);
    const std::vector<double> scale = kernel.scale;
    const PairTree tree(kernel);
    kernel.scale.clear();
    double squared[kLeaf];
    double point[kMaxFeatureDimension];
    std::vector<std::vector<double>> all(tree.size(), std::vector<double>(tree.size()));
    for (std::size_t p = 0; p < tree.size(); ++p) {
      tree.Point(p, point);
      EXPECT_EQ(tree.scale(p), scale.empty() ? 1.0 : scale[tree.variable(p)]);
      for (std::size_t leaf = 0; leaf < tree.num_leaves(); ++leaf) {
        tree.SquaredDistances(point, leaf, squared);
        const PairTree::Node& node = tree.node(tree.leaf_node(leaf));
        for (std::size_t q = node.begin; q < node.end; ++q) all[p][q] = squared[q - node.begin];
      }
    }
    for (std::size_t p = 0; p < tree.size(); ++p) {
      for (std::size_t q = 0; q < tree.size(); ++q) {
        ASSERT_EQ(all[p][q], all[q][p]) << "to the last bit";
        const double k = KernelValue(kernel, tree.variable(p), tree.variable(q));
        ASSERT_NEAR(std::exp(-0.5 * all[p][q]), k, 1e-13);
      }
    }
  }
}

TEST(PairTreeTest, BoxesEncloseDistancesAndScales) {
  RandomModels random(4);
  for (int size : kSizes) {
    const PairTree tree(random.Kernel(size));
    double squared[kLeaf];
    double point[kMaxFeatureDimension];
    for (int trial = 0; trial < 30; ++trial) {
      const auto last = static_cast<int>(tree.num_nodes()) - 1;
      const auto m = static_cast<std::size_t>(random.Integer(0, last));
      const auto n = static_cast<std::size_t>(random.Integer(0, last));
      const PairTree::Range range = tree.SquaredDistance(m, n);
      EXPECT_EQ(range.least, tree.SquaredDistance(n, m).least);
      EXPECT_EQ(range.largest, tree.SquaredDistance(n, m).largest);
      for (std::size_t p = tree.node(m).begin; p < tree.node(m).end; ++p) {
        EXPECT_LE(tree.scale(p), tree.node(m).scale);
        EXPECT_GE(tree.scale(p), tree.node(m).least_scale);
        tree.Point(p, point);
        const PairTree::Range from_point = tree.SquaredDistance(point, n);
        EXPECT_LE(range.least, from_point.least);
        EXPECT_GE(range.largest, from_point.largest);
        for (std::size_t q = tree.node(n).begin; q < tree.node(n).end; ++q) {
          tree.SquaredDistances(point, q / kLeaf, squared);
          ASSERT_LE(from_point.least, squared[q % kLeaf]);
          ASSERT_GE(from_point.largest, squared[q % kLeaf]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace submarine::internal
