// The kernel that the permutohedral lattice computes, as numbers; lattice_build.h finds the
// vertices.
//
// Features, relative to the middle of their bounding box, are mapped to the plane sum_i e_i = 0 of
// R^(d+1), scaled by `scale` (d+1) and rounded to 2^-22 cells. The points of Z^(d+1) in that plane
// whose coordinates are all congruent mod d+1 form the lattice A*_d. A variable a spreads over the
// d+1 corners of its simplex with barycentric weights S_va, and
//
//   K = amplitude S^T B S,   B = G_1 G_2 ... G_n,   G_k = diag(g_k) + p_k A,
//
// with A the adjacency of the vertices present: v and v +- u_j, u_j = (d+1) e_j - 1, j = 0..d.
// Let c_k be the laziness of pass k. Then p_k = (1 - c_k) / (2 (d+1)), and
// g_k(v) = c_k + kept p_k (missing neighbours of v).
//
// Symmetric, exactly: A is symmetric on every set of vertices, so each G_k is, and c_k = c_(n+1-k)
// makes the product a palindrome: B^T = G_n ... G_1 = B. This holds even where neighbours are
// missing. Nonnegative: every entry of S, g_k and p_k is.
// Positive semidefinite: B = G^T C G with G = G_h...G_1 and the middle pass C = G_(h+1), whose
// laziness is 1/2: its diagonal is at least 1/2, its other entries in a row sum to at most 2 (d+1)
// p = 1/2.
//
// Variance. Per pass and direction of the plane it is 2 p_k (d+1)^2 (sum_j u_j u_j^T = (d+1)^2 on
// the plane), for S and S^T (d+1)^2 / 12 each. They add up to scale^2 (d+1)^2, the variance of
// exp(-|f|^2/2), if
//   scale^2 = 1/6 + sum_k (1 - c_k) / (d+1).
// Mass. Where all vertices are present B's rows sum to 1 and a corner function integrates to the
// volume of a cell, (scale^d sqrt(d+1))^-1; the Gaussian's integral is (2 pi)^(d/2). Hence
//   amplitude = (2 pi)^(d/2) scale^d sqrt(d+1).
// Compared with blurring axis by axis this takes 3 passes instead of 2 (d+1), and is closer to the
// Gaussian (docs/filters.md has the table behind the defaults).
#pragma once

#include <cstddef>
#include <vector>

#include "submarine/filter/kernel/operator_options.h"

namespace submarine::internal {

// Throws InvalidInput naming the option that is out of its range.
void CheckLatticeOptions(const LatticeOptions& options);

struct LatticeStencil {
  int dimension = 0;  // d
  double scale = 0.0;
  double amplitude = 0.0;
  double kept = 0.0;
  std::vector<double> laziness;  // c_k, one per pass, palindromic, odd length
  // The classic filter instead (LatticeOperator::MakeClassic): one pass 1 + (U_j + U_j^T) / 2 per
  // axis j, with cells that start at the origin of the features. K is then not symmetric, and only
  // the length of `laziness` is used.
  bool by_axes = false;

  int neighbour_slots() const { return 2 * (dimension + 1); }
  double NeighbourWeight(double c) const { return (1.0 - c) / neighbour_slots(); }
};

LatticeStencil MakeLatticeStencil(int dimension, const LatticeOptions& options);
LatticeStencil MakeClassicStencil(int dimension);

}  // namespace submarine::internal
