// The self terms k_aa of a lattice, exactly, without applying it to every unit vector.
#pragma once

#include <vector>

#include "submarine/filter/lattice_build.h"
#include "submarine/filter/lattice_stencil.h"

namespace submarine {

// k_aa = sum_ij w_i w_j B_ij over the corners of a's simplex. B = G^T C G (lattice_stencil.h), so
// B_ij = <G e_i, C G e_j>, all supported near the simplex: once per simplex, shared by its pixels.
std::vector<float> LatticeDiagonal(const Lattice& lattice, const LatticeStencil& stencil);

}  // namespace submarine
