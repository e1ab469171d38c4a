// Recomputes the lower bound of forest mean field (docs/math.md, "Mean field") from the raw model
// and the evidence alone, rounded downwards.
#pragma once

#include "submarine/bound/bound.h"
#include "submarine/extension/evidence.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

// T H(P) - <E>_P of the distribution P, which is at most T log Z_T: trees are independent under P,
// so that an edge between two of them costs w sum_ij y_ai y_bj d(i,j), with the metric of the
// model. Throws InvalidInput for evidence that is not a distribution on a forest, and for edges
// outside the forest that join two variables of one tree: these are not independent, and marginals
// do not give their cost.
Bound VerifiedForestLower(const SparseCrf& model, const ForestDistribution& distribution,
                          double temperature);

}  // namespace submarine::internal
