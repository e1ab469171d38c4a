#include "submarine/solver/forest/hybrid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/bound/verify/sparse/hybrid_dual.h"
#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/solver/common/solver_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/pdhg.h"

namespace submarine::internal {
namespace {

double Verified(const SparseCrf& model, const HybridResult& result, double temperature) {
  double upper = 0.0;
  for (const HybridPart& part : result.parts)
    upper += part.weight * VerifiedHybridUpper(model, part.forest, part.flow, temperature);
  return upper;
}

// The verifier rounds up in proportion to the energies on all edges and cuts, not to the bound.
double RoundingOf(const SparseCrf& model) {
  double magnitude = 1.0;
  for (const Edge& e : model.edges()) {
    for (double length : model.metric(e).length) magnitude += e.weight * length;
  }
  return 512.0 * std::numeric_limits<double>::epsilon() * magnitude;
}

void ExpectSoundHybrid(const SparseCrf& model, const HybridResult& result, double temperature) {
  ASSERT_NE(result.termination, Termination::kNotRun);
  const double verified = Verified(model, result, temperature);
  const double rounding = 1e-10 * (1.0 + std::abs(verified)) + RoundingOf(model);
  EXPECT_NEAR(result.upper, verified, rounding);
  EXPECT_LE(result.dual, result.upper + rounding);
  double dual = 0.0;
  for (const HybridPart& part : result.parts)
    dual += part.weight * VerifiedHybridDual(model, part.forest, part.costs, temperature);
  EXPECT_NEAR(result.dual, dual, rounding);
  EXPECT_EQ(result.records.back().upper, result.upper);
  EXPECT_EQ(result.records.back().dual, result.dual);
  for (std::size_t a = 0; a < result.marginals.rows(); ++a) {
    double sum = 0.0;
    for (double y : result.marginals.row(a)) sum += y;
    EXPECT_NEAR(sum, 1.0, 1e-12);
  }
}

TEST(Hybrid, ClosesItsGapBetweenExactAndSubmodular) {
  for (const LabelSpace& labels : LabelSpaces()) {
    const SparseCrf model = RandomGrid(6, 4, labels, 0.8, 3);
    for (double T : {0.5, 1.0, 2.0}) {
      const double exact = SolveExact(ToFactorGraph(model), {T}).log_partition;
      PdhgOptions pdhg;
      pdhg.temperature = T;
      const BoundResult submod = SolvePdhg(model, pdhg);
      for (HybridForest forest :
           {HybridForest::kSpanning, HybridForest::kRows, HybridForest::kColumns,
            HybridForest::kBest, HybridForest::kAverage}) {
        HybridOptions options;
        options.temperature = T;
        options.forest = forest;
        const HybridResult result = SolveHybrid(model, options);
        ExpectSoundHybrid(model, result, T);
        EXPECT_EQ(result.termination, Termination::kGapReached)
            << labels.metrics[0].name << ", gap " << RelativeGap(result.upper, result.dual);
        EXPECT_GE(result.upper, exact);
        EXPECT_LT(result.upper, submod.dual) << "a strictly better bound than without a forest";
      }
    }
  }
}

TEST(Hybrid, RowsAndColumnsAreCombined) {
  const SparseCrf model = RandomGrid(6, 4, PottsLabels(4), 1.0, 4);
  HybridOptions options;
  const auto solve = [&](HybridForest forest) {
    options.forest = forest;
    return SolveHybrid(model, options);
  };
  const HybridResult rows = solve(HybridForest::kRows);
  const HybridResult columns = solve(HybridForest::kColumns);
  EXPECT_EQ(rows.parts.front().forest.size(), 20u);
  EXPECT_EQ(columns.parts.front().forest.size(), 18u);
  EXPECT_EQ(solve(HybridForest::kBest).upper, std::min(rows.upper, columns.upper));
  const HybridResult average = solve(HybridForest::kAverage);
  ASSERT_EQ(average.parts.size(), 2u);
  EXPECT_DOUBLE_EQ(average.upper, 0.5 * (rows.upper + columns.upper));
  EXPECT_DOUBLE_EQ(average.dual, 0.5 * (rows.dual + columns.dual));
}

// Not even before the first step is it looser than the submodular bound whose flows it starts from.
TEST(Hybrid, NeverLooserThanTheFlowsItStartsFrom) {
  for (const LabelSpace& labels : LabelSpaces()) {
    for (double weight : {0.1, 1.0, 10.0}) {
      const SparseCrf model = RandomGrid(5, 5, labels, weight, 5);
      PdhgOptions pdhg;
      pdhg.max_iterations = 20;
      const BoundResult submod = SolvePdhg(model, pdhg);
      HybridOptions options;
      options.initial_flow = &submod.flow.edge;
      options.max_iterations = 0;
      const HybridResult result = SolveHybrid(model, options);
      ExpectSoundHybrid(model, result, 1.0);
      EXPECT_LE(result.upper, submod.upper);
    }
  }
}

TEST(Hybrid, IsExactOnATree) {
  const SparseCrf grid = RandomGrid(4, 4, PottsLabels(3), 1.0, 6);
  std::vector<Edge> path;
  for (const Edge& e : grid.edges()) {
    if (e.b == e.a + 1) path.push_back(e);
  }
  const SparseCrf model(grid.unary(), path, grid.labels(), grid.constant());
  const HybridResult result = SolveHybrid(model);
  const ExactResult exact = SolveExact(ToFactorGraph(model));
  EXPECT_EQ(result.iterations, 0);
  EXPECT_NEAR(result.upper, exact.log_partition, 1e-11 * std::abs(exact.log_partition));
  EXPECT_NEAR(result.dual, exact.log_partition, 1e-11 * std::abs(exact.log_partition));
  EXPECT_NEAR(result.marginals(5, 1), exact.marginals[5][1], 1e-11);
}

// Strong coupling: one label for all, which only the dual value of constant labelings proves.
TEST(Hybrid, SurvivesAnyWeight) {
  for (const LabelSpace& labels : LabelSpaces()) {
    for (double weight : {50.0, 1e4}) {
      const SparseCrf model = RandomGrid(4, 4, labels, weight, 7);
      HybridOptions options;
      options.max_iterations = 200;
      const HybridResult result = SolveHybrid(model, options);
      ExpectSoundHybrid(model, result, 1.0);
      EXPECT_TRUE(std::isfinite(result.upper));
      EXPECT_GE(result.upper, SolveExact(ToFactorGraph(model)).log_partition - 1e-8);
      double best_constant = -HUGE_VAL;
      for (int i = 0; i < model.num_labels(); ++i) {
        best_constant =
            std::max(best_constant, -model.Energy(std::vector<int>(model.unary().rows(), i)));
      }
      EXPECT_GE(result.dual, best_constant - 1e-9 * std::abs(best_constant));
    }
  }
}

TEST(Hybrid, RefusesWhatItCannotUse) {
  const SparseCrf model = RandomGrid(3, 3, PottsLabels(3), 1.0, 8);
  HybridOptions options;
  options.temperature = 0.0;
  EXPECT_THROW(SolveHybrid(model, options), InvalidInput);
  options.temperature = 1.0;
  options.edges = {0, 0};
  EXPECT_THROW(SolveHybrid(model, options), InvalidInput);
  options.edges = {};
  const Matrix<double> too_much(12, 3, 1.5);
  options.initial_flow = &too_much;
  EXPECT_THROW(SolveHybrid(model, options), InvalidInput);
  options.initial_flow = nullptr;
  const SparseCrf triangle(RandomUnary(3, 3, 0.0, 1.0, 1), {{0, 1}, {1, 2}, {0, 2}},
                           PottsLabels(3));
  for (HybridForest forest : {HybridForest::kRows, HybridForest::kBest}) {
    options.forest = forest;
    EXPECT_THROW(SolveHybrid(triangle, options), NotExpressible);
  }
}

TEST(Hybrid, StopsWhenAsked) {
  const SparseCrf model = RandomGrid(6, 6, PottsLabels(4), 3.0, 8);
  HybridOptions options;
  options.relative_gap = 0.0;
  options.max_iterations = 5;
  EXPECT_EQ(SolveHybrid(model, options).iterations, 5);
  options.max_iterations = 100000;
  options.time_limit_seconds = 0.0;
  EXPECT_EQ(SolveHybrid(model, options).termination, Termination::kTimeLimit);
  options.time_limit_seconds = 100.0;
  int calls = 0;
  options.on_iteration = [&](const IterationRecord&) { return ++calls < 3; };
  const HybridResult result = SolveHybrid(model, options);
  EXPECT_EQ(result.termination, Termination::kInterrupted);
  ExpectSoundHybrid(model, result, 1.0);
}

TEST(Hybrid, WithoutTimeForColumnsRowsStandAlone) {
  const SparseCrf model = RandomGrid(6, 4, PottsLabels(4), 3.0, 8);
  for (HybridForest forest : {HybridForest::kBest, HybridForest::kAverage}) {
    HybridOptions options;
    options.forest = forest;
    options.time_limit_seconds = 0.0;
    const HybridResult result = SolveHybrid(model, options);
    EXPECT_EQ(result.termination, Termination::kTimeLimit);
    ASSERT_EQ(result.parts.size(), 1u);
    EXPECT_EQ(result.parts.front().forest.size(), 20u) << "the edges of four rows";
    EXPECT_EQ(result.parts.front().weight, 1.0);
    ExpectSoundHybrid(model, result, 1.0);
  }
}

TEST(Hybrid, InterruptedRowsAreNotFollowedByColumns) {
  const SparseCrf model = RandomGrid(6, 5, PottsLabels(4), 3.0, 8);
  for (HybridForest forest : {HybridForest::kBest, HybridForest::kAverage}) {
    // Also when the call that says no is the one at which the rows are done anyway.
    for (int iterations : {100000, 2}) {
      HybridOptions options;
      options.relative_gap = 0.0;
      options.max_iterations = iterations;
      options.forest = forest;
      int calls = 0;
      options.on_iteration = [&](const IterationRecord&) { return ++calls < 3; };
      const HybridResult result = SolveHybrid(model, options);
      EXPECT_EQ(calls, 3);
      EXPECT_EQ(result.termination, Termination::kInterrupted);
      ASSERT_EQ(result.parts.size(), 1u);
      EXPECT_EQ(result.parts.front().forest.size(), 25u);
      ExpectSoundHybrid(model, result, 1.0);
    }
  }
}

}  // namespace
}  // namespace submarine::internal
