// Primal-dual hybrid gradient on potentials: no flow is stored, q_ab = clip(v_a - v_b, -1, 1).
//
// One iteration, with step eta and balance rho (large rho: flows move faster, marginals slower):
//
//   v     <- v + (eta rho / 2) m z(ybar)                          z: cut sums, m: 1 / |S_c|
//   s     <- phi + sum_b w_ab clip(v_a - v_b, -1, 1)              one AddFlow; always in EP(F)
//   y_new <- argmin <s, y> - T H(y) + (rho/eta) D_a/2 |y - y_old|^2  simplex prox, at T = 0 a projection
//   ybar  <- 2 y_new - y_old
//
// Where this differs from the sparse solver (solver/flow/pdhg.h), and why (measured on Tsukuba,
// exact kernel, 16 labels, 3.6e7 pairs; benchmarks/dense_solvers):
//  - The proximal term is a square, not a Kullback-Leibler divergence. Degrees are hundreds of times
//    the temperature here, the marginals are almost those of a linear programme, and labels with
//    exponentially small probability must come back at once: after 100 iterations the entropic
//    version had a gap of 50%, this one of 1%.
//  - eta = sqrt(2) with D_a the degree plus the self weight: the Gaussian matrix is positive
//    semidefinite with its diagonal, so |D^-1/2 (D - K) D^-1/2| <= 1 and not the 2 that the standard
//    step allows for.
//  - rho falls from 3 to 1 within some 60 iterations: large flow steps first, balance later.
//    Over-relaxation and growing rho (acceleration) both diverge or stall on potentials.
//  - Cliques beside the pairs have evidence of their own, which is stored and moves by projection:
//
//   q     <- projection of q - eta rho/2 r ybar onto the capped simplices (extension/clique_extension.h)
#pragma once

#include "submarine/extension/clique_extension.h"
#include "submarine/solver/common/dense_result.h"

namespace submarine::internal {

struct DensePdhgOptions : BoundOptions {
  // Keeps the proofs of the best bounds. Without it (for a problem whose bounds only measure
  // progress), even the upper bound is evaluated only as often as the dual value and the labels.
  bool keeps_evidence = true;
  DenseStart start = {};
  const CliqueExtension* cliques = nullptr;  // beside the pairs, if there are any
};

// T >= 0, where T = 0 solves the linear programme. Throws InvalidInput for other T and for a start of
// the wrong shape.
DenseResult SolvePdhg(const DenseExtension& extension, const DensePdhgOptions& options);

}  // namespace submarine::internal
