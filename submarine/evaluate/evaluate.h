// Certified energies and lower bounds of given labelings and marginals, by the verifiers: for
// results that come from elsewhere.
#pragma once

#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/model/dense_crf.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"

namespace submarine {

// E(x), rounded upwards by no more than some ulps; infinite where a factor forbids the labeling. Throws InvalidInput
// for what is no labeling, here and below.
Bound EnergyBound(const SparseCrf& model, const std::vector<int>& labeling);
Bound EnergyBound(const FactorGraph& graph, const std::vector<int>& labeling);
// The same about the exact Gaussians, normalised where the kernels ask for it. Far pairs are bounded in groups as long
// as that is expected to cost less than `tolerance` of the value.
Bound EnergyBound(const DenseCrf& model, const std::vector<int>& labeling, double tolerance);

// T H(y) - <E>_y <= T log Z_T of the product distribution y, whose rows are normalised first.
Bound LowerBoundAt(const SparseCrf& model, const Matrix<double>& marginals, double temperature);
struct DenseLowerBound {
  Bound lower;
  double loss;  // by how much bounding groups may have lowered it, at most
};
DenseLowerBound LowerBoundAt(const DenseCrf& model, const Matrix<float>& marginals,
                             double temperature, double tolerance);

// The model with the scale factors that its kernels ask for, from the row sums of the exact Gaussians; models that
// need none come back as they are.
DenseCrf WithExactNormalisation(DenseCrf model);

}  // namespace submarine
