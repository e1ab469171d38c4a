// Primal-dual hybrid gradient on explicit flows, in entropic geometry.
//
// The bound's optimum is a saddle point (docs/math.md, "Duality"):
//
//   min over |q| <= 1, max over simplices of  sum_a [ T H(y_a) - <s'_a(q), y_a> ],
//   s'(q) = phi + sum over edges and cuts of w l q (1_S(c) at a - 1_S(c) at b).
//
// One iteration, with step eta and balance rho (large rho: flows move faster, marginals slower):
//
//   q     <- clip(q + eta rho/2 (zbar_a - zbar_b), -1, 1)           zbar: cut sums of ybar
//   y_new <- argmax T H(y) - <s'(q), y> - (rho/eta) D_a KL(y | y)   closed form, one exp per label
//   ybar  <- y_new + theta (y_new - y)
//
// What differs from the textbook method (Chambolle & Pock 2011), and why:
//  - The proximal term is a Kullback-Leibler divergence, not a square. The prox then has a closed
//    form instead of a Newton iteration per variable, and rare labels, which hardly couple the
//    flows, no longer dictate the step.
//  - eta adapts to the iterates: the step is safe while interaction <= movement, as in PDLP
//    (Applegate et al. 2021). A step that is too long is not undone, but the next one is shorter.
//  - T H is strongly concave relative to the same divergence, so rho grows and theta < 1 as in
//    Chambolle-Pock's accelerated variant: the gap falls like 1/k^2 instead of 1/k. The prox sees
//    max(T, D/k) in place of T, so that cold models and the linear programme (T = 0) start as
//    smooth problems, too; the bounds are always those at T.
//  - Flows of large cuts move less, in inverse proportion to the variance of the cut's indicator.
//  - The dual value is also tried at marginals averaged over regions whose inner flows are
//    unsaturated, where the optimum is constant; strongly coupled models converge this way long
//    before their total variation vanishes.
#pragma once

#include "submarine/extension/clique_extension.h"
#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {

struct PdhgOptions : BoundOptions {
  // The bounds are also evaluated after this many seconds without an evaluation, so that large
  // models can be watched and interrupted. The end of a solve may then depend on the clock;
  // infinity prevents this.
  double seconds_between_evaluations = 3.0;
};

// Optimal extension; T >= 0, where T = 0 solves the linear programme (P-LP, T-LP). Throws
// InvalidInput for other T.
BoundResult SolvePdhg(const SparseCrf& model, const PdhgOptions& options);
// With cliques beside the pairs. Their evidence, which the flow of the result holds, moves as flows do:
//
//   q <- projection of q - eta rho/2 r ybar onto the capped simplices (extension/clique_extension.h)
BoundResult SolvePdhg(const SparseCrf& pairs, const CliqueExtension& cliques,
                      const PdhgOptions& options);

// Averages the marginals over the connected regions joined by edges none of whose flows is
// saturated, and by cliques between their variables none of whose evidence is 0 or u. Returns false when there are none.
bool AverageOverFreeRegions(const SparseCrf& model, const CliqueExtension* cliques,
                            const Flow& flow, const Matrix<double>& y, Matrix<double>* averaged);

}  // namespace submarine::internal
