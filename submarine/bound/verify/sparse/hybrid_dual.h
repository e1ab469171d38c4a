// Recomputes the dual value of the hybrid bound (solver/forest/hybrid.h) from the raw model and the
// evidence alone, rounded downwards.
#pragma once

#include <cstddef>
#include <span>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

// A lower bound on VerifiedHybridUpper for this forest and every flow. With y the marginals of a
// distribution P on the forest, and z their sums over cuts,
//
//   D(P) = T H(P) - <phi,y> - E_forest(P) - sum over other edges and cuts of w l |z_a - z_b| - constant
//
// is such a bound for every P; the result is the larger of two. The first P is that of the forest
// with the node costs `costs` (variables x labels) at temperature T, *defined* by its conditional
// probabilities as computed, so that sum-product needs no error bounds. In the second every tree
// takes one label as a whole. Throws InvalidInput for wrong shapes and costs that are not finite.
Bound VerifiedHybridDual(const SparseCrf& model, std::span<const std::size_t> forest,
                         const Matrix<double>& costs, double temperature);

}  // namespace submarine::internal
