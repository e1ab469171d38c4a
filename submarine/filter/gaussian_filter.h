// A Gaussian filter over any features, for users who want the filter and no model.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/gaussian_kernel.h"

namespace submarine {

namespace internal {
class LatticeOperator;
}

// sum_{b != a} k_ab x_b with k_ab near exp(-|f_a - f_b|^2 / 2), by the permutohedral lattice:
// symmetric, hence its own transpose, and linear in N (docs/filters.md).
class GaussianFilter {
 public:
  // One row of features per variable, already divided by their sigmas. Throws InvalidInput and
  // TooLarge.
  explicit GaussianFilter(Matrix<double> features, std::size_t max_bytes = std::size_t{8} << 30);
  ~GaussianFilter();
  GaussianFilter(GaussianFilter&&) noexcept;

  // For every column of x.
  Matrix<float> operator()(const Matrix<float>& x) const;

 private:
  std::unique_ptr<internal::LatticeOperator> lattice_;
};

// The scale factors 1 / sqrt(sum_b k_ab), k_aa included, of a kernel without any, by the same lattice. Throws like
// GaussianFilter.
std::vector<double> LatticeFactors(const GaussianKernel& kernel,
                                   std::size_t max_bytes = std::size_t{8} << 30);

}  // namespace submarine
