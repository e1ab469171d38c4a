// Squares of pairs that products bound from below (extension/routing.h), for the verifier of dense routed bounds; not for
// use elsewhere. For a kernel k, blocks with centres c_A and c_B, f_a = c_A + x, f_h = c_B + y,
//
//   k_ah = K exp(-|f_a - c_B|^2 / 2) exp(-|f_h - c_A|^2 / 2) exp(x.y),    K = exp(|c_A - c_B|^2 / 2),
//
// and w_ah is the same with 1 + x.y <= exp(x.y) in place of the last factor, not negative where |x.y| <= 1. The log of
// k_bh / k_ah is t_h = l + (f_b - f_a).y, l that of c_B, so that with G_a = sum_h w_ah and min(1, exp t) >= 1 - (|t| - t) / 2
//
//   sum_h min(k_ah, k_bh) >= G_a + (sum_h w_ah t_h - sqrt(G_a sum_h w_ah t_h^2)) / 2      (Cauchy-Schwarz),
//
// and G_a where all t_h >= 0, G_b where all are <= 0. Each of at most 4 bandwidth routes over a pair is given all of its
// `part` of w_ah, so that w_ah (1 - part n_a - part n_h) is left of it, whatever routes others took from k_ah - w_ah.
#pragma once

#include <cstddef>

#include "submarine/bound/verify/dense/routed/routed_rows_internal.h"

namespace submarine::internal::routed_products {

using routed_rows::kHalo;
using routed_rows::kSide;
using routed_rows::kStride;

// A block of positions, from kHalo before it on: features (dimension x stride), and the edges that are routed over the
// other block.
struct Block {
  const double* features;
  const double* scale;
  const double* log_scale;
  const double* centre;
  double radius = 0.0;
  double edge[kMaxBandwidth][kStride] =
      {};                    // 1 or 0, of the edge that begins there, at (m - 1, position)
  double count[kSide] = {};  // of routes that a position takes part in
};

struct Result {
  double left[kSide];                 // of each position: w (1 - ...) summed over the other block
  double gain[kMaxBandwidth][kSide];  // of the edges that begin in the block
};

struct Square {
  std::size_t dimension;
  std::size_t stride;
  std::size_t bandwidth;
  double part;
  double factor;  // of the kernel
  double cross;   // |x.y| is at most this
};

// Both sides of a square, for factors and scales between 1e-100 and 1e100. Returns the sum of the products without x.y, for
// bounds of rounding errors: each result is off by at most kRoundings ulps of its share of it.
inline constexpr double kRoundings = 65536.0;
double SumProducts(const Square& square, const Block& rows, const Block& columns, Result* of_rows,
                   Result* of_columns);

}  // namespace submarine::internal::routed_products
