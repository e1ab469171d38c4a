// Recomputes the claims of a certificate from the raw model and the evidence alone: plain double
// loops over labels, edges and sets, sharing neither kernels nor cut programs with the solvers.
// Every value is rounded to its safe side by a bound on the error of the summation. Temperatures
// that are negative or not finite throw InvalidInput.
#pragma once

#include <span>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/extension/sparse_extension.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

// The bound on T log Z_T that `flow` proves. Throws InvalidInput when the flow is not a proof:
// wrong shape, |edge flow| > 1, or cycle flow outside [0, 1]. There is a tilted bound of the optimal
// extension only: the other one's flow is of the unaries.
Bound VerifiedUpper(const SparseCrf& model, ExtensionKind kind, const Flow& flow,
                    double temperature, TiltedPlace tilted = nullptr);

// The bound by flow 0 on all edges of the optimal extension, that is by the unaries alone: edges
// can only reduce Z.
Bound VerifiedUnaryUpper(const SparseCrf& model, double temperature, TiltedPlace tilted = nullptr);

// T H(y) - f(y) - offset at the marginals, f the Lovasz extension: a lower bound on the least upper
// bound. Rows are normalised first; a row that is not a distribution (negative, NaN, zero) throws
// InvalidInput.
Bound VerifiedDual(const SparseCrf& model, ExtensionKind kind, const Matrix<double>& marginals,
                   double temperature);

// The mean-field free energy T H(y) - <E> under the product distribution y, with the metric of the
// model: a lower bound on T log Z_T. Rows as above.
Bound VerifiedLower(const SparseCrf& model, const Matrix<double>& marginals, double temperature);

// The energy of a labeling, rounded upwards by at most a few ulps, however its terms cancel. As
// T log Z_T >= -E(x), minus this value is a lower bound at every T, and at T = 0 one on -min E.
// Infinite where a factor forbids the labeling. Throws InvalidInput for an invalid labeling.
Bound VerifiedEnergy(const SparseCrf& model, std::span<const int> labeling);
Bound VerifiedEnergy(const FactorGraph& graph, std::span<const int> labeling);

}  // namespace submarine::internal
