// From a model with cliques to models of pairs that bound it, whose own verifiers do the rest (docs/math.md, "Cliques").
// What a solver leaves is only used after it was repaired: any numbers make a valid model, good ones a close one.
#pragma once

#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/model/clique.h"

namespace submarine::internal {

// The label that a clique is counted as deviating from, or none, where it is counted as gamma.
inline constexpr int kNoHolder = -1;

// The same pairs with other unaries and another constant, so that for every labeling, rounding included, the energy is at
// most the model's:
//
//   psi_c(x) >= gamma - theta sum_a q_{c a x_a}    for 0 <= q <= u, sum_a q_cal >= Q.
//
// q (memberships x labels) as in extension/clique_extension.h; entries outside 0..u are clipped, and what a sum lacks of Q
// is taken from the constant. Throws InvalidInput for another shape, and for NaN. So every upper bound on log Z of the
// result is one of the model's.
SparseCrf PairsBelow(const CliqueCrf<SparseCrf>& model, const Matrix<double>& q);
DenseCrf PairsBelow(const CliqueCrf<DenseCrf>& model, const Matrix<float>& q);

// Likewise, with energies that are at least the model's: for any holder h_c (a label, or kNoHolder) of every clique
//
//   psi_c(x) <= theta sum_a u_a [x_a != h_c],   psi_c(x) <= gamma.
//
// So every lower bound on log Z of the result is one of the model's. Throws InvalidInput for other numbers.
SparseCrf PairsAbove(const CliqueCrf<SparseCrf>& model, std::span<const int> holders);
DenseCrf PairsAbove(const CliqueCrf<DenseCrf>& model, std::span<const int> holders);

// From an upper bound on the energy of a labeling in `known`, which has the pairs of the model and any unaries and
// constant, to one on its energy in the model.
Bound EnergyFrom(const CliqueCrf<SparseCrf>& model, const SparseCrf& known, const Bound& energy,
                 std::span<const int> labeling);
Bound EnergyFrom(const CliqueCrf<DenseCrf>& model, const DenseCrf& known, const Bound& energy,
                 std::span<const int> labeling);

// From a lower bound on the dual value T H(y) - f(y) of the pairs alone at marginals y to one of the model.
Bound DualFrom(const CliqueCrf<SparseCrf>& model, const Bound& of_pairs,
               const Matrix<double>& marginals);

}  // namespace submarine::internal
