// Recomputes what a certificate about a dense model claims, for the true Gaussian kernels, from the
// raw model and the evidence alone: in double, over pairs that it finds by itself (a tree over each
// kernel's features), sharing nothing with the operators and solvers. True kernels are those of the
// features and scale factors meant, which the stored ones are near (filter/kernel/gaussian_kernel.h). Every
// value is rounded to its safe side and is the same for any number of threads. Temperatures are T >= 0.
//
// A pair that is left out has flow 0 in the upper bound, which is allowed. In the dual and the lower
// bound it has to be paid for: for groups of pairs A x B with kernel values at most k,
//
//   sum_{a in A, b in B} w_ab y_a^T d y_b           <=  c w k  Y_A^T d Y_B,
//   sum_{a in A, b in B} w_ab sum_c l_c |z_a - z_b|  <=  c w k  sum_c l_c min(S_c, V_c),
//
// Y_A the sum of the marginals in A, S_c the first sum's part of cut c, and V_c the triangle
// inequality through the means of z in A and in B (docs/math.md, "Far pairs").
#pragma once

#include <functional>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/extension/evidence.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

struct PairOptions {
  double temperature = 1.0;  // T >= 0
  // Upper bound: pairs of kernel m with w^(m) k below this are left out, the others enumerated. 0
  // enumerates all N^2 pairs.
  double cutoff = 1e-4;
  // Dual, lower bound and energy: groups of pairs are bounded instead of enumerated as long as this
  // is expected to cost less than this share of the value, or of its part without pairs where that is
  // larger, or of 1. What it did cost at most is VerifiedPoint::loss. 0 enumerates every pair that
  // matters.
  double far_tolerance = 1e-4;
  // Called now and then, in the thread of the caller, with the share of the work done; return false
  // to give up, which throws Interrupted.
  std::function<bool(double done)> on_progress = {};
};

// The bound on T log Z_T of the exact Gaussian model that the proof gives.
// Throws InvalidInput when it is no proof: wrong shapes, shares that are negative or sum to more
// than 1, values that are not finite. So do options that are negative or not finite, here and below.
Bound VerifiedUpper(const DenseCrf& model, const FlowProof& proof, const PairOptions& options);

// What to verify at a point: either value alone takes about half the time. The other is -infinity.
enum class VerifiedValues { kBoth, kLower, kDual };

struct VerifiedPoint {
  Bound lower;  // mean-field free energy T H(y) - <E>_y, or less: a lower bound on T log Z_T
  Bound dual;   // T H(y) - f(y), or less: a lower bound on the least upper bound
  double loss;  // by how much bounding groups may have lowered either, at most
};
// Rows of the marginals are normalised first; a row that is no distribution throws InvalidInput.
VerifiedPoint VerifiedAt(const DenseCrf& model, const Matrix<float>& marginals,
                         const PairOptions& options, VerifiedValues values = VerifiedValues::kBoth);

// The same at the distribution that is certain of a labeling, faster, and without entropy at any
// temperature: E(x) is at most -lower, by no more than the far_tolerance is meant to allow.
VerifiedPoint VerifiedAt(const DenseCrf& model, const std::vector<int>& labeling,
                         const PairOptions& options);
Bound VerifiedEnergy(const DenseCrf& model, const std::vector<int>& labeling,
                     const PairOptions& options);

// Unordered pairs that VerifiedUpper would enumerate at this cutoff, summed over kernels: estimated
// from a sample of variables, exact for small models.
double EstimatePairs(const DenseCrf& model, double cutoff);

}  // namespace submarine::internal
