// A symmetric matrix of pair weights K, k_ab >= 0, k_aa = 0, that is applied and never formed.
//
// Solvers see dense models only through this interface. Its columns are labels or label cuts. A
// flow is any antisymmetric q_ab = psi(v_a, v_b) with values in [-1, 1] (docs/math.md, "Flows").
// Whatever psi an operator uses in AddFlow, it is antisymmetric for every pair and column, so the
// result of AddFlow is always a point of the extended polymatroid of the operator's K.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine::internal {

enum class FlowShape {
  kClip,  // psi(v_a, v_b) = clip(v_a - v_b, -1, 1), or the operator's approximation of it
  kSign,  // psi(v_a, v_b) = sign(v_a - v_b), ties 0: Edmonds' greedy vertex, or its approximation
};

class GaussianOperator {
 public:
  virtual ~GaussianOperator() = default;
  GaussianOperator() = default;
  GaussianOperator(const GaussianOperator&) = delete;
  GaussianOperator& operator=(const GaussianOperator&) = delete;

  virtual std::size_t size() const = 0;  // N

  // out_a += factor sum_{b != a} k_ab x_b, for every column. x and out have N rows and equally many
  // columns; they do not overlap.
  virtual void AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const = 0;

  // out_a += factor sum_{b != a} k_ab psi(v_a, v_b), for every column.
  virtual void AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
                       Matrix<float>* out) const = 0;

  // For every column at least sum_{a<b} k_ab |x_a - x_b|, and exactly that if the operator can.
  virtual std::vector<double> TotalVariation(const Matrix<float>& x) const = 0;

  // sum_{a<b} k_ab d(x_a, x_b), given the distances d of all labels, if that is faster than the
  // total variation of indicators; else none.
  virtual std::optional<double> LabelCost(const std::vector<int>& /*labels*/,
                                          const Matrix<double>& /*distance*/) const {
    return {};
  }

  // sum_b k_ab including the kernel's own self term (1 for a Gaussian of scale 1, times its
  // factor), as symmetric normalisation needs it.
  virtual std::vector<float> RowSumsWithSelf() const = 0;

  // Names the K that certificates about this operator refer to: "neighbour list, cutoff 0.01,
  // 29.6e6 pairs", "lattice of 236129 vertices".
  virtual std::string Description() const = 0;

  // A cheaper operator for the first iterations of a solver: a random sample of this one's pairs,
  // weighted so that all its sums are unbiased, with this many neighbours per variable on average.
  // Null if this operator has not many more, or cannot be sampled. Bounds from the sample are about
  // the sample.
  virtual std::unique_ptr<GaussianOperator> Sample(double /*neighbours*/) const { return nullptr; }

  virtual std::size_t bytes() const = 0;  // memory held
};

// sum_{b != a} k_ab.
std::vector<float> Degrees(const GaussianOperator& op);

}  // namespace submarine::internal
