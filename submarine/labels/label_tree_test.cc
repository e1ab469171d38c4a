#include "submarine/labels/label_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string RefusalOf(std::vector<TreeNode> nodes) {
  try {
    LabelTree tree(std::move(nodes));
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "accepted";
}

double LengthOfSet(const LabelSpace& space, const std::vector<int>& set) {
  for (int c = 0; c < space.cuts->num_cuts(); ++c) {
    if (space.cuts->set(c) == set) return space.metrics[0].length[c];
  }
  return -1.0;
}

// Leaf to leaf, by the ancestors of both: shares nothing with the library's way.
double PathLength(const std::vector<TreeNode>& nodes, int from, int to) {
  double length = 0.0;
  std::vector<int> above;
  for (int n = from; n != -1; n = nodes[n].parent) above.push_back(n);
  for (int n = to; n != -1; n = nodes[n].parent) {
    const auto meeting = std::find(above.begin(), above.end(), n);
    if (meeting != above.end()) {
      for (auto it = above.begin(); it != meeting; ++it) length += nodes[*it].length;
      return length;
    }
    length += nodes[n].length;
  }
  return std::nan("");
}

TEST(LabelTreeTest, StarIsPotts) {
  for (int labels : {2, 3, 7}) {
    const LabelSpace star = LabelTree::Star(labels).ToLabels();
    const LabelSpace potts = PottsLabels(labels);
    EXPECT_TRUE(star.cuts->leaves_only());
    EXPECT_EQ(star.metrics[0].length, potts.metrics[0].length);
    EXPECT_EQ(star.metrics[0].distance, potts.metrics[0].distance);
    EXPECT_TRUE(star.exact());
  }
}

TEST(LabelTreeTest, RegularTreeHasOneCutPerInnerNode) {
  const LabelTree tree = LabelTree::Regular({3, 2}, {1.0, 0.5});
  EXPECT_EQ(tree.num_labels(), 6);
  const LabelSpace space = tree.ToLabels("groups");
  EXPECT_EQ(space.metrics[0].name, "groups");
  EXPECT_EQ(space.cuts->num_cuts(), 6 + 3);
  EXPECT_EQ(LengthOfSet(space, {2, 3}), 1.0);
  EXPECT_EQ(LengthOfSet(space, {3}), 0.5);
  EXPECT_EQ(space.metrics[0].distance(0, 1), 1.0);
  EXPECT_EQ(space.metrics[0].distance(0, 2), 3.0);
}

TEST(LabelTreeTest, EdgesInARowBecomeOneCut) {
  // 0 -> 1 -> {2 -> 3 (label 0), 4 (label 1)}, 0 -> 5 (label 2): node 2 has a single child.
  const LabelTree tree({{-1, 0, -1}, {0, 1, -1}, {1, 2, -1}, {2, 4, 0}, {1, 8, 1}, {0, 16, 2}});
  const LabelSpace space = tree.ToLabels();
  EXPECT_EQ(space.cuts->num_cuts(), 4);
  EXPECT_EQ(LengthOfSet(space, {0}), 6.0);
  EXPECT_EQ(LengthOfSet(space, {0, 1}), 1.0);
  EXPECT_EQ(space.metrics[0].distance(0, 2), 23.0);
}

TEST(LabelTreeTest, CutOfAllLabelsIsDropped) {
  // The root has one child, which has one child, which branches.
  const LabelTree tree({{-1, 0, -1}, {0, 5, -1}, {1, 7, -1}, {2, 1, 0}, {2, 2, 1}, {2, 3, 2}});
  const LabelSpace space = tree.ToLabels();
  EXPECT_TRUE(space.cuts->leaves_only());
  EXPECT_THAT(space.metrics[0].length, ElementsAre(1.0, 2.0, 3.0));
  EXPECT_EQ(space.metrics[0].distance(1, 2), 5.0);
}

TEST(LabelTreeTest, RandomTreesHavePathLengthsAndCutsAgree) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<TreeNode> nodes(1);
    const int count = 3 + static_cast<int>(random() % 40);
    for (int n = 1; n < count; ++n) {
      const double length = static_cast<double>(random() % 8) / 8;
      nodes.push_back({static_cast<int>(random() % n), length, -1});
    }
    // Parents come before their children, so only the labels are shuffled.
    std::vector<bool> leaf(nodes.size(), true);
    for (const TreeNode& node : nodes) {
      if (node.parent >= 0) leaf[node.parent] = false;
    }
    std::vector<int> leaves;
    for (int n = 0; n < count; ++n) {
      if (leaf[n]) leaves.push_back(n);
    }
    if (leaves.size() < 2) continue;
    std::shuffle(leaves.begin(), leaves.end(), random);
    for (std::size_t i = 0; i < leaves.size(); ++i) nodes[leaves[i]].label = static_cast<int>(i);

    const LabelSpace space = LabelTree(nodes).ToLabels();
    const Matrix<double>& d = space.metrics[0].distance;
    EXPECT_EQ(CutDistance(*space.cuts, space.metrics[0].length), d) << seed;  // eighths are exact
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      for (std::size_t j = 0; j < leaves.size(); ++j) {
        EXPECT_EQ(d(i, j), PathLength(nodes, leaves[i], leaves[j])) << seed;
      }
    }
    for (int c = 0; c < space.cuts->num_cuts(); ++c) {
      EXPECT_LT(space.cuts->set(c).size(), leaves.size());
      for (int other = 0; other < c; ++other) EXPECT_NE(space.cuts->set(c), space.cuts->set(other));
    }
  }
}

TEST(LabelTreeTest, LongChainsAreFine) {
  std::vector<TreeNode> nodes(1);
  for (int n = 1; n < 200000; ++n) nodes.push_back({n - 1, 0.5, -1});
  nodes.push_back({199999, 1.0, 0});
  nodes.push_back({199999, 1.0, 1});
  nodes.push_back({0, 1.0, 2});
  const LabelSpace space = LabelTree(nodes).ToLabels();
  EXPECT_EQ(space.metrics[0].distance(0, 2), 0.5 * 199999 + 2.0);
}

TEST(LabelTreeTest, ChildrenMayComeBeforeParents) {
  const LabelTree tree({{2, 1, 0}, {2, 1, 1}, {4, 3, -1}, {4, 4, 2}, {-1, 0, -1}});
  EXPECT_EQ(tree.ToLabels().metrics[0].distance(0, 2), 8.0);
}

TEST(LabelTreeTest, RefusesWhatIsNoTree) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(RefusalOf({}), HasSubstr("no nodes"));
  EXPECT_THAT(RefusalOf({{1, 1, 0}, {0, 1, 1}}), HasSubstr("no root"));
  EXPECT_THAT(RefusalOf({{-1, 0, -1}, {-1, 0, 0}, {0, 1, 1}}),
              HasSubstr("two roots, nodes 0 and 1"));
  EXPECT_THAT(RefusalOf({{-1, 0, -1}, {0, 1, 0}, {9, 1, 1}}), HasSubstr("node 2 names parent 9"));
  EXPECT_THAT(RefusalOf({{-1, 0, -1}, {0, 1, 0}, {-2, 1, 1}}), HasSubstr("node 2 names parent -2"));
  EXPECT_THAT(RefusalOf({{-1, 0, -1}, {0, 1, 0}, {3, 1, -1}, {2, 1, -1}}),
              HasSubstr("node 2 never reaches the root"));
  EXPECT_THAT(RefusalOf({{-1, 0, -1}, {0, 1, 0}, {2, 1, 1}}), HasSubstr("cycle"));
  EXPECT_THAT(RefusalOf({{-1, 0, -1}, {0, 1, 0}, {0, -1, 1}}),
              HasSubstr("node 2 has edge length -1"));
  EXPECT_THAT(RefusalOf({{-1, 0, -1}, {0, nan, 0}, {0, 1, 1}}),
              HasSubstr("node 1 has edge length"));
  EXPECT_THAT(RefusalOf({{-1, 0, -1}, {0, inf, 0}, {0, 1, 1}}),
              HasSubstr("node 1 has edge length"));
  EXPECT_THAT(RefusalOf({{-1, 0, 2}, {0, 1, 0}, {0, 1, 1}}), HasSubstr("node 0 carries label 2"));
  EXPECT_THAT(RefusalOf({{-1, 0, -1}, {0, 1, 0}, {0, 1, -1}}),
              HasSubstr("node 2 is a leaf without a label"));
  EXPECT_THAT(RefusalOf({{-1, 0, -1}, {0, 1, 0}, {0, 1, 2}}), HasSubstr("node 2 carries label 2"));
  EXPECT_THAT(RefusalOf({{-1, 0, -1}, {0, 1, 1}, {0, 1, 1}}), HasSubstr("nodes 1 and 2"));
  EXPECT_THAT(RefusalOf({{-1, 0, 0}}), HasSubstr("between 2 and"));
}

TEST(LabelTreeTest, RegularRefusesBadCounts) {
  EXPECT_THROW(LabelTree::Regular({}, {}), InvalidInput);
  EXPECT_THROW(LabelTree::Regular({2, 2}, {1.0}), InvalidInput);
  EXPECT_THROW(LabelTree::Regular({2, 0}, {1.0, 1.0}), InvalidInput);
  EXPECT_THROW(LabelTree::Regular({1, 1}, {1.0, 1.0}), InvalidInput);
  EXPECT_THROW(LabelTree::Regular({2000000000, 2000000000}, {1.0, 1.0}), InvalidInput);
  EXPECT_THROW(LabelTree::Regular({2}, {-1.0}), InvalidInput);
  EXPECT_THROW(LabelTree::Star(1), InvalidInput);
  EXPECT_THROW(LabelTree::Star(kMaxLabels + 1), InvalidInput);
}

TEST(LabelTreeTest, HstViolationsNameTheNodes) {
  EXPECT_THAT(LabelTree::Regular({3, 2}, {1.0, 0.5}).HstViolations(), IsEmpty());
  EXPECT_THAT(LabelTree::Star(4).HstViolations(), IsEmpty());
  EXPECT_THAT(LabelTree::Regular({2, 2}, {1.0, 0.75}).HstViolations(),
              ElementsAre(HasSubstr("node 3 has length 0.75, more than half of 1, the edge above "
                                    "its parent, node 1"),
                          HasSubstr("node 5 has length 0.75")));
  EXPECT_THAT(LabelTree({{-1, 0, -1}, {0, 1, 0}, {0, 2, 1}}).HstViolations(),
              ElementsAre("the edges below node 0 differ in length: 1 to node 1, 2 to node 2"));
}

}  // namespace
}  // namespace submarine::internal
