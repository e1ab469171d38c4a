// A k-d tree over points whose nodes know the box around theirs. It splits at the median of the widest side, until a leaf
// holds a bucket of points.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine::internal {

template <class Real>
class BoxTree {
 public:
  struct Node {
    std::size_t begin = 0;  // of its points in order()
    std::size_t end = 0;
    std::size_t parent = 0;
    std::size_t left = 0;  // 0: a leaf
    std::size_t right = 0;

    bool is_leaf() const { return left == 0; }
  };

  BoxTree(const Matrix<Real>& points, std::size_t bucket)
      : dimension_(points.cols()), order_(points.rows()) {
    std::iota(order_.begin(), order_.end(), 0U);
    Build(points, bucket, 0, order_.size(), 0);
  }

  std::size_t dimension() const { return dimension_; }
  // Points by number; those of a node are together.
  std::vector<std::uint32_t>& order() { return order_; }
  const std::vector<std::uint32_t>& order() const { return order_; }
  // The root first, every node before those below it, leaves in the order of their points.
  const std::vector<Node>& nodes() const { return nodes_; }
  std::size_t Sibling(std::size_t node) const {
    const Node& parent = nodes_[nodes_[node].parent];
    return parent.left == node ? parent.right : parent.left;
  }
  const Real* low(std::size_t node) const { return box_.data() + 2 * node * dimension_; }
  const Real* high(std::size_t node) const { return low(node) + dimension_; }

  // The least and the largest squared distance between points of two boxes.
  struct Range {
    double least = 0.0;
    double largest = 0.0;
  };
  Range SquaredDistance(std::size_t a, std::size_t b) const {
    Range range;
    for (std::size_t d = 0; d < dimension_; ++d) {
      const double below = static_cast<double>(low(a)[d]) - static_cast<double>(high(b)[d]);
      const double above = static_cast<double>(low(b)[d]) - static_cast<double>(high(a)[d]);
      const double near = std::max({0.0, below, above});
      const double far = std::max(-below, -above);
      range.least += near * near;
      range.largest += far * far;
    }
    return range;
  }

 private:
  std::size_t Build(const Matrix<Real>& points, std::size_t bucket, std::size_t begin,
                    std::size_t end, std::size_t parent) {
    const std::size_t self = nodes_.size();
    nodes_.push_back({begin, end, parent});
    box_.resize(box_.size() + 2 * dimension_);
    std::size_t widest = 0;
    Real width = -1;
    for (std::size_t d = 0; d < dimension_ && begin < end; ++d) {
      Real least = points(order_[begin], d);
      Real largest = least;
      for (std::size_t k = begin + 1; k < end; ++k) {
        least = std::min(least, points(order_[k], d));
        largest = std::max(largest, points(order_[k], d));
      }
      box_[2 * self * dimension_ + d] = least;
      box_[(2 * self + 1) * dimension_ + d] = largest;
      if (largest - least > width) {
        width = largest - least;
        widest = d;
      }
    }
    if (end - begin <= bucket) return self;
    const std::size_t middle = begin + (end - begin) / 2;
    const auto at = [&](std::size_t k) { return order_.begin() + static_cast<std::ptrdiff_t>(k); };
    std::nth_element(at(begin), at(middle), at(end), [&](std::uint32_t a, std::uint32_t b) {
      return std::pair(points(a, widest), a) < std::pair(points(b, widest), b);
    });
    const std::size_t left = Build(points, bucket, begin, middle, self);
    const std::size_t right = Build(points, bucket, middle, end, self);
    nodes_[self].left = left;
    nodes_[self].right = right;
    return self;
  }

  std::size_t dimension_;
  std::vector<std::uint32_t> order_;
  std::vector<Node> nodes_;
  std::vector<Real> box_;  // per node: dimension() lows, then as many highs
};

}  // namespace submarine::internal
