// The slow reference for the lattice: the same K in double, by plain loops, sharing nothing with
// the fast code but the stencil's numbers. For tests, and to verify certificates about lattice
// kernels.
//
// K is defined by the corner weights and the stencil's factors as stored in double. It is exactly
// symmetric and nonnegative (lattice_stencil.h), and the results here differ from it by rounding
// alone: products of nonnegative columns are sums of nonnegative terms, off by at most roundings()
// ulps of themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/lattice/lattice_stencil.h"

namespace submarine::internal {

class LatticeReference {
 public:
  explicit LatticeReference(const GaussianKernel& kernel, const LatticeOptions& options = {});

  std::size_t size() const { return num_variables_; }
  std::size_t num_vertices() const { return num_present_.size(); }
  std::size_t bytes() const;  // memory held

  // The best number of columns to filter at a time: more take more memory, fewer more time per
  // column.
  static constexpr std::size_t kBlock = 8;

  // K x, with the diagonal of K.
  std::vector<double> Product(const std::vector<double>& x) const;
  Matrix<double> Product(const Matrix<double>& x) const;

  // K = S^T B S, S spreading variables to vertices: with z = S x and w = B z, <x, K x> = <z, w>. By
  // vertex, the terms z w of sum_i <x_i, K x_i> over the columns of x >= 0, and of <s, K s> for
  // their sum s. They have roundings() of a product, and 2 more per column.
  struct VertexProducts {
    std::vector<double> of_columns;
    std::vector<double> of_sum;
  };
  // `on_block` is called before every block of columns, with its first one.
  VertexProducts SelfProducts(const Matrix<double>& x,
                              const std::function<void(std::size_t)>& on_block = {}) const;

  // k_aa; if `wanted` is given, 0 for the variables where it is 0.
  std::vector<double> Diagonal(std::span<const char> wanted = {}) const;

  // sum_b k_ab psi(s_a, s_b) for levels s in [0, cells] (lattice_levels.h, PsiOfLevels).
  std::vector<double> Flow(const std::vector<double>& level, std::size_t cells) const;

  // With P_a(k) = clip((x_a - t_k) / (t_(k+1) - t_k), 0, 1) and nodes t_0 < t_1 < ... around x,
  //   pairs = sum_k (t_(k+1) - t_k) <1 - P(k), K P(k)>,
  //   self = sum_k (t_(k+1) - t_k) sum_a k_aa P_a(k) (1 - P_a(k)).
  // pairs - self is at least sum_{a<b} k_ab |x_a - x_b|, with equality where all values are nodes.
  struct Variation {
    double pairs = 0.0;
    double self = 0.0;
  };
  Variation TotalVariation(const std::vector<double>& x, std::span<const double> nodes,
                           const std::vector<double>& diagonal) const;

  // All of K, with its diagonal, by one product per variable.
  Matrix<double> DenseK() const;

  // The error of a product of nonnegative numbers, or of a k_aa, in ulps of itself.
  double roundings() const;
  double diagonal_roundings() const;

 private:
  std::size_t slots() const { return static_cast<std::size_t>(stencil_.neighbour_slots()); }
  std::span<const std::uint32_t> Neighbours(std::size_t v) const {
    return {neighbour_.data() + v * slots(), num_present_[v]};
  }
  // The diagonal entry of a pass of laziness c at vertex v.
  double Centre(double c, std::size_t v) const {
    const double missing = static_cast<double>(slots() - num_present_[v]);
    return c + stencil_.kept * stencil_.NeighbourWeight(c) * missing;
  }
  void FindCorners(const GaussianKernel& kernel);
  void ListSplats();
  Matrix<double> Splat(const Matrix<double>& x, std::size_t first, std::size_t columns) const;
  Matrix<double> Blurred(Matrix<double> z) const;
  void Blur(double c, const Matrix<double>& from, Matrix<double>* to) const;

  LatticeStencil stencil_;
  std::size_t num_variables_;
  std::size_t corners_;                   // d + 1
  std::vector<std::uint32_t> corner_;     // per variable: vertices
  std::vector<double> weight_;            // per variable: their weights, times sqrt(amplitude) r_a
  std::vector<std::uint32_t> neighbour_;  // per vertex: slots(), those present first
  std::vector<std::uint32_t> num_present_;  // per vertex
  std::vector<std::size_t> splat_begin_;    // per vertex and one more: entries of splat_
  std::vector<std::uint64_t> splat_;        // indices into corner_ and weight_, by vertex
};

}  // namespace submarine::internal
