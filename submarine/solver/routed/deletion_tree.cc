#include "submarine/solver/routed/deletion_tree.h"

#include <algorithm>
#include <utility>

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
    : points_(std::move(points)), tree_(points_, kBucket), leaf_of_(points_.rows()) {
  for (std::size_t n = 0; n < tree_.nodes().size(); ++n) {
    const auto& node = tree_.nodes()[n];
    alive_.push_back(static_cast<std::ptrdiff_t>(node.end - node.begin));
    for (std::size_t k = node.begin; k < node.end && node.is_leaf(); ++k)
      leaf_of_[tree_.order()[k]] = n;
  }
}

void DeletionTree::Remove(std::uint32_t a) {
  std::size_t n = leaf_of_[a];
  const auto begin = tree_.order().begin() + static_cast<std::ptrdiff_t>(tree_.nodes()[n].begin);
  const auto at = std::find(begin, begin + alive_[n], a);
  std::swap(*at, *(begin + (alive_[n] - 1)));
  for (;; n = tree_.nodes()[n].parent) {
    --alive_[n];
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
  for (; n != 0; n = tree_.nodes()[n].parent) Search(tree_.Sibling(n), f, a, closest);
}

float DeletionTree::BoxDistance(std::size_t n, const float* f) const {
  float squared = 0.0F;
  for (std::size_t d = 0; d < tree_.dimension(); ++d) {
    const float apart = std::max({0.0F, tree_.low(n)[d] - f[d], f[d] - tree_.high(n)[d]});
    squared += apart * apart;
  }
  return squared;
}

void DeletionTree::Search(std::size_t n, const float* f, std::uint32_t self,
                          Closest* closest) const {
  const auto& node = tree_.nodes()[n];
  if (alive_[n] == 0 || closest->Excludes(BoxDistance(n, f))) return;
  if (node.is_leaf()) {
    for (std::size_t k = node.begin; k < node.begin + static_cast<std::size_t>(alive_[n]); ++k) {
      const std::uint32_t b = tree_.order()[k];
      const float* g = points_.row(b).data();
      float squared = 0.0F;
      for (std::size_t d = 0; d < points_.cols(); ++d) squared += (g[d] - f[d]) * (g[d] - f[d]);
      if (b != self) closest->Offer(squared, b);
    }
    return;
  }
  const bool left_first = BoxDistance(node.left, f) <= BoxDistance(node.right, f);
  Search(left_first ? node.left : node.right, f, self, closest);
  Search(left_first ? node.right : node.left, f, self, closest);
}

}  // namespace submarine::internal
