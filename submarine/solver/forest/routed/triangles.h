// The triangles of a graph along which weight can be routed (docs/math.md, "Routing"): an edge, and
// two others that join its ends to a third variable, all with the same metric.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

struct Triangle {
  std::size_t edge = 0;
  std::size_t first = 0;   // from the edge's a to the third variable
  std::size_t second = 0;  // from the edge's b to it
};

// Finds the triangles of an edge by looking up the neighbours of one end among those of the other.
class TriangleFinder {
 public:
  // Keeps a reference to the model. Edges of weight 0, and of metrics that violate the triangle
  // inequality, are left out.
  explicit TriangleFinder(const SparseCrf& model);

  // Appends the triangles of the edge; O(smaller degree of its ends times log of the larger).
  void Append(std::size_t edge, std::vector<Triangle>* triangles) const;
  std::vector<Triangle> Of(std::span<const std::size_t> edges) const;

  // Whether any edge has one. A graph may have triangles (HasTriangles) none of which is usable
  // here.
  bool Any() const;

  // The weight that every edge would have if all its triangles were routed to it, each pair being
  // shared by two: the weights for a maximum spanning forest.
  std::vector<double> RoutedWeights() const;

 private:
  struct Neighbour {
    int variable = 0;
    std::size_t edge = 0;
  };
  std::span<const Neighbour> NeighboursOf(int a) const {
    const auto k = static_cast<std::size_t>(a);
    return {neighbours_.data() + begin_[k], neighbours_.data() + begin_[k + 1]};
  }

  const SparseCrf& model_;
  std::vector<char> usable_;  // per edge
  std::vector<std::size_t> begin_;
  std::vector<Neighbour> neighbours_;  // per variable, ascending
};

// Whether any three edges of the graph form a triangle, whatever their weights and metrics.
bool HasTriangles(const SparseCrf& model);

}  // namespace submarine::internal
