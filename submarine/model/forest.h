// Forests of a graph, and convex combinations of them, for tree-reweighted bounds.
//
// The edges of a model are numbered as the model lists them: those of a SparseCrf as in edges(),
// those of a FactorGraph are its factors of two variables, in order. Parallel edges are different
// edges and never share a forest.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

struct Link {
  int a = 0;
  int b = 0;
};

std::vector<Link> Links(const SparseCrf& model);
std::vector<Link> Links(const FactorGraph& graph);

// Connected components of a growing graph (union-find).
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t size);
  std::size_t Find(std::size_t x);
  // False when x and y were already in one component.
  bool Join(std::size_t x, std::size_t y);

 private:
  std::vector<std::size_t> parent_;
};

// One forest of a convex combination; a forest may have no edges.
struct WeightedForest {
  double weight = 1.0;
  std::vector<std::size_t> edges;
};

// Throws InvalidInput unless every edge exists and there is no cycle.
void CheckForest(std::span<const std::size_t> edges, std::span<const Link> links,
                 std::size_t num_variables);

// Throws InvalidInput unless there is at least one forest, each passes CheckForest, and the weights
// are >= 0 and add up to 1 (to 1e-9).
void CheckForests(std::span<const WeightedForest> forests, std::span<const Link> links,
                  std::size_t num_variables);

// rho_e: the sum of the weights of the forests that hold edge e.
std::vector<double> EdgeProbabilities(std::span<const WeightedForest> forests,
                                      std::size_t num_edges);

// A forest as a recursion visits it: component by component, parents before children.
struct RootedForest {
  struct Node {
    int variable = 0;
    int parent = -1;       // a variable; -1 at a root
    std::size_t edge = 0;  // to the parent
    bool parent_is_a = false;
  };
  std::vector<Node> nodes;  // one per variable
  std::vector<std::size_t>
      component;  // begin of each component in `nodes`, and the end of the last
};

// The edges must form a forest (CheckForest).
RootedForest Rooted(std::span<const std::size_t> edges, std::span<const Link> links,
                    std::size_t num_variables);

}  // namespace submarine::internal
