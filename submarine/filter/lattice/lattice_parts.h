// Splatting from many ranges of pixels in parallel: each range sums into rows of its own, one per
// vertex that it touches, which are then added to the vertices, range by range. The ranges are fixed,
// so sums do not depend on the number of threads, nor on how many ranges have rows at a time.
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
  // Like Lattice::simplex_vertex, with rows for vertices, counted from the first one of the part.
  std::vector<std::uint32_t> corner_row;
  std::vector<std::uint32_t> vertex_of_row;  // no two rows of a part are of the same vertex

  // Nothing was built: there are so many rows that splatting per vertex (SplatToVertices) is cheaper.
  bool empty() const { return row_begin.empty(); }
  std::size_t num_parts() const { return row_begin.size() - 1; }
  std::size_t num_rows() const { return row_begin.back(); }
  // Of parts 0..count-1, count..2 count-1, ...: the most.
  std::size_t MostRows(std::size_t count) const;
  PixelCorners pixels(const Lattice& lattice) const {
    return {lattice.corners, lattice.simplex_of.data(), corner_row.data(), lattice.weight.data()};
  }
  std::size_t bytes() const;
};

SplatParts BuildSplatParts(const Lattice& lattice);

// SplatParts::part_pixels of any lattice with as many pixels.
std::size_t PartPixels(const Lattice& lattice);

// How many parts have rows at a time: enough for this number of threads.
std::size_t PartsAtOnce(std::size_t threads);

}  // namespace submarine::internal
