// Shared by naive and forest mean field: the pairwise terms under independent variables, through
// cuts or through distances, and the checks of given marginals.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "submarine/base/error.h"
#include "submarine/base/matrix.h"
#include "submarine/base/simd/row_kernels.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

inline void CheckMarginals(const SparseCrf& model, const Matrix<double>& marginals) {
  const Matrix<double>& unary = model.unary();
  if (marginals.rows() != unary.rows() || marginals.cols() != unary.cols()) {
    throw InvalidInput(
        fmt::format("the marginals are {} x {}, the model has {} variables x {} labels",
                    marginals.rows(), marginals.cols(), unary.rows(), unary.cols()));
  }
  for (std::size_t a = 0; a < marginals.rows(); ++a) {
    for (std::size_t i = 0; i < marginals.cols(); ++i) {
      if (!std::isfinite(marginals(a, i)) || marginals(a, i) < 0.0) {
        throw InvalidInput(fmt::format(
            "the marginal of variable {}, label {} is {}, expected a finite number >= 0", a, i,
            marginals(a, i)));
      }
    }
  }
}

// Throws InvalidInput for rows that are not distributions.
inline void NormaliseRows(Matrix<double>& marginals) {
  for (std::size_t a = 0; a < marginals.rows(); ++a) {
    double total = 0.0;
    for (double p : marginals.row(a)) total += p;
    if (!(total > 0.0) || !std::isfinite(total)) {
      throw InvalidInput(
          fmt::format("the marginals of variable {} sum to {}, expected 1", a, total));
    }
    for (double& p : marginals.row(a)) p /= total;
  }
}

// E[d(x_a, x_b)] for independent x_a ~ y_a, x_b ~ y_b.
inline double ExpectedDistance(const Matrix<double>& distance, std::span<const double> y_a,
                               std::span<const double> y_b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < y_a.size(); ++i) {
    if (y_a[i] > 0.0) sum += y_a[i] * DotRow(distance.row(i).data(), y_b.data(), y_b.size());
  }
  return sum;
}

// The pairwise costs of each label of a variable given its neighbours, and their total. Through the
// cuts, with q_c = 1 - 2 y(S_c) in [-1, 1],
//
//   E[d(x_a, x_b)]    = 1/2 sum_c l_c (1 - q_ac q_bc),
//   E[d(i, x_b)]      = sum over the cuts that contain i of l_c q_bc, up to a constant,
//
// so an edge costs O(cuts), and the constants do not affect a softmax. Edges marked in `left_out`,
// if not empty, do not count; `scratch` has one entry per cut.
class CutCoupling {
 public:
  explicit CutCoupling(const SparseCrf& model)
      : model_(model), q_(model.unary().rows(), static_cast<std::size_t>(model.num_cuts())) {}

  static double WorkPerEdge(const SparseCrf& model) { return model.num_cuts(); }

  void SetMarginal(std::size_t a, std::span<const double> y) {
    const std::span<double> q = q_.row(a);
    model_.labels().cuts->SumOverCuts(y, q);
    for (double& value : q) value = 1.0 - 2.0 * value;
  }

  void LabelCosts(std::size_t a, const Matrix<double>&, std::span<const char> left_out,
                  std::span<double> scratch, std::span<double> costs) const {
    std::fill(scratch.begin(), scratch.end(), 0.0);
    for (const Incidence& incidence : model_.incident(a)) {
      if (!left_out.empty() && left_out[incidence.edge]) continue;
      const Edge& e = model_.edges()[incidence.edge];
      const std::span<const double> q = q_.row(static_cast<std::size_t>(e.a) == a ? e.b : e.a);
      AccumulateFlowRow(q.data(), model_.metric(e).length.data(), e.weight, q.size(),
                        scratch.data());
    }
    model_.labels().cuts->SumOverLabels(scratch, costs);
  }

  double EdgeCost(const Edge& e, const Matrix<double>&) const {
    const std::vector<double>& length = model_.metric(e).length;
    const std::span<const double> q_a = q_.row(e.a);
    const std::span<const double> q_b = q_.row(e.b);
    double sum = 0.0;
    for (std::size_t c = 0; c < length.size(); ++c) sum += length[c] * (1.0 - q_a[c] * q_b[c]);
    return 0.5 * e.weight * sum;
  }

 private:
  const SparseCrf& model_;
  Matrix<double> q_;
};

// The same through the distance matrix, O(labels^2) per edge, for metrics that cuts only
// approximate.
class DistanceCoupling {
 public:
  explicit DistanceCoupling(const SparseCrf& model) : model_(model) {}

  static double WorkPerEdge(const SparseCrf& model) {
    return static_cast<double>(model.num_labels()) * model.num_labels();
  }

  void SetMarginal(std::size_t, std::span<const double>) {}

  void LabelCosts(std::size_t a, const Matrix<double>& y, std::span<const char> left_out,
                  std::span<double>, std::span<double> costs) const {
    std::fill(costs.begin(), costs.end(), 0.0);
    for (const Incidence& incidence : model_.incident(a)) {
      if (!left_out.empty() && left_out[incidence.edge]) continue;
      const Edge& e = model_.edges()[incidence.edge];
      const Matrix<double>& distance = model_.metric(e).distance;
      const std::span<const double> neighbour =
          y.row(static_cast<std::size_t>(e.a) == a ? e.b : e.a);
      for (std::size_t i = 0; i < costs.size(); ++i) {
        costs[i] += e.weight * DotRow(distance.row(i).data(), neighbour.data(), costs.size());
      }
    }
  }

  double EdgeCost(const Edge& e, const Matrix<double>& y) const {
    return e.weight * ExpectedDistance(model_.metric(e).distance, y.row(e.a), y.row(e.b));
  }

 private:
  const SparseCrf& model_;
};

}  // namespace submarine::internal
