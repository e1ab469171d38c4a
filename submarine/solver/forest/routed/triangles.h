// The triangles of a graph that weight can be routed along (docs/math.md, "Routing"): an edge, and two
// others that join its ends to a third variable, all with the same metric.
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
  // Keeps a reference to the model. Edges without weight and of metrics that violate the triangle
  // inequality are left out.
  explicit TriangleFinder(const SparseCrf& model);

  // Appends the triangles of the edge; O(least degree of its ends, times log of the other).
  void Append(std::size_t edge, std::vector<Triangle>* triangles) const;
  std::vector<Triangle> Of(std::span<const std::size_t> edges) const;

  // Whether any edge has one. Graphs may have triangles (HasTriangles) without any that can be used here.
  bool Any() const;

  // The weight of every edge if all its triangles were routed to it, each pair being shared by two: what a
  // maximum spanning forest should hold.
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
  std::vector<char> usable_;  // of every edge
  std::vector<std::size_t> begin_;
  std::vector<Neighbour> neighbours_;  // of every variable, ascending
};

// Whether three edges of the graph join three variables, whatever their weights and metrics.
bool HasTriangles(const SparseCrf& model);

}  // namespace submarine::internal
