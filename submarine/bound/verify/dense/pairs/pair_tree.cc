#include "submarine/bound/verify/dense/pairs/pair_tree.h"

#include <algorithm>
#include <numeric>

#include "submarine/base/simd/wide_registers.h"

namespace submarine::internal {

PairTree::PairTree(const GaussianKernel& kernel)
    : dimension_(kernel.dimension()),
      feature_error_(FeatureErrorOfValue(kernel)),
      variable_(kernel.size()) {
  CheckNormalised(kernel);
  std::iota(variable_.begin(), variable_.end(), std::uint32_t{0});
  const std::size_t leaves = (size() + kLeaf - 1) / kLeaf;
  nodes_.reserve(2 * leaves);
  box_.reserve(4 * leaves * dimension_);
  Build(kernel, 0, size());
  points_.assign(leaves * dimension_ * kLeaf, 0.0);
  scale_.assign(leaves * kLeaf, 0.0);
  for (std::size_t p = 0; p < size(); ++p) {
    const std::size_t a = variable_[p];
    scale_[p] = kernel.scale.empty() ? 1.0 : kernel.scale[a];
    for (std::size_t d = 0; d < dimension_; ++d) {
      points_[(p / kLeaf * dimension_ + d) * kLeaf + p % kLeaf] = kernel.features(a, d);
    }
  }
}

// Splits across the longest side of the box, near the middle, into whole leaves.
void PairTree::Build(const GaussianKernel& kernel, std::size_t begin, std::size_t end) {
  const std::size_t self = nodes_.size();
  std::size_t longest = 0;
  double length = -1.0;
  box_.resize(box_.size() + 2 * dimension_);
  for (std::size_t d = 0; d < dimension_; ++d) {
    double low = kernel.features(variable_[begin], d);
    double high = low;
    for (std::size_t p = begin; p < end; ++p) {
      low = std::min(low, kernel.features(variable_[p], d));
      high = std::max(high, kernel.features(variable_[p], d));
    }
    box_[2 * self * dimension_ + d] = low;
    box_[(2 * self + 1) * dimension_ + d] = high;
    if (high - low > length) {
      length = high - low;
      longest = d;
    }
  }
  nodes_.push_back({begin, end, 0, 1.0, 1.0});
  if (!kernel.scale.empty()) {
    const auto [least, largest] = std::minmax_element(
        variable_.begin() + static_cast<std::ptrdiff_t>(begin),
        variable_.begin() + static_cast<std::ptrdiff_t>(end),
        [&](std::uint32_t a, std::uint32_t b) { return kernel.scale[a] < kernel.scale[b]; });
    nodes_[self].least_scale = kernel.scale[*least];
    nodes_[self].scale = kernel.scale[*largest];
  }
  const std::size_t leaves = (end - begin + kLeaf - 1) / kLeaf;
  if (leaves == 1) {
    leaf_node_.push_back(self);
    return;
  }
  const std::size_t middle = begin + leaves / 2 * kLeaf;
  const auto at = [&](std::size_t p) { return variable_.begin() + static_cast<std::ptrdiff_t>(p); };
  std::nth_element(at(begin), at(middle), at(end), [&](std::uint32_t a, std::uint32_t b) {
    const double x = kernel.features(a, longest);
    const double y = kernel.features(b, longest);
    return x < y || (x == y && a < b);  // a total order, also for equal points
  });
  Build(kernel, begin, middle);
  nodes_[self].right = static_cast<std::uint32_t>(nodes_.size());
  Build(kernel, middle, end);
}

PairTree::Range PairTree::SquaredDistance(const double* low_a, const double* high_a,
                                          std::size_t node_b) const {
  const double* low_b = low(node_b);
  const double* high_b = high(node_b);
  Range range{0.0, 0.0};
  for (std::size_t d = 0; d < dimension_; ++d) {
    const double below = low_a[d] - high_b[d];
    const double above = low_b[d] - high_a[d];
    const double near = std::max({0.0, below, above});
    const double far = std::max(-below, -above);
    range.least += near * near;
    range.largest += far * far;
  }
  return range;
}

void PairTree::Point(std::size_t position, double* point) const {
  for (std::size_t d = 0; d < dimension_; ++d) {
    point[d] = points_[(position / kLeaf * dimension_ + d) * kLeaf + position % kLeaf];
  }
}

SUBMARINE_FOR_WIDEST_REGISTERS void PairTree::DistancesToBox(std::size_t leaf, std::size_t node,
                                                             double* __restrict least,
                                                             double* __restrict largest) const {
  const double* points = points_.data() + leaf * dimension_ * kLeaf;
  for (std::size_t j = 0; j < kLeaf; ++j) least[j] = largest[j] = 0.0;
  for (std::size_t d = 0; d < dimension_; ++d) {
    const double* slot = points + d * kLeaf;
    const double low_d = low(node)[d];
    const double high_d = high(node)[d];
    for (std::size_t j = 0; j < kLeaf; ++j) {
      const double below = slot[j] - high_d;
      const double above = low_d - slot[j];
      const double apart = below > above ? below : above;
      const double near = apart > 0.0 ? apart : 0.0;
      const double far = below > above ? -above : -below;
      least[j] += near * near;
      largest[j] += far * far;
    }
  }
}

SUBMARINE_FOR_WIDEST_REGISTERS void PairTree::SquaredDistances(const double* __restrict point,
                                                               std::size_t leaf,
                                                               double* __restrict squared) const {
  const double* points = points_.data() + leaf * dimension_ * kLeaf;
  for (std::size_t j = 0; j < kLeaf; ++j) {
    const double apart = point[0] - points[j];
    squared[j] = apart * apart;
  }
  for (std::size_t d = 1; d < dimension_; ++d) {
    const double* slot = points + d * kLeaf;
    const double at = point[d];
    for (std::size_t j = 0; j < kLeaf; ++j) {
      const double apart = at - slot[j];
      squared[j] += apart * apart;
    }
  }
}

}  // namespace submarine::internal
