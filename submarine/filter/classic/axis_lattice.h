// The permutohedral filter in its classic form (Adams, Baek, Davis 2010), on which published
// figures of dense models are based: only for reproducing those.
//
//   K = alpha S^T B_d ... B_1 B_0 S,   B_j = 1 + (U_j + U_j^T) / 2,   alpha = 1 / (1 + 2^-d),
//
// S spreads variables over the corners of their simplex, U_j moves a vertex along axis j if the
// target exists. The factors do not commute on an incomplete set of vertices, so K is not
// symmetric, its diagonal is not 1, and its rows sum to less than the Gaussian's (0.4 to 0.9 of
// it): no certificate may be about it. For all other purposes use lattice.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine::internal {

class AxisLattice {
 public:
  static constexpr std::size_t kMaxDimension = 6;

  // Rows are features, each already divided by its sigma. Throws InvalidInput for no rows, more
  // than kMaxDimension columns, and features that are not finite or so far apart that vertices
  // cannot be numbered.
  explicit AxisLattice(const Matrix<float>& features);

  std::size_t size() const { return num_variables_; }
  std::size_t num_vertices() const { return neighbour_.size() / (2 * corners_); }

  // out_a += factor sum_b k_ab x_b for every column, b = a included. The result does not depend on
  // the number of threads.
  void AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const;

  std::vector<float> RowSums() const;  // sum_b k_ab

 private:
  struct Spread {
    std::uint32_t variable;
    float weight;
  };
  void ListSpreads();
  void Blur(std::size_t axis, const Matrix<float>& from, Matrix<float>* to) const;

  std::size_t num_variables_;
  std::size_t corners_;                   // d + 1
  std::vector<std::uint32_t> corner_;     // per variable: its vertices
  std::vector<float> weight_;             // per variable: their barycentric weights
  std::vector<std::uint32_t> neighbour_;  // per axis and vertex: forwards, backwards; or none
  std::vector<std::uint32_t> begin_;      // per vertex and one more
  std::vector<Spread> spread_;            // what each vertex gathers
};

}  // namespace submarine::internal
