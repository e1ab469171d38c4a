// A tree of bounding boxes over the features of one kernel, with which the verifier finds pairs and
// bounds the kernel between groups of variables. It belongs to the verifier and is independent of
// the operators whose claims it checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"

namespace submarine::internal {

class PairTree {
 public:
  // Variables are in tree order: position p holds variable(p). Leaf number k holds the positions 32
  // k to 32 k + 31, so all leaves but the last are full and loops over them have a fixed length.
  static constexpr std::size_t kLeaf = 32;

  // Throws InvalidInput for a kernel that is not normalised yet.
  explicit PairTree(const GaussianKernel& kernel);

  struct Node {
    std::size_t begin;  // positions
    std::size_t end;
    std::uint32_t right;  // the left child is the next node; 0 for a leaf
    double scale;         // largest r_a
    double least_scale;
    bool is_leaf() const { return right == 0; }
    std::size_t size() const { return end - begin; }
  };

  std::size_t size() const { return variable_.size(); }
  std::size_t dimension() const { return dimension_; }
  double feature_error() const { return feature_error_; }  // FeatureErrorOfValue of the kernel
  std::size_t num_leaves() const { return leaf_node_.size(); }
  std::size_t num_nodes() const { return nodes_.size(); }
  const Node& node(std::size_t n) const { return nodes_[n]; }  // 0 is the root
  std::size_t leaf_node(std::size_t leaf) const { return leaf_node_[leaf]; }
  std::size_t variable(std::size_t position) const { return variable_[position]; }
  double scale(std::size_t position) const { return scale_[position]; }
  // Of all slots of a leaf, 0 beyond the last variable.
  const double* scales(std::size_t leaf) const { return scale_.data() + leaf * kLeaf; }

  // All |f_a - f_b|^2 with a in A, b in B lie between these, up to rounding.
  struct Range {
    double least;
    double largest;
  };
  Range SquaredDistance(std::size_t node_a, std::size_t node_b) const {
    return SquaredDistance(low(node_a), high(node_a), node_b);
  }
  Range SquaredDistance(const double* point, std::size_t node) const {
    return SquaredDistance(point, point, node);
  }

  // Calls visit(n) for the root, and for the children of every node for which it returned true.
  template <class Visit>
  void Walk(const Visit& visit) const {
    std::uint32_t waiting[64];  // right children: at most one per level of a balanced tree
    std::size_t count = 0;
    waiting[count++] = 0;
    while (count > 0) {
      std::uint32_t n = waiting[--count];
      while (visit(std::size_t{n}) && !nodes_[n].is_leaf()) {
        waiting[count++] = nodes_[n].right;
        ++n;
      }
    }
  }

  // The features at a position, contiguous.
  void Point(std::size_t position, double* point) const;

  // The same for every slot of a leaf and all b in the node.
  void DistancesToBox(std::size_t leaf, std::size_t node, double* least, double* largest) const;

  // |f - f_b|^2 for all kLeaf slots b of a leaf; slots beyond the last variable hold garbage. The
  // operations are the same for every slot, so the values for (a, b) and (b, a) are bit-identical.
  void SquaredDistances(const double* point, std::size_t leaf, double* squared) const;

 private:
  void Build(const GaussianKernel& kernel, std::size_t begin, std::size_t end);
  Range SquaredDistance(const double* low_a, const double* high_a, std::size_t node_b) const;
  const double* low(std::size_t node) const { return box_.data() + 2 * node * dimension_; }
  const double* high(std::size_t node) const { return low(node) + dimension_; }

  std::size_t dimension_;
  double feature_error_;
  std::vector<Node> nodes_;  // in preorder
  std::vector<std::size_t> leaf_node_;
  std::vector<std::uint32_t> variable_;
  std::vector<double> scale_;
  std::vector<double> box_;     // per node: dimension lows, dimension highs
  std::vector<double> points_;  // (leaf, dimension, slot)
};

}  // namespace submarine::internal
