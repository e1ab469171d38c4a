// Certificates about models whose label metric is any matrix, against enumeration.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "submarine/labels/metric_fit.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solve/solve.h"
#include "submarine/solver/exact/exact.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

double Rounding(double value) { return 1e-9 * (1.0 + std::abs(value)); }

// Of four kinds: in the plane, of a graph, an ultrametric, and one that may violate the triangle
// inequality.
Matrix<double> RandomDistances(int labels, int kind, RandomModels* random) {
  const auto count = static_cast<std::size_t>(labels);
  const Matrix<double> point = random->Points(count, 2, 0.0, 1.0);
  Matrix<double> d(count, count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      d(i, j) = kind == 0 ? std::hypot(point(i, 0) - point(j, 0), point(i, 1) - point(j, 1))
                          : random->Real(0.0, 1.0);
      d(j, i) = d(i, j);
    }
  }
  if (kind == 1) return LargestMetricBelow(d);
  for (std::size_t k = 0; k < count && kind == 2; ++k) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j)
        d(i, j) = std::min(d(i, j), std::max(d(i, k), d(k, j)));
    }
  }
  return d;
}

void ExpectInside(const SolveResult& solved, double exact) {
  ASSERT_TRUE(solved.certificate.upper && solved.certificate.lower);
  EXPECT_GE(*solved.certificate.upper, exact - Rounding(exact));
  EXPECT_LE(*solved.certificate.lower, exact + Rounding(exact));
}

// 3,000 metrics, each in a sparse model; by all methods in turn.
TEST(AnyMetric, SparseIntervalsHoldTheExactValue) {
  RandomModels random(3400);
  constexpr Method kMethods[] = {Method::kPdhg, Method::kTrw, Method::kFrankWolfe};
  for (int trial = 0; trial < 3000 && !HasFailure(); ++trial) {
    const int labels = 2 + trial / 4 % 7;
    const LabelSpace space =
        MetricLabels(RandomDistances(labels, trial % 4, &random), NoMetric::kKeep);
    const SparseCrf model =
        random.Model(labels > 5 ? 3 : 5, space, random.Real(-4.0, 0.0), random.Real(0.0, 4.0));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const double exact = SolveExact(ToFactorGraph(model), {}).log_partition;
    ExpectInside(Solve(model, {.method = kMethods[trial / 28 % 3],
                               .limits = {.max_iterations = 20, .threads = 1}}),
                 exact);
  }
}

TEST(AnyMetric, DenseIntervalsHoldTheExactValue) {
  RandomModels random(3401);
  constexpr Method kMethods[] = {Method::kPdhg, Method::kRouted, Method::kFrankWolfe};
  for (int trial = 0; trial < 200 && !HasFailure(); ++trial) {
    const int labels = 3 + trial / 4 % 4;
    const LabelSpace space =
        MetricLabels(RandomDistances(labels, trial % 4, &random), NoMetric::kKeep);
    const DenseCrf model = random.Dense(labels > 4 ? 4 : 6, space);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const double exact = SolveExact(ToFactorGraph(ToSparseCrf(model)), {}).log_partition;
    SolveOptions options{.method = kMethods[trial / 16 % 3],
                         .limits = {.max_iterations = 10, .threads = 1}};
    options.dense.certify = Certify::kExact;
    ExpectInside(Solve(model, options), exact);
  }
}

}  // namespace
}  // namespace submarine::internal
