// The free energy of distributions on forests, for verifiers: they are defined by node costs, and what is
// computed of them carries bounds on its rounding errors. Not public; for hybrid_dual.cc and forest_lower.cc.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/safe_sum.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

// The probabilities c_i / sum of c with c_i = exp((v_i - max) / T), which are what they are: nothing is
// said about how well they match v. Where overflow has spoilt v, they are equal.
void SetProbabilities(const std::vector<double>& v, double temperature, std::vector<double>* p);

// Marginals with the number of roundings that each row has seen, every one of which is relative to
// the entry: they are sums of products of positive numbers.
struct RoundedMarginals {
  Matrix<double> y;
  std::vector<double> roundings;
};

// Throws InvalidInput unless the edges form a forest and the costs are finite, one per variable and label.
void CheckForestDistribution(const SparseCrf& model, std::span<const std::size_t> forest,
                             const Matrix<double>& costs);

// Adds T H(P) - <phi,y> - E_forest(P) - constant of the distribution P on the forest with the node costs
// `costs` at temperature T, and returns its marginals y. The conditional probabilities are computed, and P
// *is* what they define, so that sum-product needs no error bounds. Allows for underflow of any terms of
// the model's other edges under P as well.
RoundedMarginals AddForestFreeEnergy(const SparseCrf& model, std::span<const std::size_t> forest,
                                     const Matrix<double>& costs, double temperature,
                                     SafeSum* value);

// Far more than what probabilities lose that are too small to have a relative error, over all terms of the
// model's energy and of the entropy.
void WidenForUnderflow(const SparseCrf& model, double temperature, SafeSum* value);

}  // namespace submarine::internal
