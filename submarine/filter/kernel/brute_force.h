// Every pair, by definition: the slow reference for all operators. O(N^2) time per column, no
// memory.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/kernel/gaussian_operator.h"

namespace submarine::internal {

// K = sum_m factor_m k^(m), k_aa = 0. Keeps pointers to the kernels.
class BruteForceOperator : public GaussianOperator {
 public:
  // Throws InvalidInput for no kernels, kernels of different sizes or that CheckKernel refuses, and
  // factors that are negative or not finite.
  explicit BruteForceOperator(std::span<const WeightedKernel> kernels);

  // k_ab in double; 0 for a = b.
  double Value(std::size_t a, std::size_t b) const;

  std::size_t size() const override { return kernels_.front().kernel->size(); }
  void AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const override;
  void AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
               Matrix<float>* out) const override;
  std::vector<double> TotalVariation(const Matrix<float>& x) const override;
  std::vector<float> RowSumsWithSelf() const override;
  std::string Description() const override;
  std::size_t bytes() const override { return 0; }

 private:
  std::vector<WeightedKernel> kernels_;
};

}  // namespace submarine::internal
