// Nearest neighbours among points that are taken away one by one: a k-d tree that knows how many points each of its
// boxes still holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "submarine/base/matrix.h"

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
  struct Node {
    std::size_t begin = 0;
    std::ptrdiff_t alive = 0;
    std::size_t parent = 0;
    std::size_t left = 0;  // 0: a leaf
    std::size_t right = 0;
  };

  std::size_t Build(std::size_t begin, std::size_t end, std::size_t parent);
  float BoxDistance(std::size_t n, const float* f) const;
  void Find(std::uint32_t a, Closest* closest) const;
  void Search(std::size_t n, const float* f, std::uint32_t self, Closest* closest) const;

  Matrix<float> points_;
  std::size_t dim_;
  std::vector<std::uint32_t> order_;
  std::vector<std::size_t> leaf_of_;
  std::vector<Node> nodes_;
  std::vector<float> box_;
};

}  // namespace submarine::internal
