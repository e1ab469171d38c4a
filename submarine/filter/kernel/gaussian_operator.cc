#include "submarine/filter/kernel/gaussian_operator.h"

namespace submarine::internal {

std::vector<float> Degrees(const GaussianOperator& op) {
  const Matrix<float> ones(op.size(), 1, 1.0F);
  Matrix<float> sums(op.size(), 1);
  op.AddProduct(ones, 1.0F, &sums);
  return {sums.data(), sums.data() + sums.size()};
}

}  // namespace submarine::internal
