// The forests that a tree-reweighted bound combines, and their weights.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "submarine/model/forest.h"

namespace submarine::internal {

// The shape of a 4- or 8-connected grid in raster order, of which at most half of the edges are
// missing: 4 (rows, columns) or 8 (and both diagonals) directions. 8-connected grids need a width
// of 3.
struct GridShape {
  int width = 0;
  int height = 0;
  int connectivity = 4;
};
std::optional<GridShape> DetectGrid(std::span<const Link> links, std::size_t num_variables);

// The edges of a grid by direction: rows, columns, and for 8-connected grids the two diagonals.
// Each direction is a forest of chains, and all of them run from small to large variables.
std::vector<std::vector<std::size_t>> GridDirections(std::span<const Link> links,
                                                     const GridShape& grid);

// A spanning forest of largest total weight; ties go to the smaller edge number.
std::vector<std::size_t> MaximumSpanningForest(std::span<const Link> links,
                                               std::size_t num_variables,
                                               std::span<const double> weight);

// Spanning forests of equal weight that together hold every edge, few of them and with edge
// probabilities as even as a greedy choice makes them: each takes the edges used least so far, ties
// at random. A graph without cycles is one forest of weight 1.
std::vector<WeightedForest> CoveringForests(std::span<const Link> links, std::size_t num_variables,
                                            std::uint64_t seed);

}  // namespace submarine::internal
