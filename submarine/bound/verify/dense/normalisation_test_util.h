// For tests: kernels marked for normalisation, and their row sums by definition.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>

#include "submarine/labels/label_cuts.h"
#include "submarine/model/dense_crf.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal::testing {

// Points in a square, denser towards a corner.
inline GaussianKernel Square(std::size_t n, double side, RandomModels* random) {
  GaussianKernel kernel{"square", Matrix<double>(n, 2), 1.0};
  for (std::size_t k = 0; k < kernel.features.size(); ++k)
    kernel.features.data()[k] = side * std::pow(random->Real(0.0, 1.0), 2);
  kernel.normalisation = KernelNormalisation::kSymmetric;
  return kernel;
}

inline DenseCrf ModelOf(GaussianKernel kernel) {
  const std::size_t n = kernel.size();
  return {Matrix<float>(n, 2), {std::move(kernel)}, PottsLabels(2)};
}

inline long double RowSum(const GaussianKernel& kernel, std::size_t a) {
  long double sum = 0.0L;
  for (std::size_t b = 0; b < kernel.size(); ++b) {
    long double squared = 0.0L;
    for (std::size_t d = 0; d < kernel.dimension(); ++d) {
      const long double apart =
          static_cast<long double>(kernel.features(a, d)) - kernel.features(b, d);
      squared += apart * apart;
    }
    sum += std::exp(-0.5L * squared);
  }
  return sum;
}

}  // namespace submarine::internal::testing
