// Routing over a square that products bound from below (extension/routing.h), and flows on what it leaves, without
// looking at pairs, which the plain forms in the test do: sums over 32 x 32 pairs take some 64 terms.
//
// With w the products' weights and an edge (a, b), what both have in common with the columns h of the square is bounded by
// t_h = log k_bh / k_ah, which is linear in f_h: k_bh / k_ah = exp(l + (f_b - f_a).y_h), l that of the centre. Where t has
// the same sign for all h, sum_h min(w_ah, w_bh) is the sum of one or the other; else, with G_a = sum_h w_ah,
//
//   sum_h min(k_ah, k_bh) >= sum_h w_ah (1 - (|t_h| - t_h) / 2) >= G_a + (sum_h w_ah t_h - sqrt(G_a sum_h w_ah t_h^2)) / 2,
//
// in which w_ah <= (1 + cross) times the first product, for the square root, cross the largest |x.y|. a is the end whose
// kernel with the centre is smaller, if it is in the block.
//
// Every route over a pair takes a whole part of its weight: w_ah (1 - part n_a - part n_h) is left, with n_a the number of
// routes over the other block at a.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "submarine/solver/routed/squares/reordered_kernels.h"
#include "submarine/solver/routed/squares/routing_layout.h"

namespace submarine::internal {

// What routing leaves of the rows and columns of a square, and brings to the edges that begin there.
struct ProductRoutes {
  alignas(64) float row_left[kRoutingBlock];
  alignas(64) float column_left[kRoutingBlock];
  alignas(64) float row_gain[kMaxBandwidth]
                            [kRoutingBlock];  // of the edge (row, row + m), at (m - 1, row)
  alignas(64) float column_gain[kMaxBandwidth][kRoutingBlock];
};

// What routing leaves of a square, by rows and columns, where flows are the same for all its pairs: the upper halves of
// floats, and one over their sum.
struct ResidualBlock {
  std::uint32_t row;  // blocks
  std::uint32_t column;
  float over_rows;
  float over_columns;
  std::uint16_t of_row[kRoutingBlock];
  std::uint16_t of_column[kRoutingBlock];
};

// Empty where nothing that counts is left.
std::optional<ResidualBlock> MakeResidualBlock(std::size_t row, std::size_t column,
                                               const float* of_row, const float* of_column);

void RouteProduct(const ReorderedKernel& kernel, const RoutingLayout& layout, std::size_t row,
                  std::size_t column, ProductRoutes* routes);
// flow += q of_row and -= q of_column, for every cut, with q = factor clip(v of the rows - v of the columns, -1, 1), each the mean
// weighted by what is left. v and flow are cuts x stride, by position.
void FlowSquare(const ResidualBlock& left, float factor, std::size_t cuts, std::size_t stride,
                const float* v, float* flow);

}  // namespace submarine::internal
