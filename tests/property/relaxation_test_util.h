// The linear relaxation of the energy, by Clp's simplex method: what the bounds at T = 0 tend to. It is
// written out with one variable per |y_a(S) - y_b(S)|.
#pragma once

#include <gtest/gtest.h>

#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <span>
#include <utility>
#include <vector>

#include "submarine/model/clique.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal::testing {

// min <phi,y> + sum w l t,  t >= +-(y_a(S) - y_b(S)),  rows of y in the simplex.
// A clique adds gamma + theta min { -Q tau + <u, s> : s_a >= tau - y_a(l), s >= 0 } of every label l.
inline double RelaxationBySimplex(const SparseCrf& model, std::span<const Clique> cliques = {}) {
  const LabelCuts& cuts = *model.labels().cuts;
  const auto variables = static_cast<int>(model.num_variables());
  const int labels = model.num_labels();
  std::vector<double> cost(model.unary().data(), model.unary().data() + model.unary().size());
  CoinPackedMatrix matrix(false, 0.0, 0.0);
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  std::vector<std::pair<std::vector<int>, std::vector<double>>> rows;
  for (int a = 0; a < variables; ++a) {
    std::vector<int> columns;
    for (int i = 0; i < labels; ++i) columns.push_back(a * labels + i);
    rows.emplace_back(columns, std::vector<double>(columns.size(), 1.0));
    row_lower.push_back(1.0);
    row_upper.push_back(1.0);
  }
  for (const Edge& e : model.edges()) {
    for (int c = 0; c < cuts.num_cuts(); ++c) {
      const double capacity = e.weight * model.metric(e).length[static_cast<std::size_t>(c)];
      if (capacity == 0.0) continue;
      const int t = static_cast<int>(cost.size());
      cost.push_back(capacity);
      for (double sign : {1.0, -1.0}) {
        std::vector<int> columns{t};
        std::vector<double> values{1.0};
        for (int i : cuts.set(c)) {
          columns.insert(columns.end(), {e.a * labels + i, e.b * labels + i});
          values.insert(values.end(), {-sign, sign});
        }
        rows.emplace_back(columns, values);
        row_lower.push_back(0.0);
        row_upper.push_back(COIN_DBL_MAX);
      }
    }
  }
  double constant = model.constant();
  for (const Clique& clique : cliques) {
    constant += clique.gamma;
    for (int i = 0; i < labels; ++i) {
      const int tau = static_cast<int>(cost.size());
      cost.push_back(-clique.theta() * clique.truncation);
      for (std::size_t k = 0; k < clique.members.size(); ++k) {
        const int s = static_cast<int>(cost.size());
        cost.push_back(clique.theta() * clique.weight(k));
        rows.emplace_back(std::vector<int>{s, tau, clique.members[k] * labels + i},
                          std::vector<double>{1.0, -1.0, 1.0});
        row_lower.push_back(0.0);
        row_upper.push_back(COIN_DBL_MAX);
      }
    }
  }
  const int columns = static_cast<int>(cost.size());
  matrix.setDimensions(0, columns);
  for (const auto& [indices, values] : rows) {
    matrix.appendRow(static_cast<int>(indices.size()), indices.data(), values.data());
  }
  const std::vector<double> column_lower(cost.size(), 0.0);
  const std::vector<double> column_upper(cost.size(), COIN_DBL_MAX);
  ClpSimplex simplex;
  simplex.setLogLevel(0);
  simplex.loadProblem(matrix, column_lower.data(), column_upper.data(), cost.data(),
                      row_lower.data(), row_upper.data());
  simplex.primal();
  EXPECT_TRUE(simplex.isProvenOptimal());
  return simplex.objectiveValue() + constant;
}

}  // namespace submarine::internal::testing
