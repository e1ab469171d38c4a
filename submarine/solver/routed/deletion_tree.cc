#include "submarine/solver/routed/deletion_tree.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace submarine::internal {
namespace {

constexpr std::size_t kBucket = 8;  // points in a leaf

}  // namespace

// Those seen so far, a heap with the farthest on top. Equal distances are ordered by index.
struct DeletionTree::Closest {
  explicit Closest(std::size_t count) : most(count) { found.reserve(count + 1); }

  // Whether nothing at this squared distance, which may be infinite, is wanted any more.
  bool Excludes(float squared) const {
    return found.size() == most && squared >= found.front().first;
  }
  void Offer(float squared, std::uint32_t a) {
    if (found.size() == most && std::pair(squared, a) >= found.front()) return;
    found.emplace_back(squared, a);
    std::push_heap(found.begin(), found.end());
    if (found.size() <= most) return;
    std::pop_heap(found.begin(), found.end());
    found.pop_back();
  }

  std::size_t most;
  std::vector<std::pair<float, std::uint32_t>> found;
};

DeletionTree::DeletionTree(Matrix<float> points)
    : points_(std::move(points)), dim_(points_.cols()), order_(points_.rows()) {
  std::iota(order_.begin(), order_.end(), 0U);
  leaf_of_.resize(order_.size());
  Build(0, order_.size(), 0);
}

void DeletionTree::Remove(std::uint32_t a) {
  std::size_t n = leaf_of_[a];
  Node& leaf = nodes_[n];
  const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(leaf.begin);
  const auto at = std::find(begin, begin + leaf.alive, a);
  std::swap(*at, *(begin + (leaf.alive - 1)));
  for (;; n = nodes_[n].parent) {
    --nodes_[n].alive;
    if (n == 0) return;
  }
}

std::uint32_t DeletionTree::Nearest(std::uint32_t a) const {
  Closest closest(1);
  Find(a, &closest);
  return closest.found.front().second;
}

std::vector<std::pair<float, std::uint32_t>> DeletionTree::Nearest(std::uint32_t a,
                                                                    std::size_t count) const {
  Closest closest(count);
  Find(a, &closest);
  return std::move(closest.found);
}

// Up from the leaf, into every other child that may hold something nearer.
void DeletionTree::Find(std::uint32_t a, Closest* closest) const {
  const float* f = points_.row(a).data();
  std::size_t n = leaf_of_[a];
  Search(n, f, a, closest);
  while (n != 0) {
    const std::size_t parent = nodes_[n].parent;
    const std::size_t other = nodes_[parent].left == n ? nodes_[parent].right : nodes_[parent].left;
    Search(other, f, a, closest);
    n = parent;
  }
}

std::size_t DeletionTree::Build(std::size_t begin, std::size_t end, std::size_t parent) {
  const std::size_t n = nodes_.size();
  nodes_.push_back({begin, static_cast<std::ptrdiff_t>(end - begin), parent, 0, 0});
  std::vector<float> low(dim_, std::numeric_limits<float>::infinity());
  std::vector<float> high(dim_, -std::numeric_limits<float>::infinity());
  for (std::size_t k = begin; k < end; ++k) {
    for (std::size_t d = 0; d < dim_; ++d) {
      low[d] = std::min(low[d], points_(order_[k], d));
      high[d] = std::max(high[d], points_(order_[k], d));
    }
  }
  box_.insert(box_.end(), low.begin(), low.end());
  box_.insert(box_.end(), high.begin(), high.end());
  if (end - begin <= kBucket) {
    for (std::size_t k = begin; k < end; ++k) leaf_of_[order_[k]] = n;
    return n;
  }
  std::size_t widest = 0;
  for (std::size_t d = 1; d < dim_; ++d) {
    if (high[d] - low[d] > high[widest] - low[widest]) widest = d;
  }
  const std::size_t middle = begin + (end - begin) / 2;
  std::nth_element(order_.begin() + static_cast<std::ptrdiff_t>(begin),
                   order_.begin() + static_cast<std::ptrdiff_t>(middle),
                   order_.begin() + static_cast<std::ptrdiff_t>(end),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return std::pair(points_(a, widest), a) < std::pair(points_(b, widest), b);
                   });
  const std::size_t left = Build(begin, middle, n);
  const std::size_t right = Build(middle, end, n);
  nodes_[n].left = left;
  nodes_[n].right = right;
  return n;
}

float DeletionTree::BoxDistance(std::size_t n, const float* f) const {
  const float* low = box_.data() + 2 * n * dim_;
  const float* high = low + dim_;
  float squared = 0.0F;
  for (std::size_t d = 0; d < dim_; ++d) {
    const float apart = std::max({0.0F, low[d] - f[d], f[d] - high[d]});
    squared += apart * apart;
  }
  return squared;
}

void DeletionTree::Search(std::size_t n, const float* f, std::uint32_t self,
                           Closest* closest) const {
  const Node& node = nodes_[n];
  if (node.alive == 0 || closest->Excludes(BoxDistance(n, f))) return;
  if (node.left == 0) {
    for (std::size_t k = node.begin; k < node.begin + static_cast<std::size_t>(node.alive); ++k) {
      const float* g = points_.row(order_[k]).data();
      float squared = 0.0F;
      for (std::size_t d = 0; d < dim_; ++d) squared += (g[d] - f[d]) * (g[d] - f[d]);
      if (order_[k] != self) closest->Offer(squared, order_[k]);
    }
    return;
  }
  const bool left_first = BoxDistance(node.left, f) <= BoxDistance(node.right, f);
  Search(left_first ? node.left : node.right, f, self, closest);
  Search(left_first ? node.right : node.left, f, self, closest);
}

}  // namespace submarine::internal
