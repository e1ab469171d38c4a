// Recomputes tree-reweighted upper bounds from the raw model and the evidence alone, in
// plain double loops over all pairs of labels: log-domain sum-product on each tree, no fast
// messages. Every value is rounded upwards by a bound on its error. Temperatures that are negative
// or not finite throw InvalidInput; at T = 0 the bound is on -min E.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/extension/evidence.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

// Where the forests' average differs from the model's unaries, the bound adds the largest
// difference per variable, and for an edge in no forest its least energy: it holds for every
// evidence of the right shape. The first overload uses the distances of the model's metrics, not
// their cuts. -infinity proves that no labeling has positive probability. Throws InvalidInput for
// wrong shapes, energies or unaries too large to add up, unaries that are not finite, and invalid
// forests; NotExpressible for factors of more than two variables.
// A tilted bound holds copies of the model and the evidence.
Bound VerifiedTrwUpper(const SparseCrf& model, const TrwEvidence& evidence, double temperature,
                       TiltedPlace tilted = nullptr);
Bound VerifiedTrwUpper(const FactorGraph& graph, const TrwEvidence& evidence, double temperature,
                       TiltedPlace tilted = nullptr);

}  // namespace submarine::internal
