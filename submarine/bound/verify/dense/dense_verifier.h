// Recomputes the claims of a certificate about a dense model, for the true Gaussian kernels, from
// the raw model and the evidence alone: in double, over pairs that it finds by itself (a tree over
// each kernel's features), sharing nothing with the operators and solvers. True kernels have the
// exact features and scale factors, of which the stored ones are approximations
// (filter/kernel/gaussian_kernel.h). Every value is rounded to its safe side and does not depend on
// the number of threads. Temperatures are T >= 0.
//
// A pair that is left out has flow 0 in the upper bound, which is allowed. In the dual and the
// lower bound its cost must be included: for groups of pairs A x B with kernel values at most k,
//
//   sum_{a in A, b in B} w_ab y_a^T d y_b           <=  c w k  Y_A^T d Y_B,
//   sum_{a in A, b in B} w_ab sum_c l_c |z_a - z_b|  <=  c w k  sum_c l_c min(S_c, V_c),
//
// where Y_A is the sum of the marginals in A, S_c the part of the first sum due to cut c, and V_c
// the bound by the triangle inequality through the means of z in A and in B (docs/math.md, "Far
// pairs").
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/extension/evidence.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

struct PairOptions {
  double temperature = 1.0;  // T >= 0
  // Upper bound: pairs of kernel m with w^(m) k below this are left out, the others enumerated. 0
  // enumerates all N^2 pairs.
  double cutoff = 1e-4;
  // Dual, lower bound and energy: groups of pairs are bounded instead of enumerated as long as the
  // loss is expected to be below this fraction of the value, of its part without pairs, or of 1,
  // whichever is largest. VerifiedPoint::loss bounds the actual loss. 0 enumerates every pair that
  // matters.
  double far_tolerance = 1e-4;
  // Called from time to time, on the caller's thread, with the fraction of the work done; return
  // false to give up, which throws Interrupted.
  std::function<bool(double done)> on_progress = {};
};

// The bound that the proof gives on T log Z_T of the exact Gaussian model. Throws InvalidInput for
// an invalid proof: wrong shapes, shares that are negative or sum to more than 1, values that are
// not finite. This and the functions below also throw it for options that are negative or not
// finite.
Bound VerifiedUpper(const DenseCrf& model, const FlowProof& proof, const PairOptions& options,
                    TiltedPlace tilted = nullptr);

// What to verify at a point: one value alone takes about half the time, and the other is -infinity.
enum class VerifiedValues { kBoth, kLower, kDual };

struct VerifiedPoint {
  Bound lower;  // mean-field free energy T H(y) - <E>_y, or less: a lower bound on T log Z_T
  Bound dual;   // T H(y) - f(y), or less: a lower bound on the least upper bound
  double loss;  // upper bound on how much bounding groups lowered either
};
// Rows of the marginals are normalised first; a row that is not a distribution throws InvalidInput.
VerifiedPoint VerifiedAt(const DenseCrf& model, const Matrix<float>& marginals,
                         const PairOptions& options, VerifiedValues values = VerifiedValues::kBoth);

// The share of VerifiedAt's lower bound that belongs to the variables a with own[a] != 0: their entropies and unaries,
// and their pairs, halved where the other variable is not among them; without the constant. Shares of sets that
// partition the variables sum to the bound, also where each set is looked at with its surroundings only and the pairs
// that leave these are bounded by other means (docs/math.md, "Blocks"). Rounded down. own has an entry per variable, else
// InvalidInput.
struct VerifiedShare {
  double lower;
  double loss;
};
VerifiedShare VerifiedLowerShare(const DenseCrf& model, const Matrix<float>& marginals,
                                 std::span<const unsigned char> own, const PairOptions& options);
VerifiedShare VerifiedLowerShare(const DenseCrf& model, const std::vector<int>& labeling,
                                 std::span<const unsigned char> own, const PairOptions& options);

// The same at a labeling instead of marginals: faster, and without entropy at any temperature.
// -lower is at least E(x), by a margin that far_tolerance controls.
VerifiedPoint VerifiedAt(const DenseCrf& model, const std::vector<int>& labeling,
                         const PairOptions& options);
Bound VerifiedEnergy(const DenseCrf& model, const std::vector<int>& labeling,
                     const PairOptions& options);

// Unordered pairs that VerifiedUpper would enumerate at this cutoff, summed over kernels: estimated
// from a sample of variables, exact for small models.
double EstimatePairs(const DenseCrf& model, double cutoff);

// The same at a ladder of cutoffs, down to the first that leaves out less than 1e-4 of the weight of
// all pairs. No rows if there is no weight.
struct PairCensus {
  struct Row {
    double cutoff;
    double pairs;
    double left_out;  // the share of the weight that pairs below the cutoff have
  };
  std::vector<Row> rows;  // by ascending cutoff
};
PairCensus CountPairs(const DenseCrf& model);

}  // namespace submarine::internal
