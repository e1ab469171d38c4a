// Shared by the tests of the dense solvers.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/filter/list/neighbour_list.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solver/exact/exact.h"

namespace submarine::internal::testing {

// The kernels of a model with the factors that make their sum w_ab.
inline std::vector<WeightedKernel> KernelsOf(const DenseCrf& model) {
  std::vector<WeightedKernel> kernels;
  for (const GaussianKernel& kernel : model.kernels())
    kernels.push_back({&kernel, model.pair_factor() * kernel.weight});
  return kernels;
}

// The sum over variables of the largest term in a bound of the model: rounding errors of
// single-precision sums are relative to this.
inline double SizeOfTerms(const DenseCrf& model, double temperature = 1.0) {
  double length = 0.0;
  for (const double l : model.metric().length) length += l;
  double size = std::abs(model.constant());
  for (std::size_t a = 0; a < model.num_variables(); ++a) {
    double unary = 0.0;
    for (const float phi : model.unary().row(a))
      unary = std::max(unary, std::abs(static_cast<double>(phi)));
    size += unary + temperature * std::log(static_cast<double>(model.num_labels()));
    for (std::size_t b = 0; b < model.num_variables(); ++b)
      size += a == b ? 0.0 : length * model.PairWeight(a, b);
  }
  return size;
}

// The tolerance for values from one evaluation in single precision.
inline double SingleRounding(const DenseCrf& model, double temperature = 1.0) {
  return 16.0 * std::numeric_limits<float>::epsilon() * SizeOfTerms(model, temperature);
}

inline double ExactValue(const DenseCrf& model, double temperature) {
  ExactOptions options;
  options.temperature = temperature;
  return SolveExact(ToFactorGraph(ToSparseCrf(model)), options).log_partition;
}

}  // namespace submarine::internal::testing
