// The bound with the quadratic flow q_ab = z_a - z_b, z the cut sums of the marginals: one *plain*
// product per iteration, so it costs what mean field costs. It solves
//
//   max over simplices of T H(y) - <phi, y> - 1/2 sum_c l_c z_c^T (D - K) z_c
//
// by proximal steps y_new = argmin <s(y), y> - T H(y) + g/2 |y - y_old|^2 with g = D_a times the
// reach of the cuts. As K is (nearly) positive semidefinite, D - K <= D and the objective never
// falls; no step size is needed. For Potts this is the convex-concave procedure. s(y) is in EP(F)
// at every iteration.
#pragma once

#include "submarine/solver/common/dense_result.h"

namespace submarine::internal {

struct QuadraticOptions : BoundOptions {
  DenseStart start = {};
};

// Stops, besides the limits, when an iteration improves the bound by less than 1e-4 of it: then the
// quadratic flow is near its best value, which is still above the optimum.
DenseResult SolveQuadratic(const DenseExtension& extension, const QuadraticOptions& options);

}  // namespace submarine::internal
