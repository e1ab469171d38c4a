// The inner loops of the lattice.
#pragma once

#include <cstddef>
#include <cstdint>

#include "submarine/filter/lattice/lattice_keys.h"

namespace submarine::internal {

// Rows of vertices are padded to a multiple of this many channels.
inline constexpr std::size_t kLatticeLanes = 8;
inline std::size_t PaddedChannels(std::size_t channels) {
  return (channels + kLatticeLanes - 1) / kLatticeLanes * kLatticeLanes;
}

// The number of points located at a time.
inline constexpr std::size_t kLocateBlock = 64;

// The positions of kLocateBlock points, coordinate by coordinate.
struct LocatedPoints {
  std::int32_t cell[kMaxCorners][kLocateBlock];  // c_i of the corner with remainder 0
  std::int32_t rank[kMaxCorners][kLocateBlock];  // of e_i / (d+1) - c_i in descending order
  float weight[kMaxCorners][kLocateBlock];  // barycentric coordinate of the corner with remainder r
  std::int32_t
      repeats[kLocateBlock];  // not 0: the simplex of the point before; always 0 for the first
};

// The rows that a channel-wise kernel reads or adds to: row a starts at data + a * stride.
struct RowsView {
  const float* data;
  std::size_t stride;
  // Rows below this may be read up to the padded number of channels without leaving the allocation.
  std::size_t readable;
};

// The pixels that spread to a vertex v: entries begin[v]..begin[v+1].
struct SplatEntry {
  std::uint32_t pixel;
  float weight;
};

// The vertices that a pixel a spreads to: weights a * corners + i, vertices
// simplex_vertex[simplex_of[a] * corners + i].
struct PixelCorners {
  std::size_t corners;
  const std::uint32_t* simplex_of;
  const std::uint32_t* simplex_vertex;
  const float* weight;

  PixelCorners From(std::size_t pixel) const {
    return {corners, simplex_of + pixel, simplex_vertex, weight + pixel * corners};
  }
};

// The rows that SliceOnto adds to: base_a - self_a x_a. All rows may be read up to the padded
// number of channels.
struct SliceBase {
  const float* base;
  std::size_t base_stride;
  const float* self;  // null: no such term
  float self_factor;  // of all self_a
  const float* x;
  std::size_t x_stride;
};

struct BlurPass {
  const std::uint32_t* begin;  // neighbours of v: begin[v]..begin[v+1]
  const std::uint32_t* neighbour;
  float centre;       // c + kept p (slots): g(v) = centre - per_present (neighbours)
  float per_present;  // kept p
  float move;         // p
};

// The nearest multiple of 2^-22. LocatePoints computes exactly with these, fused or not, so that
// every CPU finds the same simplices.
inline double QuantizeFeature(double f) {
  constexpr double kShift = 1.5 * (1 << 30);  // between 2^30 and 2^31 doubles are 2^-22 apart
  return (f + kShift) - kShift;
}

// feature + i * kLocateBlock: coordinate i < d of the points, times scale / sqrt((i+1)(i+2)),
// quantized, below 1e8.
void LocatePoints(const double* feature, int d, LocatedPoints* out);

// z_v = sum_b S_vb x_b for vertices begin..end-1.
void SplatToVertices(const RowsView& x, std::size_t channels, const std::uint32_t* begin,
                     const SplatEntry* entry, std::size_t first, std::size_t last, float* z);

// z_v += S_vb x_b for pixels first..last-1.
void SplatFromPixels(const RowsView& x, std::size_t channels, const PixelCorners& pixels,
                     std::size_t first, std::size_t last, float* z);

// out_v = (G in)_v for vertices first..last-1; rows of `padded` channels.
void BlurVertices(const BlurPass& pass, const float* in, std::size_t padded, std::size_t first,
                  std::size_t last, float* out);

// out_a += factor (sum_v S_va z_v - self_a x_a) for pixels first..last-1; self null: no such term.
void SliceToPixels(const float* z, std::size_t z_stride, std::size_t channels,
                   const PixelCorners& pixels, const float* self, const RowsView& x, float factor,
                   std::size_t first, std::size_t last, float* out, std::size_t out_stride);

// out_a = base_a - self_factor self_a x_a + sum_v S_va z_v for pixels 0..count-1; rows of z and out
// have `padded` channels, and out may be base.
void SliceOnto(const float* z, std::size_t padded, const PixelCorners& pixels,
               const SliceBase& onto, std::size_t count, float* out);

// s_i = sum_k clamp((v_i - node_ki) slope_ki, 0, 1), k < cells; rows of nodes and slopes have
// stride `padded`. Returns whether any s_i is positive.
bool LevelRow(const float* v, std::size_t n, const float* node, const float* slope,
              std::size_t cells, std::size_t padded, float* s);

}  // namespace submarine::internal
