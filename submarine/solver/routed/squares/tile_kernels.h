// The inner loops of TilePairs: squares of pairs between two blocks of positions that follow each other
// on paths.
#pragma once

#include <cstddef>
#include <cstdint>

#include "submarine/extension/routing.h"

namespace submarine::internal {

inline constexpr std::size_t kTile = kRoutingBlock;
// Beyond each side of a tile stand the neighbours on the path.
inline constexpr std::size_t kTileStride = 48;  // >= kTile + 2 kMaxBandwidth, whole registers
static_assert(kTileStride >= kTile + 2 * static_cast<std::size_t>(kMaxBandwidth));

// A tile with its neighbours: row r, column c is the pair of positions (first_row - k + r,
// first_column - k + c), k the bandwidth.
struct Tile {
  alignas(64) float value[kTileStride * kTileStride];
};

// What routing leaves of a tile and brings to the edges of its rows and columns.
struct TileRoutes {
  alignas(64) float residual[kTile * kTile];          // w - u
  alignas(64) float row_gain[kMaxBandwidth * kTile];  // of the edge (row, row + m), at (m - 1, row)
  alignas(64) float column_gain[kMaxBandwidth * kTile];
};

struct TileRule {
  const Tile* distance = nullptr;  // D; null: route everywhere, where there is an edge
  // Thresholds of the edges from row or column r - k to r - k + m, k the bandwidth, at (m - 1, r); minus infinity
  // where there is no edge.
  float row_limit[kMaxBandwidth][kTile + kMaxBandwidth];
  float column_limit[kMaxBandwidth][kTile + kMaxBandwidth];
};

// k = scale_p scale_q exp(-|f_p - f_q|^2 / 2), 0 for p = q. Coordinate d of position p is
// coordinates[d * stride + p]; positions from -kTileStride to kTileStride beyond the last may be read, and
// have scale 0.
void GaussianTile(const float* coordinates, std::size_t stride, std::size_t dimension,
                  const float* scale, std::ptrdiff_t first_row, std::ptrdiff_t first_column,
                  int bandwidth, Tile* tile);
// sum over cuts of length |z_p - z_q|.
void DistanceTile(const float* z, std::size_t stride, std::size_t cuts, const float* length,
                  std::ptrdiff_t first_row, std::ptrdiff_t first_column, int bandwidth, Tile* tile);
// Adds to `routes`.
void RouteTile(const Tile& weights, const TileRule& rule, float part, int bandwidth,
               TileRoutes* routes);
// row[i] += factor sum_j w_ij clip(v_i - v_j, -1, 1), column[j] -= factor sum_i of the same. Weights are the
// upper halves of floats.
void FlowTile(const std::uint16_t* weights, float factor, const float* v_row, const float* v_column,
              float* row, float* column);

}  // namespace submarine::internal
