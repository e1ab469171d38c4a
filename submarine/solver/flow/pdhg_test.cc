#include "submarine/solver/flow/pdhg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/common/solver_test_util.h"
#include "submarine/solver/exact/enumerate_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/frank_wolfe.h"

namespace submarine::internal {
namespace {

using testing::EnumerateExact;
using testing::RandomModels;

PdhgOptions Options(int iterations, double relative_gap = 1e-4) {
  PdhgOptions options;
  options.max_iterations = iterations;
  options.relative_gap = relative_gap;
  return options;
}

TEST(PdhgTest, EveryRecordIsSound) {
  for (const LabelSpace& labels : LabelSpaces()) {
    for (double weight : {0.2, 1.0, 5.0}) {
      const SparseCrf model = RandomGrid(6, 5, labels, weight, 1);
      for (double T : {0.0, 0.2, 1.0, 3.0}) {
        SCOPED_TRACE(::testing::Message()
                     << model.Description() << ", w " << weight << ", T " << T);
        PdhgOptions options = Options(300, 1e-9);
        options.temperature = T;
        const BoundResult result = SolvePdhg(model, options);
        ExpectSound(model, ExtensionKind::kOptimal, T, result);
        ExpectUpperNeverRises(result);
      }
    }
  }
}

TEST(PdhgTest, BoundsTheExactValue) {
  RandomModels random(2);
  for (int trial = 0; trial < 60; ++trial) {
    const SparseCrf model = random.Model(random.Integer(2, 6), random.Integer(2, 4));
    const double T = trial % 3 == 0 ? 0.0 : 1.0;
    const double exact = EnumerateExact(ToFactorGraph(model), T).log_partition;
    PdhgOptions options = Options(50, 1e-9);
    options.temperature = T;
    for (const SolveRecord& record : SolvePdhg(model, options).records) {
      EXPECT_GE(record.upper, exact - 1e-10 * (1.0 + std::abs(exact)));
    }
  }
}

TEST(PdhgTest, ReachesSmallGaps) {
  for (const LabelSpace& labels : LabelSpaces()) {
    for (double weight : {0.3, 1.0, 4.0}) {
      const SparseCrf model = RandomGrid(6, 6, labels, weight, 3);
      const BoundResult result = SolvePdhg(model, Options(20000, 1e-6));
      EXPECT_EQ(result.termination, Termination::kGapReached) << model.Description();
      EXPECT_LE(result.upper - result.dual, 1e-6 * std::max(1.0, std::abs(result.upper)));
    }
  }
}

TEST(PdhgTest, FindsTheOptimumThatFrankWolfeApproaches) {
  for (const LabelSpace& labels : LabelSpaces()) {
    const SparseCrf model = RandomGrid(5, 5, labels, 0.3, 4);
    const BoundResult best = SolvePdhg(model, Options(20000, 1e-8));
    FrankWolfeOptions options;
    options.relative_gap = 2e-3;
    const BoundResult slow = SolveFrankWolfe(model, options);
    ASSERT_EQ(slow.termination, Termination::kGapReached);
    EXPECT_GE(slow.upper, best.dual);
    EXPECT_LE(slow.dual, best.upper);
  }
}

// On chains and trees the linear relaxation is exact, so at T = 0 the bound is the least energy.
TEST(PdhgTest, SolvesTheLinearProgrammeOfTrees) {
  for (const LabelSpace& labels : LabelSpaces()) {
    std::vector<Edge> edges;
    for (int b = 1; b < 9; ++b) edges.push_back({(b - 1) / 2, b, 0.5 + 0.1 * b});
    const SparseCrf model(RandomUnary(9, labels.num_labels(), -2.0, 2.0, 5), edges, labels);
    const double least = -SolveExact(ToFactorGraph(model), {.temperature = 0.0}).log_partition;
    PdhgOptions options = Options(50000, 1e-5);
    options.temperature = 0.0;
    const BoundResult result = SolvePdhg(model, options);
    EXPECT_EQ(result.termination, Termination::kGapReached) << model.Description();
    EXPECT_NEAR(-result.upper, least, 2e-5 * std::max(1.0, std::abs(least)));
    EXPECT_NEAR(-result.dual, least, 2e-5 * std::max(1.0, std::abs(least)));
  }
}

TEST(PdhgTest, StopsForEveryReason) {
  const SparseCrf model = RandomGrid(6, 6, PottsLabels(4), 2.0, 6);
  for (double T : {0.0, 1.0}) {
    for (int limit : {0, 1, 7, 100}) {
      PdhgOptions options = Options(limit, 1e-12);
      options.temperature = T;
      const BoundResult result = SolvePdhg(model, options);
      EXPECT_EQ(result.termination, Termination::kIterationLimit);
      EXPECT_EQ(result.iterations, limit);
      ExpectSound(model, ExtensionKind::kOptimal, T, result);
    }
    PdhgOptions timed = Options(1000, 1e-12);
    timed.temperature = T;
    timed.time_limit_seconds = 0.0;
    const BoundResult out_of_time = SolvePdhg(model, timed);
    EXPECT_EQ(out_of_time.termination, Termination::kTimeLimit);
    EXPECT_EQ(out_of_time.iterations, 0);
    ExpectSound(model, ExtensionKind::kOptimal, T, out_of_time);

    PdhgOptions watched = Options(1000, 1e-12);
    watched.temperature = T;
    std::vector<int> seen;
    watched.on_iteration = [&](const SolveRecord& record) {
      seen.push_back(record.k);
      return seen.size() < 3;
    };
    const BoundResult interrupted = SolvePdhg(model, watched);
    EXPECT_EQ(interrupted.termination, Termination::kInterrupted);
    EXPECT_EQ(seen.size(), 3u);
    EXPECT_EQ(interrupted.iterations, seen.back());
    ExpectSound(model, ExtensionKind::kOptimal, T, interrupted);
  }
}

TEST(PdhgTest, IsTheSameForAnyNumberOfThreads) {
  const SparseCrf model = RandomGrid(40, 40, TruncatedLinearLabels(6, 2), 1.0, 7);
  for (double T : {0.0, 1.0}) {
    PdhgOptions options = Options(60, 1e-9);
    options.temperature = T;
    testing::SetThreadCount(1);
    const BoundResult one = SolvePdhg(model, options);
    testing::SetThreadCount(2);
    const BoundResult two = SolvePdhg(model, options);
    testing::SetThreadCount(0);
    ExpectIdentical(one, two);
  }
}

TEST(PdhgTest, ConvergesAtOnceWithoutEdges) {
  for (const LabelSpace& labels : LabelSpaces()) {
    for (int variables : {1, 5}) {
      const SparseCrf model(RandomUnary(variables, labels.num_labels(), -3.0, 3.0, 8), {}, labels,
                            -1.5);
      for (double T : {0.1, 1.0}) {
        PdhgOptions options = Options(100, 1e-12);
        options.temperature = T;
        const BoundResult result = SolvePdhg(model, options);
        const double exact = EnumerateExact(ToFactorGraph(model), T).log_partition;
        EXPECT_EQ(result.termination, Termination::kGapReached);
        EXPECT_EQ(result.iterations, 0);
        EXPECT_NEAR(result.upper, exact, 1e-12 * (1.0 + std::abs(exact)));
        EXPECT_NEAR(result.dual, exact, 1e-12 * (1.0 + std::abs(exact)));
      }
    }
  }
}

// Without edges the marginals still have to find the cheapest labels at T = 0.
TEST(PdhgTest, SolvesModelsWithoutEdgesAtZeroTemperature) {
  const SparseCrf model(RandomUnary(6, 4, -3.0, 3.0, 9), {}, PottsLabels(4));
  PdhgOptions options = Options(5000, 1e-4);
  options.temperature = 0.0;
  const BoundResult result = SolvePdhg(model, options);
  EXPECT_EQ(result.termination, Termination::kGapReached);
  EXPECT_NEAR(result.upper, EnumerateExact(ToFactorGraph(model), 0.0).log_partition, 1e-10);
}

TEST(PdhgTest, IsolatedVariablesKeepTheirOwnDistribution) {
  const SparseCrf model(RandomUnary(5, 3, -3.0, 3.0, 10), {{0, 3, 2.0}}, PottsLabels(3));
  const ExactResult exact = EnumerateExact(ToFactorGraph(model));
  const BoundResult result = SolvePdhg(model, Options(10000, 1e-8));
  EXPECT_EQ(result.termination, Termination::kGapReached);
  for (std::size_t a : {1, 2, 4}) {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(result.marginals(a, i), exact.marginals[a][i], 1e-6);
    }
  }
}

TEST(PdhgTest, SurvivesExtremeModels) {
  for (const LabelSpace& labels : {PottsLabels(4), LinearLabels(6)}) {
    for (double unary : {1.0, 1e6}) {
      for (double weight : {0.0, 1.0, 1e4}) {
        const SparseCrf model(RandomUnary(36, labels.num_labels(), -unary, unary, 11),
                              GridEdges(6, 6, 4, weight), labels);
        for (double T : {0.0, 1e-100, 1e-3, 1.0, 1e3}) {
          SCOPED_TRACE(::testing::Message()
                       << "unaries " << unary << ", weights " << weight << ", T " << T);
          PdhgOptions options = Options(200);
          options.temperature = T;
          ExpectSound(model, ExtensionKind::kOptimal, T, SolvePdhg(model, options));
        }
      }
    }
  }
}

TEST(PdhgTest, RefusesBadOptions) {
  const SparseCrf model = RandomGrid(2, 2, PottsLabels(2), 1.0, 12);
  const double infinity = std::numeric_limits<double>::infinity();
  for (double T : {-1.0, -1e-300, std::nan(""), infinity, 1e-310}) {
    PdhgOptions options = Options(10);
    options.temperature = T;
    EXPECT_THROW(SolvePdhg(model, options), InvalidInput) << T;
  }
}

class FreeRegionsTest : public ::testing::Test {
 protected:
  // A path 0 - 1 - 2 - 3, whose metric gives the last cut no length.
  FreeRegionsTest() {
    LabelSpace labels = LinearLabels(3);
    labels.metrics[0].length = {0.5, 0.5, 0.5, 0.0};
    model_.emplace(Matrix<double>(4, 3), std::vector<Edge>{{0, 1}, {1, 2}, {3, 2}}, labels);
    for (std::size_t a = 0; a < 4; ++a) {
      y_(a, 0) = 0.2 * static_cast<double>(a);
      y_(a, 1) = 1.0 - y_(a, 0);
    }
  }

  std::optional<SparseCrf> model_;
  Matrix<double> flow_{3, 4, 0.9};
  Matrix<double> y_{4, 3};
  Matrix<double> averaged_;
};

TEST_F(FreeRegionsTest, AveragesWhereNoFlowIsSaturated) {
  flow_(1, 2) = -1.0;
  flow_(2, 3) = 1.0;  // of no length: does not count
  ASSERT_TRUE(AverageOverFreeRegions(*model_, nullptr, {flow_}, y_, &averaged_));
  for (std::size_t a = 0; a < 4; ++a) {
    EXPECT_NEAR(averaged_(a, 0), a < 2 ? 0.1 : 0.5, 1e-15);
    EXPECT_NEAR(averaged_(a, 1), a < 2 ? 0.9 : 0.5, 1e-15);
    EXPECT_EQ(averaged_(a, 2), 0.0);
  }
}

TEST_F(FreeRegionsTest, AveragesEverythingWhenAllIsFree) {
  ASSERT_TRUE(AverageOverFreeRegions(*model_, nullptr, {flow_}, y_, &averaged_));
  for (std::size_t a = 0; a < 4; ++a) EXPECT_NEAR(averaged_(a, 0), 0.3, 1e-15);
}

TEST_F(FreeRegionsTest, SaysSoWhenNothingIsFree) {
  for (std::size_t e = 0; e < 3; ++e) flow_(e, e) = e % 2 == 0 ? 1.0 : -1.0;
  EXPECT_FALSE(AverageOverFreeRegions(*model_, nullptr, {flow_}, y_, &averaged_));
  EXPECT_FALSE(AverageOverFreeRegions(SparseCrf(Matrix<double>(4, 3), {}, PottsLabels(3)), nullptr,
                                      {Matrix<double>(0, 3)}, y_, &averaged_));
}

}  // namespace
}  // namespace submarine::internal
