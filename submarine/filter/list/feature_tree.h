// A tree of boxes over feature points for finding all pairs within a radius, bucket by bucket. Unlike a grid of cells it adapts to the distribution of the
// points (natural images fill a thin part of colour space), and its size does not explode with the
// dimension.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/box_tree.h"

namespace submarine::internal {

class FeatureTree {
 public:
  // Buckets this large keep the vectors of the distance kernel full and the boxes still small.
  static constexpr std::size_t kBucketSize = 32;

  explicit FeatureTree(const Matrix<float>& points);

  std::size_t num_buckets() const { return leaf_.size(); }
  // The variables in a bucket; in the tree, its points are begin(bucket)..begin(bucket + 1) - 1.
  std::size_t begin(std::size_t bucket) const {
    return bucket < leaf_.size() ? tree_.nodes()[leaf_[bucket]].begin : tree_.order().size();
  }
  std::span<const std::uint32_t> variables(std::size_t bucket) const {
    const auto& node = tree_.nodes()[leaf_[bucket]];
    return {tree_.order().data() + node.begin, node.end - node.begin};
  }
  // Coordinate d of all points in the order of the tree, contiguous.
  const float* coordinate(std::size_t d) const { return points_.row(d).data(); }
  std::size_t dimension() const { return points_.rows(); }

  // Buckets that may hold a point within `radius` of a point of `bucket` (itself included),
  // ascending.
  void Near(std::size_t bucket, double radius, std::vector<std::uint32_t>* near) const;

 private:
  BoxTree<float> tree_;
  std::vector<std::uint32_t> leaf_;       // the node of every bucket
  std::vector<std::uint32_t> bucket_of_;  // of every node that is a leaf
  Matrix<float> points_;                  // D x N, in the order of the tree
};

}  // namespace submarine::internal
