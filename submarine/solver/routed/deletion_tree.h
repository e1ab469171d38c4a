// Nearest neighbours among points that are taken away one by one: a tree of boxes that knows how many points each of them
// still holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/box_tree.h"

namespace submarine::internal {

class DeletionTree {
 public:
  explicit DeletionTree(Matrix<float> points);

  void Remove(std::uint32_t a);

  // The nearest point that is left. There must be one.
  std::uint32_t Nearest(std::uint32_t a) const;
  // Squared distances and points: the nearest ones that are left, at most `count` of them.
  std::vector<std::pair<float, std::uint32_t>> Nearest(std::uint32_t a, std::size_t count) const;

 private:
  struct Closest;

  float BoxDistance(std::size_t n, const float* f) const;
  void Find(std::uint32_t a, Closest* closest) const;
  void Search(std::size_t n, const float* f, std::uint32_t self, Closest* closest) const;

  Matrix<float> points_;
  BoxTree<float> tree_;
  std::vector<std::size_t> leaf_of_;   // of every point
  std::vector<std::ptrdiff_t> alive_;  // points of every node, the first ones of a leaf
};

}  // namespace submarine::internal
