// Per-variable numbers of a lattice: row sums, and the self terms k_aa, exactly and without
// applying K to every unit vector.
#pragma once

#include <vector>

#include "submarine/filter/lattice/lattice_build.h"
#include "submarine/filter/lattice/lattice_stencil.h"

namespace submarine::internal {

// k_aa = sum_ij w_i w_j B_ij over the corners of a's simplex. Simplices share vertices, and a
// column of B is needed only at the other corners of the simplices around its vertex: so each
// column is computed once per vertex, and used for all these simplices and their pixels.
std::vector<float> LatticeDiagonal(const Lattice& lattice, const LatticeStencil& stencil);

// sum_b k_ab, k_aa included: the product with a column of ones. Pixels of the same simplex add up
// their weights before they are splatted.
std::vector<float> LatticeRowSums(const Lattice& lattice, const LatticeStencil& stencil);

// Divides the weights by the square roots of the row sums. They are used for splatting and slicing,
// so this normalises the product on both sides. *scale, if not null: what they were multiplied by.
void NormaliseByRowSums(const LatticeStencil& stencil, Lattice* lattice,
                        std::vector<double>* scale);
// The same as pydensecrf does it.
void NormaliseClassic(const LatticeStencil& stencil, Lattice* lattice);

}  // namespace submarine::internal
