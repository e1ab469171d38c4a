// The self terms k_aa of a lattice, exactly, without applying it to every unit vector.
#pragma once

#include <vector>

#include "submarine/filter/lattice/lattice_build.h"
#include "submarine/filter/lattice/lattice_stencil.h"

namespace submarine::internal {

// k_aa = sum_ij w_i w_j B_ij over the corners of a's simplex. Simplices share vertices, and a column
// of B is needed only at the other corners of the simplices around its vertex: once per vertex,
// and from there to the simplices and their pixels.
std::vector<float> LatticeDiagonal(const Lattice& lattice, const LatticeStencil& stencil);

}  // namespace submarine::internal
