// A Gaussian of positions on the voxels of a volume as a product of three, one along each axis: where
// it is a few voxels wide, a lattice has more vertices than there are voxels.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/kernel/gaussian_operator.h"

namespace submarine::internal {

// K(a,b) = r_a r_b times the product of the Gaussians of x, y and z, each without what is farther
// than four standard deviations (which a Gaussian has 6e-5 of), K(a,a) = 0. Of flows it knows
// nothing: for updates of mean field.
class GridOperator final : public GaussianOperator {
 public:
  // Null unless the kernel's features are the places of voxels, x innermost, and it is narrow enough
  // to be faster than a lattice. A kernel that is marked for normalisation and has no scale gets
  // that of the row sums of this operator.
  static std::unique_ptr<GridOperator> Make(const GaussianKernel& kernel);

  std::size_t size() const override { return scale_.size(); }
  const std::vector<float>& scale() const { return scale_; }

  // out = factor K x for rows of `columns` floats, which do not overlap. By several threads.
  void Multiply(const float* x, std::size_t columns, float factor, float* out) const;
  void AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const override;
  // These throw std::logic_error.
  void AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
               Matrix<float>* out) const override;
  std::vector<double> TotalVariation(const Matrix<float>& x) const override;

  std::vector<float> RowSumsWithSelf() const override;
  std::string Description() const override;
  std::size_t bytes() const override { return scale_.size() * sizeof(float); }

 private:
  struct Axis {
    std::size_t side = 1;
    std::vector<float> taps;  // 1 for the voxel itself, then those of distance 1, 2, ...
  };
  explicit GridOperator(std::array<Axis, 3> axes);
  static std::optional<std::array<Axis, 3>> AxesOf(const GaussianKernel& kernel);
  std::vector<double> SumsOf(const Axis& axis) const;
  void AlongRows(const float* x, std::size_t slice, std::size_t columns, float* line,
                 float* out) const;

  std::array<Axis, 3> axes_;
  std::vector<float> scale_;  // r
};

}  // namespace submarine::internal
