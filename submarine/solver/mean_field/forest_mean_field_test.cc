#include "submarine/solver/mean_field/forest_mean_field.h"

#include <gtest/gtest.h>

#include <cmath>

#include "submarine/base/error_test_util.h"
#include "submarine/bound/verify/sparse/forest_lower.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/mean_field/mean_field.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::RandomModels;

double Rounding(double value) { return 1e-9 * (1.0 + std::abs(value)); }

// Above naive mean field, below the exact value, proven, and rising: 600 models, fitted metrics among them.
TEST(ForestMeanField, LiesBetweenNaiveAndExact) {
  RandomModels random(1);
  double gained = 0.0;
  for (int trial = 0; trial < 600 && !HasFailure(); ++trial) {
    const SparseCrf model = random.Model(random.Integer(1, 8), random.Integer(2, 4));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const double T = trial % 3 == 0 ? random.Real(0.3, 3.0) : 1.0;
    const double exact = SolveExact(ToFactorGraph(model), {T}).log_partition;
    MeanFieldOptions naive_options;
    naive_options.temperature = T;
    const MeanFieldResult naive = SolveMeanField(model, naive_options);
    ForestMeanFieldOptions options;
    options.temperature = T;
    const Matrix<double> uniform(model.num_variables(), model.unary().cols(), 1.0);
    const ForestMeanFieldResult forest =
        SolveForestMeanField(model, {naive.marginals, uniform}, options);
    EXPECT_GE(forest.lower, naive.lower - Rounding(exact));
    const double verified = VerifiedForestLower(model, forest.distribution, T);
    EXPECT_LE(verified, exact + 1e-12 * (1.0 + std::abs(exact)));
    EXPECT_NEAR(verified, forest.lower, Rounding(verified)) << "misreports its bound";
    gained += forest.lower - naive.lower;
    for (const std::vector<double>& of_start : forest.free_energy) {
      for (std::size_t k = 1; k < of_start.size(); ++k)
        EXPECT_GE(of_start[k], of_start[k - 1] - Rounding(exact));
    }
    for (std::size_t k = 1; k < forest.records.size(); ++k)
      EXPECT_GE(forest.records[k].lower, forest.records[k - 1].lower);
    for (std::size_t a = 0; a < forest.marginals.rows(); ++a) {
      double sum = 0.0;
      for (double y : forest.marginals.row(a)) sum += y;
      EXPECT_NEAR(sum, 1.0, 1e-12);
    }
  }
  EXPECT_GT(gained, 10.0);
}

// Tables that cuts only approximate: expected distances then come from the tables.
TEST(ForestMeanField, UsesTheMetricWhereCutsDoNot) {
  RandomModels random(2);
  LabelSpace labels = PottsLabels(3);
  LabelMetric& metric = labels.metrics.front();
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < i; ++j)
      metric.distance(i, j) = metric.distance(j, i) = random.Real(1.0, 2.0);
  }
  metric.distortion = 2.0;
  for (int trial = 0; trial < 50; ++trial) {
    const SparseCrf model = random.Model(6, labels, -2.0, 2.0);
    const double exact = SolveExact(ToFactorGraph(model)).log_partition;
    const MeanFieldResult naive = SolveMeanField(model);
    const ForestMeanFieldResult forest = SolveForestMeanField(model, {naive.marginals});
    const double verified = VerifiedForestLower(model, forest.distribution, 1.0);
    EXPECT_LE(verified, exact + Rounding(exact));
    EXPECT_NEAR(verified, forest.lower, Rounding(verified));
    EXPECT_GE(forest.lower, naive.lower - Rounding(exact));
  }
}

TEST(ForestMeanField, IsExactOnTrees) {
  RandomModels random(3);
  const SparseCrf model(random.Points(6, 3, -2.0, 2.0),
                        {{0, 1, 1.0}, {1, 2, 2.0}, {3, 1, 0.5}, {4, 5, 1.5}}, PottsLabels(3), 0.5);
  const ExactResult exact = SolveExact(ToFactorGraph(model));
  const ForestMeanFieldResult forest = SolveForestMeanField(model, {Matrix<double>(6, 3, 1.0)});
  EXPECT_NEAR(forest.lower, exact.log_partition, 1e-12);
  EXPECT_TRUE(forest.converged);
  for (std::size_t a = 0; a < 6; ++a) {
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(forest.marginals(a, i), exact.marginals[a][i], 1e-12);
  }
}

// On a grid with coupling of the order of the unaries it must gain over independent variables.
TEST(ForestMeanField, GainsOnGrids) {
  RandomModels random(4);
  for (const int connectivity : {4, 8}) {
    const SparseCrf model(random.Points(400, 3, 0.0, 2.0), GridEdges(20, 20, connectivity, 0.5),
                          PottsLabels(3));
    const MeanFieldResult naive = SolveMeanField(model);
    const ForestMeanFieldResult forest = SolveForestMeanField(model, {naive.marginals});
    EXPECT_GT(forest.lower, naive.lower + 1.0);
    EXPECT_NEAR(VerifiedForestLower(model, forest.distribution, 1.0), forest.lower, 1e-8);
  }
}

TEST(ForestMeanField, ObeysLimitsAndRefusesBadStarts) {
  RandomModels random(5);
  const SparseCrf model(random.Points(100, 3, 0.0, 2.0), GridEdges(10, 10, 4, 0.5), PottsLabels(3));
  const std::vector<Matrix<double>> uniform = {Matrix<double>(100, 3, 1.0)};
  ForestMeanFieldOptions options;
  options.max_iterations = 1;
  EXPECT_EQ(SolveForestMeanField(model, uniform, options).iterations, 1);
  options = {};
  options.on_iteration = [](int k, double, double) { return k < 2; };
  const ForestMeanFieldResult stopped = SolveForestMeanField(model, uniform, options);
  EXPECT_EQ(stopped.iterations, 2);
  EXPECT_FALSE(stopped.converged);
  EXPECT_NEAR(VerifiedForestLower(model, stopped.distribution, 1.0), stopped.lower, 1e-8);
  options = {};
  options.interrupted = [] { return true; };
  const ForestMeanFieldResult none = SolveForestMeanField(model, uniform, options);
  EXPECT_EQ(none.lower, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(none.marginals.size(), 0U);
  // Within the second sweep: what the first proved stays.
  int calls = 0;
  options.interrupted = [&] { return ++calls > 4; };
  const ForestMeanFieldResult second = SolveForestMeanField(model, uniform, options);
  EXPECT_GE(VerifiedForestLower(model, second.distribution, 1.0), second.lower - 1e-8);
  ExpectInvalid([&] { SolveForestMeanField(model, {}); }, "no starts");
  ExpectInvalid([&] { SolveForestMeanField(model, {Matrix<double>(9, 3, 1.0)}); },
                "the marginals are 9 x 3");
  ExpectInvalid([&] { SolveForestMeanField(model, {Matrix<double>(100, 3, 0.0)}); }, "sum to 0");
  options = {};
  options.temperature = 0.0;
  EXPECT_THROW(SolveForestMeanField(model, uniform, options), InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
