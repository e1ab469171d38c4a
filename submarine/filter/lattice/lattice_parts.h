// Splatting from many ranges of pixels in parallel: each range sums into rows of its own, one per
// vertex that it touches, and then every vertex adds up its few rows. The ranges are fixed, so sums
// do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "submarine/filter/lattice/lattice_build.h"

namespace submarine::internal {

struct SplatParts {
  std::size_t part_pixels = 0;  // whole chunks of the lattice
  // Part p is the pixels from p * part_pixels on; its rows are row_begin[p]..row_begin[p+1].
  std::vector<std::uint32_t> row_begin;
  std::vector<std::uint32_t> corner_row;  // like Lattice::simplex_vertex, with rows for vertices

  // The rows of vertex v, ascending, all with weight 1: row_of_vertex[begin[v]..begin[v+1]]. A few
  // entries of padding follow the last one, for kernels that read ahead.
  std::vector<std::uint32_t> begin;
  std::vector<SplatEntry> row_of_vertex;

  // Nothing was built, because with so many rows splatting per vertex (SplatToVertices) is cheaper.
  bool empty() const { return row_begin.empty(); }
  std::size_t num_rows() const { return row_begin.back(); }
  PixelCorners pixels(const Lattice& lattice) const {
    return {lattice.corners, lattice.simplex_of.data(), corner_row.data(), lattice.weight.data()};
  }
  std::size_t bytes() const;
};

SplatParts BuildSplatParts(const Lattice& lattice);

}  // namespace submarine::internal
