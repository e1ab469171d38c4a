// Finds the vertices of the permutohedral lattice that given features touch (lattice_stencil.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/aligned_memory.h"
#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/lattice/lattice_kernels.h"
#include "submarine/filter/lattice/lattice_stencil.h"

namespace submarine::internal {

// Not initialised: every entry is written before it is read.
template <class T>
using LargeArray = std::vector<T, UninitialisedAllocator<T>>;

template <class T, class Allocator>
std::size_t Bytes(const std::vector<T, Allocator>& values) {
  return values.capacity() * sizeof(T);
}

// The features that a lattice is built for, in the precision in which they are stored. A view: the
// data must outlive it.
struct LatticePoints {
  explicit LatticePoints(const GaussianKernel& kernel)
      : name(kernel.name), wide(&kernel.features), scale(kernel.scale) {}
  LatticePoints(std::string called, const Matrix<float>& features)
      : name(std::move(called)), narrow(&features) {}

  std::string name;
  const Matrix<double>* wide = nullptr;  // this or
  const Matrix<float>* narrow = nullptr;
  std::span<const double> scale = {};  // r_a, empty for all ones

  std::size_t size() const { return wide != nullptr ? wide->rows() : narrow->rows(); }
  std::size_t dimension() const { return wide != nullptr ? wide->cols() : narrow->cols(); }
};

// Vertices are numbered in the order of their keys, so the numbering depends on the features alone.
struct Lattice {
  std::size_t num_pixels = 0;
  std::size_t num_vertices = 0;
  std::size_t corners = 0;  // d + 1
  std::size_t chunk = 0;    // consecutive pixels that share records of simplices; depends on N only
  std::size_t chunk_vertices = 0;  // of a chunk, summed over the chunks

  // Pixels of the same chunk that lie in the same simplex share one record of its corners. Records
  // are in the order of the chunks, and within a chunk in the order of their first pixels.
  LargeArray<std::uint32_t> simplex_of;      // per pixel
  LargeArray<std::uint32_t> simplex_vertex;  // per simplex, `corners` each
  LargeArray<float> weight;                  // per pixel, `corners` each: r_a sqrt(amplitude) S_va

  std::vector<std::uint32_t>
      neighbour_begin;                   // per vertex, plus the end; if by_axes, for every axis
  std::vector<std::uint32_t> neighbour;  // both directions of every u_j

  std::size_t num_chunks() const { return (num_pixels + chunk - 1) / chunk; }
  // The first record of a chunk, which is that of its first pixel.
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
// padding follow the last one, for kernels that read ahead.
struct SplatLists {
  std::vector<std::uint32_t> begin;  // per vertex and one more
  std::vector<SplatEntry> entry;

  std::size_t bytes() const;
};

// Throws InvalidInput when the features span more lattice cells than can be numbered, and TooLarge
// when construction would hold more than max_bytes at a time: checked first from N alone, then,
// before neighbours are searched for, from the number of vertices found.
Lattice BuildLattice(const LatticePoints& points, const LatticeStencil& stencil,
                     std::size_t max_bytes);

// The number of consecutive chunks that are splatted together (lattice_parts.h).
std::size_t ChunksOfPart(std::size_t num_chunks);

// The counts that determine the memory of a lattice, found without building one
// (filter/lattice_memory.h). With many pixels, only an eighth of all keys is counted, times 8: off
// by a percent or two where there are enough vertices to matter.
struct LatticeCounts {
  std::size_t pixels = 0;
  std::size_t dimension = 0;
  std::size_t vertices = 0;
  std::size_t simplices = 0;       // number of records, see Lattice
  std::size_t chunk_vertices = 0;  // vertices of a chunk, summed over the chunks
  std::size_t parts = 1;           // see lattice_parts.h
  std::size_t part_rows = 0;       // vertices of a part, summed over the parts

  bool operator==(const LatticeCounts&) const = default;
};

// Throws InvalidInput like BuildLattice.
LatticeCounts CountLattice(const LatticePoints& points, const LatticeStencil& stencil);

// Pass k of the blur, times `scale`.
BlurPass MakeBlurPass(const Lattice& lattice, const LatticeStencil& stencil, std::size_t k,
                      double scale);

// An upper bound on what BuildLattice and BuildSplatLists hold at a time for this many vertices.
std::size_t LatticeBytes(std::size_t num_pixels, std::size_t dimension, std::size_t num_vertices);

SplatLists BuildSplatLists(const Lattice& lattice);

}  // namespace submarine::internal
