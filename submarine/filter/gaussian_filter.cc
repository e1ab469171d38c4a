#include "submarine/filter/gaussian_filter.h"

#include <utility>

#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/lattice/lattice.h"

namespace submarine {

GaussianFilter::GaussianFilter(Matrix<double> features, std::size_t max_bytes) {
  const GaussianKernel kernel{.name = "features", .features = std::move(features)};
  LatticeOptions options;
  options.max_bytes = max_bytes;
  lattice_ = std::make_unique<internal::LatticeOperator>(kernel, options);
}

GaussianFilter::~GaussianFilter() = default;
GaussianFilter::GaussianFilter(GaussianFilter&&) noexcept = default;

Matrix<float> GaussianFilter::operator()(const Matrix<float>& x) const {
  Matrix<float> product(x.rows(), x.cols());
  lattice_->AddProduct(x, 1.0F, &product);
  return product;
}

std::vector<double> LatticeFactors(const GaussianKernel& kernel, std::size_t max_bytes) {
  GaussianKernel unscaled = kernel;
  unscaled.scale.clear();
  unscaled.normalisation = KernelNormalisation::kSymmetric;
  LatticeOptions options;
  options.max_bytes = max_bytes;
  std::vector<double> factors;
  internal::LatticeOperator::MakeNormalised(unscaled, options, &factors);
  return factors;
}

}  // namespace submarine
