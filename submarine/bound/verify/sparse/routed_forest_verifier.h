// Recomputes routed bounds of sparse models (docs/math.md, "Routing") from the raw model and the
// evidence alone: the routes are applied to the weights once more, rounded to the safe side, which
// gives a model whose energy is nowhere above the given one. It is then bounded by trw_verifier.h
// and hybrid_dual.h.
#pragma once

#include "submarine/bound/bound.h"
#include "submarine/extension/evidence.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

// The bound on T log Z_T that the routes, the forest and the flows prove. Throws InvalidInput for
// an invalid proof: edges that do not form a forest; a route for an edge outside the forest, over
// edges that do not form a triangle with it or have another metric, or of an amount that is
// negative or not finite; edges that spend more than their weight; flows that VerifiedHybridUpper
// refuses.
Bound VerifiedRoutedUpper(const SparseCrf& model, const HybridPart& evidence, double temperature);

// A lower bound on VerifiedRoutedUpper for these routes, this forest and every flow.
Bound VerifiedRoutedDual(const SparseCrf& model, const HybridPart& evidence, double temperature);

// The largest factor, at most 1, for which d(i,k) + d(k,j) >= factor d(i,j) for all labels, also
// with the indices of d exchanged, rounded downwards: 1 up to rounding where d is a metric.
double TriangleFactor(const Matrix<double>& distance);

}  // namespace submarine::internal
