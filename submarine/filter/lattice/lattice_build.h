// From features to the vertices of the permutohedral lattice that they touch (lattice_stencil.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/lattice/lattice_kernels.h"
#include "submarine/filter/lattice/lattice_stencil.h"

namespace submarine::internal {

template <class T>
std::size_t Bytes(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

// Vertices are numbered in the order of their keys, so the numbering depends on the features alone.
struct Lattice {
  std::size_t num_pixels = 0;
  std::size_t num_vertices = 0;
  std::size_t corners = 0;  // d + 1
  std::size_t chunk = 0;    // consecutive pixels that share records of simplices; by N alone

  // Pixels of the same chunk that lie in the same simplex share one record of its corners. Records
  // are in the order of the chunks, within them in the order of their first pixels.
  std::vector<std::uint32_t> simplex_of;      // per pixel
  std::vector<std::uint32_t> simplex_vertex;  // per simplex, `corners` each
  std::vector<float> weight;                  // per pixel, `corners` each: r_a sqrt(amplitude) S_va

  std::vector<std::uint32_t> neighbour_begin;  // per vertex and one more
  std::vector<std::uint32_t> neighbour;        // both directions of every u_j

  std::size_t num_chunks() const { return (num_pixels + chunk - 1) / chunk; }
  // Where the records of a chunk begin: its first pixel has the first of them.
  std::size_t FirstRecord(std::size_t chunk_number) const {
    return chunk_number < num_chunks() ? simplex_of[chunk_number * chunk]
                                       : simplex_vertex.size() / corners;
  }
  PixelCorners pixels() const {
    return {corners, simplex_of.data(), simplex_vertex.data(), weight.data()};
  }
  std::size_t bytes() const;
};

// The transposed view: for every vertex the pixels that spread to it, ascending. A few entries of
// no meaning follow the last one, for kernels that look ahead.
struct SplatLists {
  std::vector<std::uint32_t> begin;  // per vertex and one more
  std::vector<SplatEntry> entry;

  std::size_t bytes() const;
};

// Throws InvalidInput when the features span more lattice cells than can be numbered, and TooLarge
// when construction would hold more than max_bytes at a time: first for what N alone decides, then,
// before neighbours are sought, for what the vertices that were found decide.
Lattice BuildLattice(const GaussianKernel& kernel, const LatticeStencil& stencil,
                     std::size_t max_bytes);

// At most what BuildLattice and BuildSplatLists hold at a time for that many vertices.
std::size_t LatticeBytes(std::size_t num_pixels, std::size_t dimension, std::size_t num_vertices);

SplatLists BuildSplatLists(const Lattice& lattice);

}  // namespace submarine::internal
