// Hierarchical Potts: labels are the leaves of a rooted tree whose edges have lengths, and d(i,j)
// is the length of the path between them. One cut per node except the root: the leaves below it,
// with the length of the edge above it.
#pragma once

#include <string>
#include <vector>

#include "submarine/labels/label_cuts.h"

namespace submarine {

struct TreeNode {
  int parent = -1;        // -1 for the root
  double length = 0.0;    // of the edge to the parent
  int label = -1;         // >= 0 exactly at the leaves
  std::string name = {};  // of the label or group, or none
};

class LabelTree {
 public:
  // Checks that the nodes form one tree (no cycle, one root), that leaves and only leaves carry
  // labels, that the labels are 0..L-1 without repetition, and that lengths are finite and >= 0.
  // Throws InvalidInput.
  explicit LabelTree(std::vector<TreeNode> nodes);

  // Regular tree: counts (5,4) and lengths (1,.5) mean 5 groups of 4 labels, root edges of length 1
  // and leaf edges of length .5.
  static LabelTree Regular(const std::vector<int>& counts, const std::vector<double>& lengths);
  static LabelTree Star(int num_labels);  // Potts: edges of length 1/2

  int num_labels() const { return num_labels_; }
  const std::vector<TreeNode>& nodes() const { return nodes_; }

  // Why the tree is not an r-HST (edges below one parent of equal length; every edge at most half
  // as long as the edge above it): one sentence per violated rule, empty when there is none.
  std::vector<std::string> HstViolations() const;

  // Nodes that have names become its groups, those with a single label, too, but not the root.
  LabelSpace ToLabels(const std::string& name = "tree") const;

 private:
  std::vector<TreeNode> nodes_;
  int num_labels_ = 0;
};

}  // namespace submarine
