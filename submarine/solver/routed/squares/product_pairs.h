// The pairs of dense models in squares that products bound from below (product_kernels.h). Blocks of near variables are small
// compared to wide kernels, so that this is nearly all the weight such kernels have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/solver/routed/squares/product_kernels.h"
#include "submarine/solver/routed/squares/reordered_kernels.h"
#include "submarine/solver/routed/squares/routing_layout.h"

namespace submarine::internal {

class ProductPairs {
 public:
  // The kernels must outlive this.
  ProductPairs(const std::vector<ReorderedKernel>& kernels, std::size_t num_positions,
               double product_limit, double product_cutoff);

  std::size_t num_squares() const { return squares_.size(); }

  void Route(const RoutingLayout& layout);
  // W of the edge from position p to p + m at (p, m - 1).
  const Matrix<double>& edge_weights() const { return edge_weights_; }
  double residual_weight() const { return residual_weight_; }

  // flow(c, p) += the flow of potentials v, one row per distinct cut, columns are positions.
  void AddFlow(const Matrix<float>& v, Matrix<float>* flow) const;

 private:
  struct Square {
    std::uint32_t row;
    std::uint32_t column;
    std::uint32_t kernel;
  };

  const std::vector<ReorderedKernel>& kernels_;
  std::size_t size_;
  std::size_t blocks_;
  std::vector<Square> squares_;
  std::vector<std::vector<ResidualBlock>> left_;  // one for each task
  Matrix<double> edge_weights_;
  double residual_weight_ = 0.0;
  mutable std::vector<std::vector<float>> sums_;  // of flows, one for each task
};

}  // namespace submarine::internal
