// A partition of a graph into induced trees: every edge between variables of one tree belongs to
// it, so that all other edges join variables that are independent when the trees are.
#pragma once

#include <cstddef>
#include <vector>

#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

struct InducedForest {
  std::vector<std::size_t> edges;  // of the trees, ascending
  // The variables of every tree; trees are ordered by their smallest variable. Trees of the same
  // colour are not adjacent.
  std::vector<std::vector<int>> trees;
  std::vector<int> colour;
  int num_colours = 0;
};

// Grids: rows or columns, whichever have the larger weight. Other graphs: edges, from heavy to
// light, join two trees if they are the only edge between them.
InducedForest InducedForestOf(const SparseCrf& model);

// Given the edges of the trees, which must be induced.
InducedForest InducedForestOf(const SparseCrf& model, std::vector<std::size_t> edges);

}  // namespace submarine::internal
