#include "submarine/filter/list/feature_tree.h"

#include <algorithm>
#include <numeric>

namespace submarine::internal {
FeatureTree::FeatureTree(const Matrix<float>& points)
    : order_(points.rows()), dimension_(points.cols()), points_(points.cols(), points.rows()) {
  std::iota(order_.begin(), order_.end(), 0U);
  bucket_begin_.push_back(0);
  Build(points, 0, points.rows());
  for (std::size_t d = 0; d < dimension_; ++d) {
    for (std::size_t k = 0; k < order_.size(); ++k) points_(d, k) = points(order_[k], d);
  }
}

std::uint32_t FeatureTree::Build(const Matrix<float>& points, std::size_t begin, std::size_t end) {
  const auto node = static_cast<std::uint32_t>(nodes_.size());
  nodes_.emplace_back();
  std::size_t widest = 0;
  float width = -1.0F;
  for (std::size_t d = 0; d < dimension_; ++d) {
    float low = points(order_[begin], d);
    float high = low;
    for (std::size_t k = begin + 1; k < end; ++k) {
      low = std::min(low, points(order_[k], d));
      high = std::max(high, points(order_[k], d));
    }
    low_.push_back(low);
    high_.push_back(high);
    if (high - low > width) {
      width = high - low;
      widest = d;
    }
  }
  if (end - begin <= kBucketSize) {
    // Raster order within a bucket, so that rows of the marginals are visited forwards.
    std::sort(order_.begin() + static_cast<std::ptrdiff_t>(begin),
              order_.begin() + static_cast<std::ptrdiff_t>(end));
    nodes_[node].right = static_cast<std::uint32_t>(bucket_begin_.size() - 1);
    node_of_bucket_.push_back(node);
    bucket_begin_.push_back(end);
    return node;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  std::nth_element(order_.begin() + static_cast<std::ptrdiff_t>(begin),
                   order_.begin() + static_cast<std::ptrdiff_t>(middle),
                   order_.begin() + static_cast<std::ptrdiff_t>(end),
                   [&](std::uint32_t a, std::uint32_t b) {
                     const float x = points(a, widest);
                     const float y = points(b, widest);
                     return x < y || (x == y && a < b);
                   });
  const std::uint32_t left = Build(points, begin, middle);
  const std::uint32_t right = Build(points, middle, end);
  nodes_[node] = {left, right};
  return node;
}

double FeatureTree::SquaredDistance(std::size_t node_a, std::size_t node_b) const {
  double squared = 0.0;
  for (std::size_t d = 0; d < dimension_; ++d) {
    const double gap = std::max({0.0,
                                 static_cast<double>(low_[node_a * dimension_ + d]) -
                                     static_cast<double>(high_[node_b * dimension_ + d]),
                                 static_cast<double>(low_[node_b * dimension_ + d]) -
                                     static_cast<double>(high_[node_a * dimension_ + d])});
    squared += gap * gap;
  }
  return squared;
}

void FeatureTree::Near(std::size_t bucket, double radius, std::vector<std::uint32_t>* near) const {
  near->clear();
  const std::size_t from = node_of_bucket_[bucket];
  std::vector<std::uint32_t> stack{0};
  while (!stack.empty()) {
    const std::uint32_t node = stack.back();
    stack.pop_back();
    if (SquaredDistance(from, node) > radius * radius) continue;
    if (nodes_[node].left == 0) {
      near->push_back(nodes_[node].right);
    } else {
      stack.push_back(nodes_[node].right);
      stack.push_back(nodes_[node].left);
    }
  }
}

std::size_t FeatureTree::bytes() const {
  return order_.size() * sizeof(std::uint32_t) + points_.size() * sizeof(float) +
         nodes_.size() * (sizeof(Node) + 2 * dimension_ * sizeof(float)) +
         bucket_begin_.size() * (sizeof(std::size_t) + sizeof(std::uint32_t));
}

}  // namespace submarine::internal
