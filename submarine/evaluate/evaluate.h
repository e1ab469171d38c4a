// Certified energies and lower bounds of given labelings and marginals, by the verifiers: for
// results that come from elsewhere.
#pragma once

#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/model/clique.h"
#include "submarine/model/dense_crf.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"

namespace submarine {

// E(x), rounded upwards by at most a few ulps; infinite where a factor forbids the labeling. This
// and the functions below throw InvalidInput for an invalid labeling.
Bound EnergyBound(const SparseCrf& model, const std::vector<int>& labeling);
Bound EnergyBound(const FactorGraph& graph, const std::vector<int>& labeling);
// The same for the exact Gaussians, normalised where the kernels are marked for it. Far pairs are
// bounded in groups as long as this is expected to cost less than `tolerance` of the value.
Bound EnergyBound(const DenseCrf& model, const std::vector<int>& labeling, double tolerance);

// T H(y) - <E>_y <= T log Z_T of the product distribution y, whose rows are normalised first.
Bound LowerBoundAt(const SparseCrf& model, const Matrix<double>& marginals, double temperature);
struct DenseLowerBound {
  Bound lower;
  double loss;  // upper bound on how much bounding groups lowered it
};
DenseLowerBound LowerBoundAt(const DenseCrf& model, const Matrix<float>& marginals,
                             double temperature, double tolerance);

// With cliques, whose expectations are exact where they are small (docs/math.md, "Cliques").
Bound LowerBoundAt(const CliqueCrf<SparseCrf>& model, const Matrix<double>& marginals,
                   double temperature);
DenseLowerBound LowerBoundAt(const CliqueCrf<DenseCrf>& model, const Matrix<float>& marginals,
                             double temperature, double tolerance);

// The share of that bound that belongs to the variables a with own[a] != 0: their entropies and unaries, and their pairs,
// halved where the other variable is not among them; without the constant. Shares of sets that partition the variables
// sum to the bound (docs/math.md, "Blocks"). Not a bound by itself, but rounded down like one.
struct DenseLowerShare {
  double lower;
  double loss;
};
DenseLowerShare LowerShareAt(const DenseCrf& model, const Matrix<float>& marginals,
                             std::span<const unsigned char> own, double temperature,
                             double tolerance);

// What the unaries of a block, the variables a with own[a] != 0, take over from the pairs that leave it, in exchange for
// which the block can be bounded by itself (docs/math.md, "Blocks"): with w'_ab = sum over kernels of
// c w r_a r_b max(0, k_ab - cutoff),
//
//   s_a(i) = sum over b outside of the block of w'_ab (u_a(i) - u_b(i)).
//
// `cutoffs` has a number from 1e-6 to 1 per kernel. Kernels must have their factors.
struct DenseCutPairs {
  Matrix<double> sums;          // s
  std::vector<double> weights;  // sum of w'
  std::vector<double> errors;   // no s_a(i) is off by more
};
DenseCutPairs CutPairsAt(const DenseCrf& model, const Matrix<float>& potentials,
                         std::span<const unsigned char> own, std::span<const double> cutoffs);

// The model with the scale factors that its kernels are marked for, from the row sums of the exact
// Gaussians; a model that needs none is returned unchanged.
DenseCrf WithExactNormalisation(DenseCrf model);

}  // namespace submarine
