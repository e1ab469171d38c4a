// One number per variable of what a lattice computes: self terms k_aa, exactly, without applying it to every unit
// vector, and row sums.
#pragma once

#include <vector>

#include "submarine/filter/lattice/lattice_build.h"
#include "submarine/filter/lattice/lattice_stencil.h"

namespace submarine::internal {

// k_aa = sum_ij w_i w_j B_ij over the corners of a's simplex. Simplices share vertices, and a column
// of B is needed only at the other corners of the simplices around its vertex: once per vertex,
// and from there to the simplices and their pixels.
std::vector<float> LatticeDiagonal(const Lattice& lattice, const LatticeStencil& stencil);

// sum_b k_ab, k_aa included: the product with a column of ones. Pixels of the same simplex add their weights before
// any vertex is met.
std::vector<float> LatticeRowSums(const Lattice& lattice, const LatticeStencil& stencil);

// Divides the weights by the square roots of the row sums. They serve spreading and slicing, so that this stands on both
// sides of the product.
void NormaliseByRowSums(const LatticeStencil& stencil, Lattice* lattice);

}  // namespace submarine::internal
