// For verifiers: the free energy of distributions on forests, which are defined by node costs, with
// bounds on all rounding errors. Not public; for forest_lower.cc.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/safe_sum.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

// Sets p_i = c_i / sum of c with c_i = exp((v_i - max) / T). The result *defines* the distribution,
// so its distance from the exact softmax of v does not matter. If v overflowed, p is uniform.
void SetProbabilities(const std::vector<double>& v, double temperature, std::vector<double>* p);

// Marginals with the number of roundings in each row, each relative to the entry, as the entries
// are sums of products of positive numbers.
struct RoundedMarginals {
  Matrix<double> y;
  std::vector<double> roundings;
};

// Throws InvalidInput unless the edges form a forest and the costs are finite, one per variable and
// label.
void CheckForestDistribution(const SparseCrf& model, std::span<const std::size_t> forest,
                             const Matrix<double>& costs);

// Adds T H(P) - <phi,y> - E_forest(P) - constant of the distribution P on the forest with the node
// costs `costs` at temperature T, and returns its marginals y. P is *defined* by the conditional
// probabilities as computed, so that sum-product needs no error bounds. Also allows for underflow
// in terms of the model's other edges under P.
RoundedMarginals AddForestFreeEnergy(const SparseCrf& model, std::span<const std::size_t> forest,
                                     const Matrix<double>& costs, double temperature,
                                     SafeSum* value);

// Widens by far more than the loss of probabilities that are too small to have a relative error,
// over all terms of the model's energy and of the entropy.
void WidenForUnderflow(const SparseCrf& model, double temperature, SafeSum* value);

}  // namespace submarine::internal
