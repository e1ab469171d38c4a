// A k-d tree over feature points for finding all pairs within a radius: buckets of a few dozen
// points with their bounding boxes. Unlike a grid of cells it adapts to the distribution of the
// points (natural images fill a thin part of colour space), and its size does not explode with the
// dimension.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine::internal {

class FeatureTree {
 public:
  // Buckets this large keep the vectors of the distance kernel full and the boxes still small.
  static constexpr std::size_t kBucketSize = 32;

  explicit FeatureTree(const Matrix<float>& points);

  std::size_t num_buckets() const { return bucket_begin_.size() - 1; }
  // The variables in a bucket; in the tree, its points are begin(bucket)..begin(bucket + 1) - 1.
  std::size_t begin(std::size_t bucket) const { return bucket_begin_[bucket]; }
  std::span<const std::uint32_t> variables(std::size_t bucket) const {
    return {order_.data() + bucket_begin_[bucket],
            bucket_begin_[bucket + 1] - bucket_begin_[bucket]};
  }
  // Coordinate d of all points in the order of the tree, contiguous.
  const float* coordinate(std::size_t d) const { return points_.row(d).data(); }
  std::size_t dimension() const { return points_.rows(); }

  // Buckets that may hold a point within `radius` of a point of `bucket` (itself included),
  // ascending.
  void Near(std::size_t bucket, double radius, std::vector<std::uint32_t>* near) const;

  std::size_t bytes() const;

 private:
  struct Node {
    std::uint32_t left = 0;  // 0: a leaf, the bucket is `right`
    std::uint32_t right = 0;
  };
  std::uint32_t Build(const Matrix<float>& points, std::size_t begin, std::size_t end);
  double SquaredDistance(std::size_t node_a, std::size_t node_b) const;

  std::vector<std::uint32_t> order_;
  std::vector<std::size_t> bucket_begin_;
  std::vector<std::uint32_t> node_of_bucket_;
  std::vector<Node> nodes_;
  std::vector<float> low_;  // boxes, dimension() values per node
  std::vector<float> high_;
  std::size_t dimension_;
  Matrix<float> points_;  // D x N, in the order of the tree
};

}  // namespace submarine::internal
