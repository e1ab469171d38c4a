#include "submarine/filter/list/feature_tree.h"

#include <algorithm>

namespace submarine::internal {

FeatureTree::FeatureTree(const Matrix<float>& points)
    : tree_(points, kBucketSize),
      bucket_of_(tree_.nodes().size()),
      points_(points.cols(), points.rows()) {
  std::vector<std::uint32_t>& order = tree_.order();
  for (std::size_t n = 0; n < bucket_of_.size(); ++n) {
    const auto& node = tree_.nodes()[n];
    if (!node.is_leaf()) continue;
    bucket_of_[n] = static_cast<std::uint32_t>(leaf_.size());
    leaf_.push_back(static_cast<std::uint32_t>(n));
    // Raster order within a bucket, so that rows of the marginals are visited forwards.
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(node.begin),
              order.begin() + static_cast<std::ptrdiff_t>(node.end));
  }
  for (std::size_t d = 0; d < points.cols(); ++d) {
    for (std::size_t k = 0; k < order.size(); ++k) points_(d, k) = points(order[k], d);
  }
}

void FeatureTree::Near(std::size_t bucket, double radius, std::vector<std::uint32_t>* near) const {
  near->clear();
  std::vector<std::size_t> stack{0};
  while (!stack.empty()) {
    const std::size_t n = stack.back();
    stack.pop_back();
    if (tree_.SquaredDistance(leaf_[bucket], n).least > radius * radius) continue;
    const auto& node = tree_.nodes()[n];
    if (node.is_leaf()) {
      near->push_back(bucket_of_[n]);
    } else {
      stack.push_back(node.right);
      stack.push_back(node.left);
    }
  }
}

}  // namespace submarine::internal
