// The slow twin of the lattice: the same K in double, by std::map and plain loops, sharing nothing
// with the fast path but the stencil's numbers. For tests, and to verify certificates about lattice
// kernels.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/gaussian_kernel.h"
#include "submarine/filter/lattice_stencil.h"

namespace submarine {

class LatticeReference {
 public:
  explicit LatticeReference(const GaussianKernel& kernel, const LatticeOptions& options = {});

  std::size_t size() const { return corner_.size(); }
  std::size_t num_vertices() const { return neighbours_.size(); }

  // K x, with the diagonal of K.
  std::vector<double> Product(const std::vector<double>& x) const;

  // All of K, with its diagonal: one product per variable.
  Matrix<double> DenseK() const;

 private:
  struct Corner {
    std::size_t vertex;
    double weight;
  };
  std::vector<double> Blur(std::vector<double> z) const;

  LatticeStencil stencil_;
  std::vector<std::vector<Corner>> corner_;           // per variable
  std::vector<std::vector<std::size_t>> neighbours_;  // per vertex
};

}  // namespace submarine
