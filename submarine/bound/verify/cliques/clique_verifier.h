// From a model with cliques to models of pairs that bound it, whose own verifiers do the rest (docs/math.md, "Cliques").
// What a solver leaves is only used after it was repaired: any numbers make a valid model, good ones a close one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/model/clique.h"

namespace submarine::internal {

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

// Likewise, with energies that are at least the model's: for any mixture P_c of holders h (labels, and none with what is left
// of 1) of every clique
//
//   psi_c(x) <= sum_h P_ch theta sum_a u_a [x_a != h] + (1 - sum_h P_ch) gamma.
//
// So every lower bound on log Z of the result is one of the model's. P is cliques x labels. Throws InvalidInput for other
// shapes, numbers below 0, and sums beyond 1 by more than rounding.
SparseCrf PairsAbove(const CliqueCrf<SparseCrf>& model, const Matrix<double>& holders);
DenseCrf PairsAbove(const CliqueCrf<DenseCrf>& model, const Matrix<double>& holders);

// A model of pairs with a variable more for every clique, whose labels are those of the model and "none": one of its states
// has at most the model's energy for every labeling, so that every upper bound on log Z of the result is one of the model's.
// An edge of weight theta u_a leads from every member to the variable of its clique; "none" is half as far from every label as
// they are from each other, and costs gamma - theta U / 2. Members do not take that label: it costs so much more than the
// others that next to nothing is added at this temperature. None where there are as many labels as a model can have, or
// energies too large to add to.
std::optional<SparseCrf> WithLatentLabels(const CliqueCrf<SparseCrf>& model, double temperature);
// Of the model, from a tilted bound of that one.
std::shared_ptr<const TiltedUpper> OfMembers(std::size_t num_variables, std::size_t num_labels,
                                             std::shared_ptr<const TiltedUpper> latent);

// From an upper bound on the energy of a labeling in `known`, which has the pairs of the model and any unaries and
// constant, to one on its energy in the model.
Bound EnergyFrom(const CliqueCrf<SparseCrf>& model, const SparseCrf& known, const Bound& energy,
                 std::span<const int> labeling);
Bound EnergyFrom(const CliqueCrf<DenseCrf>& model, const DenseCrf& known, const Bound& energy,
                 std::span<const int> labeling);

// From a lower bound on T H(y) - <E>_y in `known`, which has the pairs of the model and any unaries and constant, to one in
// the model: a lower bound on T log Z_T. Rows of y are normalised first, as in the bound given. Expectations of cliques are
// bounded from above, label by label, by the smaller of
//
//   E psi = gamma - theta sum_l E (Q - N_l)^+,    N_l = sum_a u_a [x_a != l],
//
// by convolution, exact where weights are multiples of the least one and few of them make Q, and Jensen's inequality.
// Throws InvalidInput for another shape, and for rows that are no distributions.
Bound LowerFrom(const CliqueCrf<SparseCrf>& model, const SparseCrf& known, const Bound& lower,
                const Matrix<double>& y);
Bound LowerFrom(const CliqueCrf<DenseCrf>& model, const DenseCrf& known, const Bound& lower,
                const Matrix<float>& y);

// From a lower bound on the dual value T H(y) - f(y) of the pairs alone at marginals y to one of the model.
Bound DualFrom(const CliqueCrf<SparseCrf>& model, const Bound& of_pairs,
               const Matrix<double>& marginals);

}  // namespace submarine::internal
