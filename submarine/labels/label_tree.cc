#include "submarine/labels/label_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "submarine/base/error.h"

namespace submarine {
namespace {

constexpr double kLengthTolerance = 1e-9;  // relative, when lengths are compared with each other

std::vector<std::vector<int>> ChildrenOf(const std::vector<TreeNode>& nodes) {
  std::vector<std::vector<int>> children(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].parent >= 0) children[nodes[n].parent].push_back(static_cast<int>(n));
  }
  return children;
}

int FindRoot(const std::vector<TreeNode>& nodes) {
  int root = -1;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const int parent = nodes[n].parent;
    if (parent < -1 || parent >= static_cast<std::int64_t>(nodes.size())) {
      throw InvalidInput(fmt::format(
          "label tree node {} names parent {}, but parents are nodes 0..{} or -1 for the root", n,
          parent, nodes.size() - 1));
    }
    if (parent != -1) continue;
    if (root != -1) {
      throw InvalidInput(fmt::format(
          "label tree has two roots, nodes {} and {}, where one was expected", root, n));
    }
    root = static_cast<int>(n);
  }
  if (root == -1) {
    throw InvalidInput("label tree has no root: one node must have parent -1");
  }
  return root;
}

// Parents before children. Nodes on or below a cycle are missing.
std::vector<int> TopDown(const std::vector<std::vector<int>>& children, int root) {
  std::vector<int> order{root};
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::vector<int>& below = children[order[k]];
    order.insert(order.end(), below.begin(), below.end());
  }
  return order;
}

void CheckConnected(std::size_t num_nodes, const std::vector<int>& order) {
  if (order.size() == num_nodes) return;
  std::vector<bool> reached(num_nodes, false);
  for (int n : order) reached[n] = true;
  std::size_t lost = 0;
  while (reached[lost]) ++lost;
  throw InvalidInput(fmt::format(
      "label tree node {} never reaches the root: following its parents leads into a cycle", lost));
}

void CheckLengths(const std::vector<TreeNode>& nodes) {
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const bool is_root = nodes[n].parent == -1;
    if (!is_root && !(std::isfinite(nodes[n].length) && nodes[n].length >= 0)) {
      throw InvalidInput(
          fmt::format("label tree node {} has edge length {}, expected a finite number >= 0", n,
                      nodes[n].length));
    }
  }
}

// Returns the number of labels.
int CheckLeaves(const std::vector<TreeNode>& nodes, const std::vector<std::vector<int>>& children) {
  std::size_t leaves = 0;
  for (const std::vector<int>& below : children) leaves += below.empty();
  if (leaves > kMaxLabels) {
    throw InvalidInput(fmt::format("label tree has {} leaves, more than the {} labels supported",
                                   leaves, kMaxLabels));
  }
  const int num_labels = static_cast<int>(leaves);
  CheckLabelCount(num_labels);
  std::vector<int> owner(leaves, -1);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const int label = nodes[n].label;
    if (!children[n].empty()) {
      if (label >= 0) {
        throw InvalidInput(fmt::format(
            "label tree node {} carries label {} but has children; only leaves carry labels", n,
            label));
      }
      continue;
    }
    if (label < 0)
      throw InvalidInput(fmt::format("label tree node {} is a leaf without a label", n));
    if (label >= num_labels) {
      throw InvalidInput(
          fmt::format("label tree node {} carries label {}, but its {} leaves take labels 0..{}", n,
                      label, num_labels, num_labels - 1));
    }
    if (owner[label] != -1) {
      throw InvalidInput(fmt::format("label tree nodes {} and {} carry the same label {}",
                                     owner[label], n, label));
    }
    owner[label] = static_cast<int>(n);
  }
  return num_labels;
}

// The tree without nodes that have a single child: such a node has the same labels below it as its
// child, so the two consecutive edges are one longer edge.
struct BranchingTree {
  struct Node {
    int parent = -1;  // -1 when nothing branches above
    double length = 0.0;
    std::vector<int> labels;  // below it; ascending only at leaves
  };
  std::vector<Node> nodes;   // parents before children
  std::vector<int> leaf_of;  // node of every label
};

BranchingTree Contract(const std::vector<TreeNode>& nodes, int num_labels) {
  const auto children = ChildrenOf(nodes);
  BranchingTree tree;
  tree.leaf_of.resize(num_labels);
  // For each original node, the branching node above (or at) it and the length collected since.
  std::vector<int> above(nodes.size(), -1);
  std::vector<double> pending(nodes.size(), 0.0);
  for (int n : TopDown(children, FindRoot(nodes))) {
    const int parent = nodes[n].parent;
    const double length = parent == -1 ? 0.0 : pending[parent] + nodes[n].length;
    const int branching_parent = parent == -1 ? -1 : above[parent];
    if (children[n].size() == 1) {
      above[n] = branching_parent;
      pending[n] = length;
      continue;
    }
    above[n] = static_cast<int>(tree.nodes.size());
    tree.nodes.push_back({branching_parent, length, {}});
    if (children[n].empty()) {
      tree.leaf_of[nodes[n].label] = above[n];
      tree.nodes.back().labels = {nodes[n].label};
    }
  }
  for (std::size_t n = tree.nodes.size(); n-- > 1;) {
    std::vector<int>& up = tree.nodes[tree.nodes[n].parent].labels;
    up.insert(up.end(), tree.nodes[n].labels.begin(), tree.nodes[n].labels.end());
  }
  return tree;
}

Matrix<double> PathLengths(const BranchingTree& tree, int num_labels) {
  Matrix<double> distance(num_labels, num_labels);
  for (int i = 0; i < num_labels; ++i) {
    for (int j = i + 1; j < num_labels; ++j) {
      // Children have larger indices than their parents: lift whichever is deeper in that order.
      int a = tree.leaf_of[i], b = tree.leaf_of[j];
      double from_a = 0.0, from_b = 0.0;
      while (a != b) {
        if (a > b) {
          from_a += tree.nodes[a].length;
          a = tree.nodes[a].parent;
        } else {
          from_b += tree.nodes[b].length;
          b = tree.nodes[b].parent;
        }
      }
      distance(i, j) = distance(j, i) = from_a + from_b;
    }
  }
  return distance;
}

void AddNames(const std::vector<TreeNode>& nodes, LabelSpace* space) {
  const auto children = ChildrenOf(nodes);
  const std::vector<int> order = TopDown(children, FindRoot(nodes));
  std::vector<std::vector<int>> below(nodes.size());
  bool named = false;
  for (std::size_t k = order.size(); k-- > 0;) {
    const int n = order[k];
    if (nodes[n].label >= 0) {
      below[n] = {nodes[n].label};
      named = named || !nodes[n].name.empty();
    }
    std::sort(below[n].begin(), below[n].end());
    if (nodes[n].parent == -1) continue;
    std::vector<int>& up = below[nodes[n].parent];
    up.insert(up.end(), below[n].begin(), below[n].end());
  }
  std::vector<int> group(nodes.size(), -1);  // of the node, or the nearest above it
  if (named) space->names.resize(space->num_labels());
  for (int n : order) {
    if (nodes[n].label >= 0) {
      if (named) space->names[nodes[n].label] = nodes[n].name;
      continue;
    }
    if (nodes[n].parent == -1) continue;
    group[n] = group[nodes[n].parent];
    if (nodes[n].name.empty()) continue;
    space->groups.push_back({nodes[n].name, below[n], group[n]});
    group[n] = static_cast<int>(space->groups.size()) - 1;
  }
}

}  // namespace

LabelTree::LabelTree(std::vector<TreeNode> nodes) : nodes_(std::move(nodes)) {
  if (nodes_.empty()) throw InvalidInput("label tree has no nodes");
  const int root = FindRoot(nodes_);
  const auto children = ChildrenOf(nodes_);
  CheckConnected(nodes_.size(), TopDown(children, root));
  CheckLengths(nodes_);
  num_labels_ = CheckLeaves(nodes_, children);
}

LabelTree LabelTree::Regular(const std::vector<int>& counts, const std::vector<double>& lengths) {
  if (counts.empty() || counts.size() != lengths.size()) {
    throw InvalidInput(
        fmt::format("a regular label tree needs one length per level, got {} counts and {} lengths",
                    counts.size(), lengths.size()));
  }
  std::vector<TreeNode> nodes(1);
  std::size_t level_begin = 0;
  int next_label = 0;
  for (std::size_t level = 0; level < counts.size(); ++level) {
    const std::size_t level_end = nodes.size();
    if (counts[level] < 1) {
      throw InvalidInput(
          fmt::format("level {} of a regular label tree has count {}, expected at least 1", level,
                      counts[level]));
    }
    if ((level_end - level_begin) * static_cast<std::size_t>(counts[level]) > kMaxLabels) {
      throw InvalidInput(fmt::format(
          "level {} of a regular label tree has {} x {} nodes, more than the {} labels supported",
          level, level_end - level_begin, counts[level], kMaxLabels));
    }
    const bool leaves = level + 1 == counts.size();
    for (std::size_t parent = level_begin; parent < level_end; ++parent) {
      for (int k = 0; k < counts[level]; ++k) {
        nodes.push_back({static_cast<int>(parent), lengths[level], leaves ? next_label++ : -1});
      }
    }
    level_begin = level_end;
  }
  return LabelTree(std::move(nodes));
}

LabelTree LabelTree::Star(int num_labels) {
  CheckLabelCount(num_labels);
  return Regular({num_labels}, {0.5});
}

std::vector<std::string> LabelTree::HstViolations() const {
  std::vector<std::string> violations;
  const auto children = ChildrenOf(nodes_);
  const auto longer = [](double a, double b) { return a > b * (1 + kLengthTolerance); };
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (children[n].empty()) continue;
    int shortest = children[n].front(), longest = shortest;
    for (int child : children[n]) {
      if (nodes_[child].length < nodes_[shortest].length) shortest = child;
      if (nodes_[child].length > nodes_[longest].length) longest = child;
    }
    if (longer(nodes_[longest].length, nodes_[shortest].length)) {
      violations.push_back(
          fmt::format("the edges below node {} differ in length: {} to node {}, {} to node {}", n,
                      nodes_[shortest].length, shortest, nodes_[longest].length, longest));
    }
    if (nodes_[n].parent != -1 && longer(nodes_[longest].length, nodes_[n].length / 2)) {
      violations.push_back(
          fmt::format("the edge above node {} has length {}, more than half of {}, the edge above "
                      "its parent, node {}",
                      longest, nodes_[longest].length, nodes_[n].length, n));
    }
  }
  return violations;
}

LabelSpace LabelTree::ToLabels(const std::string& name) const {
  const BranchingTree tree = Contract(nodes_, num_labels_);
  LabelMetric metric{name, PathLengths(tree, num_labels_), std::vector<double>(num_labels_), 1.0};
  std::vector<std::vector<int>> composite;
  for (const BranchingTree::Node& node : tree.nodes) {
    if (node.labels.size() == 1) {
      metric.length[node.labels.front()] = node.length;
    } else if (node.parent != -1) {  // the topmost node holds all labels and separates nothing
      composite.push_back(node.labels);
      metric.length.push_back(node.length);
    }
  }
  LabelSpace space;
  space.cuts = std::make_shared<const LabelCuts>(num_labels_, std::move(composite));
  space.metrics.push_back(std::move(metric));
  AddNames(nodes_, &space);
  return space;
}

}  // namespace submarine
