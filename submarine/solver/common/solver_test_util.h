// Shared by the tests of the bound solvers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/labels/label_tree.h"
#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {

inline Matrix<double> RandomUnary(std::size_t rows, int labels, double low, double high,
                                  std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  Matrix<double> unary(rows, static_cast<std::size_t>(labels));
  for (std::size_t k = 0; k < unary.size(); ++k) unary.data()[k] = uniform(rng);
  return unary;
}

// A 4-connected grid with unaries in [-2, 4] and weights between 0 and 2 * weight.
inline SparseCrf RandomGrid(int width, int height, LabelSpace labels, double weight,
                            std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> relative(0.0, 2.0);
  std::vector<Edge> edges = GridEdges(width, height, 4, weight);
  for (Edge& e : edges) e.weight *= relative(rng);
  Matrix<double> unary = RandomUnary(static_cast<std::size_t>(width) * height, labels.num_labels(),
                                     -2.0, 4.0, seed + 1);
  return {std::move(unary), std::move(edges), std::move(labels), 0.25};
}

// One of every shape of label cuts.
inline std::vector<LabelSpace> LabelSpaces() {
  return {PottsLabels(2), PottsLabels(5), LinearLabels(5), TruncatedLinearLabels(6, 2),
          LabelTree::Regular({3, 2}, {1.0, 0.5}).ToLabels()};
}

// What every result promises: dual <= upper in every record, the best values in the last one, and
// evidence from which the independent verifier finds the same numbers.
inline void ExpectSound(const SparseCrf& model, ExtensionKind kind, double temperature,
                        const BoundResult& result) {
  ASSERT_NE(result.termination, Termination::kNotRun);
  ASSERT_FALSE(result.records.empty());
  const double rounding = 1e-11 * (1.0 + std::abs(result.upper));
  int last_k = -1;
  double last_seconds = 0.0;
  double last_dual = -HUGE_VAL;
  for (const SolveRecord& record : result.records) {
    EXPECT_GT(record.k, last_k);
    EXPECT_GE(record.seconds, last_seconds);
    ASSERT_TRUE(record.upper.has_value()) << "record " << record.k;
    ASSERT_TRUE(record.dual.has_value()) << "record " << record.k;
    EXPECT_GE(record.dual, last_dual) << "record " << record.k;
    EXPECT_LE(*record.dual, *record.upper + rounding) << "record " << record.k;
    last_k = record.k;
    last_seconds = record.seconds;
    last_dual = *record.dual;
  }
  EXPECT_EQ(result.iterations, result.records.back().k);
  EXPECT_EQ(result.upper, result.records.back().upper);
  EXPECT_EQ(result.dual, result.records.back().dual);
  const double upper = VerifiedUpper(model, kind, result.flow, temperature);
  const double dual = VerifiedDual(model, kind, result.marginals, temperature);
  EXPECT_NEAR(result.upper, upper, 1e-10 * (1.0 + std::abs(upper)));
  EXPECT_NEAR(result.dual, dual, 1e-10 * (1.0 + std::abs(dual)));
}

inline void ExpectUpperNeverRises(const BoundResult& result) {
  for (std::size_t k = 1; k < result.records.size(); ++k) {
    const double before = *result.records[k - 1].upper;
    EXPECT_LE(*result.records[k].upper, before + 1e-12 * (1.0 + std::abs(before)))
        << "record " << k;
  }
}

inline void ExpectIdentical(const BoundResult& x, const BoundResult& y) {
  EXPECT_EQ(x.termination, y.termination);
  EXPECT_EQ(x.iterations, y.iterations);
  EXPECT_EQ(x.upper, y.upper);
  EXPECT_EQ(x.dual, y.dual);
  EXPECT_EQ(x.flow.edge, y.flow.edge);
  EXPECT_EQ(x.flow.cycle, y.flow.cycle);
  EXPECT_EQ(x.marginals, y.marginals);
  ASSERT_EQ(x.records.size(), y.records.size());
  for (std::size_t k = 0; k < x.records.size(); ++k) {
    EXPECT_EQ(x.records[k].upper, y.records[k].upper);
    EXPECT_EQ(x.records[k].dual, y.records[k].dual);
  }
}

}  // namespace submarine::internal
