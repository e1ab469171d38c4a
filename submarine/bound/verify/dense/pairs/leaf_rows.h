// The inner loops of the verifier of dense models: over the slots of a leaf (pair_tree.h), every
// slot with sums of its own, for one variable at the other end. Inputs and outputs do not overlap.
#pragma once

#include <cstddef>

#include "submarine/bound/verify/dense/pairs/pair_tree.h"
#include "submarine/extension/evidence.h"

namespace submarine::internal::leaf_rows {

inline constexpr std::size_t kLeaf = PairTree::kLeaf;

// Whether any slot is within the limit.
bool AnyWithin(const double* squared, double limit);

// weight = factor (own scale) exp(-squared / 2), and 0 beyond the limit and below exp(-700).
// Scales are multiplied first: their product is the same from both ends of a pair, as is every
// operation, so that both ends see the same bits.
void KernelWeights(const double* squared, const double* scale, double own, double factor,
                   double limit, double* weight);

// degree += weight, far_degree += weight squared.
void AddWeights(const double* weight, const double* squared, double* degree, double* far_degree);

// sum += share weight q for every cut, q = clip(own - v, -1, 1) or the sign of own - v. `v` and
// `sum` are (cuts x kLeaf), the values `own` stand kLeaf apart. Differences are rounded to single
// precision, to the same magnitude from both ends, and any antisymmetric flow within its bounds is
// valid.
void AddFlow(const double* weight, double share, FlowShape shape, const float* own, const float* v,
             std::size_t cuts, double* sum);

// sum of weight.
double Sum(const double* weight);

// sum of weight x.
double WeightedSum(const double* weight, const double* x);

// sum of weight (sum over i of factor_i x_i), x (count x kLeaf).
double SumOfProducts(const double* weight, const double* factor, const double* x,
                     std::size_t count);

// sum of weight (sum over i of length_i |own_i - x_i|), x (count x kLeaf).
double SumOfDistances(const double* weight, const double* length, const double* own,
                      const double* x, std::size_t count);

}  // namespace submarine::internal::leaf_rows
