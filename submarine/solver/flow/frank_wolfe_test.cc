#include "submarine/solver/flow/frank_wolfe.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/common/line_search.h"
#include "submarine/solver/common/solver_test_util.h"
#include "submarine/solver/exact/enumerate_test_util.h"

namespace submarine::internal {
namespace {

using testing::EnumerateExact;
using testing::RandomModels;

constexpr ExtensionKind kKinds[] = {ExtensionKind::kOptimal, ExtensionKind::kAlternate};

struct Method {
  const char* name;
  FrankWolfeStep step;
};
constexpr Method kMethods[] = {{"line search", FrankWolfeStep::kLineSearch},
                               {"harmonic", FrankWolfeStep::kHarmonic}};

FrankWolfeOptions Options(const Method& method, int iterations) {
  FrankWolfeOptions options;
  options.step = method.step;
  options.max_iterations = iterations;
  return options;
}

TEST(FrankWolfeTest, EveryRecordIsSound) {
  for (const LabelSpace& labels : LabelSpaces()) {
    const SparseCrf model = RandomGrid(6, 5, labels, 1.0, 1);
    for (const Method& method : kMethods) {
      for (ExtensionKind kind : kKinds) {
        for (double T : {0.2, 1.0, 3.0}) {
          SCOPED_TRACE(::testing::Message()
                       << method.name << ", extension " << static_cast<int>(kind) << ", T = " << T
                       << ", " << model.Description());
          FrankWolfeOptions options = Options(method, 60);
          options.extension = kind;
          options.temperature = T;
          const BoundResult result = SolveFrankWolfe(model, options);
          ExpectSound(model, kind, T, result);
          if (method.step == FrankWolfeStep::kLineSearch) ExpectUpperNeverRises(result);
          EXPECT_LT(result.upper, result.records.front().upper);
        }
      }
    }
  }
}

TEST(FrankWolfeTest, BoundsTheExactValue) {
  RandomModels random(2);
  for (int trial = 0; trial < 40; ++trial) {
    const SparseCrf model = random.Model(random.Integer(2, 6), random.Integer(2, 4));
    const double exact = EnumerateExact(ToFactorGraph(model), 1.0).log_partition;
    for (const Method& method : kMethods) {
      const BoundResult result = SolveFrankWolfe(model, Options(method, 20));
      for (const SolveRecord& record : result.records) {
        EXPECT_GE(record.upper, exact - 1e-10 * (1.0 + std::abs(exact))) << method.name;
      }
    }
  }
}

TEST(FrankWolfeTest, ReachesTheGap) {
  const SparseCrf model = RandomGrid(6, 6, PottsLabels(4), 0.3, 3);
  for (const Method& method : kMethods) {
    FrankWolfeOptions options = Options(method, 10000);
    options.relative_gap = 1e-3;
    const BoundResult result = SolveFrankWolfe(model, options);
    EXPECT_EQ(result.termination, Termination::kGapReached) << method.name;
    EXPECT_LE(result.upper - result.dual, 1e-3 * std::max(1.0, std::abs(result.upper)));
    ASSERT_GE(result.records.size(), 2u);
    const SolveRecord& before = result.records[result.records.size() - 2];
    EXPECT_GT(RelativeGap(before), 1e-3) << "went on after the gap was reached";
  }
}

TEST(FrankWolfeTest, StopsForEveryReason) {
  const SparseCrf model = RandomGrid(6, 6, PottsLabels(4), 2.0, 4);
  for (const Method& method : kMethods) {
    SCOPED_TRACE(method.name);
    for (int limit : {0, 1, 7}) {
      const BoundResult result = SolveFrankWolfe(model, Options(method, limit));
      EXPECT_EQ(result.termination, Termination::kIterationLimit);
      EXPECT_EQ(result.iterations, limit);
      EXPECT_EQ(result.records.size(), static_cast<std::size_t>(limit) + 1);
      ExpectSound(model, ExtensionKind::kOptimal, 1.0, result);
    }
    FrankWolfeOptions timed = Options(method, 1000);
    timed.time_limit_seconds = 0.0;
    const BoundResult out_of_time = SolveFrankWolfe(model, timed);
    EXPECT_EQ(out_of_time.termination, Termination::kTimeLimit);
    EXPECT_EQ(out_of_time.iterations, 0);
    ExpectSound(model, ExtensionKind::kOptimal, 1.0, out_of_time);

    FrankWolfeOptions watched = Options(method, 1000);
    std::vector<int> seen;
    watched.on_iteration = [&](const SolveRecord& record) {
      seen.push_back(record.k);
      return record.k < 3;
    };
    const BoundResult interrupted = SolveFrankWolfe(model, watched);
    EXPECT_EQ(interrupted.termination, Termination::kInterrupted);
    EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3}));
    ExpectSound(model, ExtensionKind::kOptimal, 1.0, interrupted);
  }
}

TEST(FrankWolfeTest, StartsFromTheUnaries) {
  const SparseCrf model = RandomGrid(4, 4, LinearLabels(4), 1.0, 5);
  for (const Method& method : kMethods) {
    const BoundResult result = SolveFrankWolfe(model, Options(method, 0));
    EXPECT_EQ(result.flow.edge, Matrix<double>(model.num_edges(), model.num_cuts(), 0.0));
  }
}

TEST(FrankWolfeTest, TheFirstHarmonicStepIsTheGreedyVertex) {
  const SparseCrf model = RandomGrid(4, 4, TruncatedLinearLabels(5, 2), 1.0, 6);
  const BoundResult start = SolveFrankWolfe(model, Options(kMethods[1], 0));
  const BoundResult step = SolveFrankWolfe(model, Options(kMethods[1], 1));
  const SparseExtension extension(model, ExtensionKind::kOptimal);
  Matrix<double> storage;
  EXPECT_EQ(step.flow.edge, extension.GreedyFlow(CutSums(model, start.marginals, &storage)).edge);
}

TEST(FrankWolfeTest, ExactLineSearchMinimises) {
  const double T = 0.6;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Matrix<double> s = RandomUnary(30, 5, -2.0, 2.0, seed);
    const Matrix<double> d = RandomUnary(30, 5, -1.0, 2.0 + 2.0 * static_cast<double>(seed), seed);
    const auto value = [&](double t) {
      double sum = 0.0;
      for (std::size_t a = 0; a < s.rows(); ++a) {
        double row = 0.0;
        for (std::size_t i = 0; i < s.cols(); ++i) row += std::exp(-(s(a, i) + t * d(a, i)) / T);
        sum += T * std::log(row);
      }
      return sum;
    };
    const double t = ExactLineSearch(s, d, T);
    for (int k = 0; k <= 100; ++k) EXPECT_LE(value(t), value(0.01 * k) + 1e-10);
  }
  const Matrix<double> zero(3, 4, 0.0);
  EXPECT_EQ(ExactLineSearch(zero, zero, T), 0.0);
  EXPECT_EQ(ExactLineSearch(zero, Matrix<double>(3, 4, 1.0), T), 1.0);
  EXPECT_EQ(ExactLineSearch(zero, Matrix<double>(3, 4, -1.0), T), 0.0);
}

TEST(FrankWolfeTest, IsTheSameForAnyNumberOfThreads) {
  const SparseCrf model = RandomGrid(40, 40, TruncatedLinearLabels(6, 2), 1.0, 7);
  for (const Method& method : kMethods) {
    for (ExtensionKind kind : kKinds) {
      FrankWolfeOptions options = Options(method, 15);
      options.extension = kind;
      testing::SetThreadCount(1);
      const BoundResult one = SolveFrankWolfe(model, options);
      testing::SetThreadCount(2);
      const BoundResult two = SolveFrankWolfe(model, options);
      testing::SetThreadCount(0);
      ExpectIdentical(one, two);
    }
  }
}

TEST(FrankWolfeTest, ConvergesAtOnceWithoutEdges) {
  for (const LabelSpace& labels : LabelSpaces()) {
    for (int variables : {1, 5}) {
      const SparseCrf model(RandomUnary(variables, labels.num_labels(), -3.0, 3.0, 8), {}, labels,
                            -1.5);
      for (double T : {0.1, 1.0}) {
        const double exact = EnumerateExact(ToFactorGraph(model), T).log_partition;
        for (const Method& method : kMethods) {
          FrankWolfeOptions options = Options(method, 100);
          options.temperature = T;
          options.relative_gap = 1e-12;
          const BoundResult result = SolveFrankWolfe(model, options);
          EXPECT_EQ(result.termination, Termination::kGapReached);
          EXPECT_EQ(result.iterations, 0);
          EXPECT_NEAR(result.upper, exact, 1e-12 * (1.0 + std::abs(exact)));
          EXPECT_NEAR(result.dual, exact, 1e-12 * (1.0 + std::abs(exact)));
        }
      }
    }
  }
}

// Two coupled variables beside three isolated ones, one of them between the coupled two.
TEST(FrankWolfeTest, IsolatedVariablesKeepTheirOwnDistribution) {
  const SparseCrf model(RandomUnary(5, 3, -3.0, 3.0, 9), {{0, 3, 2.0}, {0, 3, 0.0}},
                        PottsLabels(3));
  const ExactResult exact = EnumerateExact(ToFactorGraph(model));
  for (const Method& method : kMethods) {
    const BoundResult result = SolveFrankWolfe(model, Options(method, 200));
    ExpectSound(model, ExtensionKind::kOptimal, 1.0, result);
    for (std::size_t a : {1, 2, 4}) {
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(result.marginals(a, i), exact.marginals[a][i], 1e-12);
      }
    }
  }
}

// The optimum of the alternate extension is known: T N log L - offset.
TEST(FrankWolfeTest, FindsTheOptimumOfTheAlternateExtension) {
  const SparseCrf model = RandomGrid(4, 4, PottsLabels(3), 0.5, 10);
  const double optimum =
      16.0 * std::log(3.0) - SparseExtension(model, ExtensionKind::kAlternate).offset();
  for (const Method& method : kMethods) {
    FrankWolfeOptions options = Options(method, 3000);
    options.extension = ExtensionKind::kAlternate;
    options.relative_gap = 1e-2;
    const BoundResult result = SolveFrankWolfe(model, options);
    EXPECT_EQ(result.termination, Termination::kGapReached) << method.name;
    EXPECT_GE(result.upper, optimum - 1e-10);
    EXPECT_LE(result.dual, optimum + 1e-10);
  }
}

TEST(FrankWolfeTest, SurvivesExtremeModels) {
  for (const LabelSpace& labels : {PottsLabels(4), LinearLabels(6)}) {
    for (double unary : {1.0, 1e6}) {
      for (double weight : {1.0, 1e4}) {
        const SparseCrf model(RandomUnary(36, labels.num_labels(), -unary, unary, 11),
                              GridEdges(6, 6, 4, weight), labels);
        for (const Method& method : kMethods) {
          for (ExtensionKind kind : kKinds) {
            for (double T : {1e-3, 1.0, 1e3}) {
              SCOPED_TRACE(::testing::Message() << method.name << ", unaries " << unary
                                                << ", weights " << weight << ", T " << T);
              FrankWolfeOptions options = Options(method, 30);
              options.extension = kind;
              options.temperature = T;
              ExpectSound(model, kind, T, SolveFrankWolfe(model, options));
            }
          }
        }
      }
    }
  }
}

// At low temperature probabilities round to 1 and underflow to 0, which must not mislead the line
// searches.
TEST(FrankWolfeTest, ExactStepsNeverRiseAtLowTemperature) {
  for (const LabelSpace& labels : LabelSpaces()) {
    for (double weight : {1.0, 30.0, 1e4}) {
      const SparseCrf model = RandomGrid(6, 6, labels, weight, 12);
      for (double T : {0.03, 1e-2, 1e-3, 1e-4}) {
        SCOPED_TRACE(::testing::Message()
                     << model.Description() << ", w " << weight << ", T " << T);
        FrankWolfeOptions options = Options(kMethods[0], 40);
        options.temperature = T;
        const BoundResult result = SolveFrankWolfe(model, options);
        ExpectSound(model, ExtensionKind::kOptimal, T, result);
        ExpectUpperNeverRises(result);
        EXPECT_LT(result.upper, result.records.front().upper);
      }
    }
  }
}

// A cut that holds all labels, or none of the weight, is no obstacle.
TEST(FrankWolfeTest, AcceptsCutsWithoutEffect) {
  LabelSpace labels = PottsLabels(3);
  labels.cuts = std::make_shared<LabelCuts>(3, std::vector<std::vector<int>>{{0, 1, 2}, {0, 2}});
  labels.metrics[0].length = {0.5, 0.5, 0.5, 0.7, 0.0};
  const SparseCrf model = RandomGrid(4, 4, labels, 1.0, 14);
  const SparseCrf plain(model.unary(), model.edges(), PottsLabels(3), model.constant());
  for (const Method& method : kMethods) {
    FrankWolfeOptions options = Options(method, 10000);
    options.relative_gap = 5e-3;
    const BoundResult result = SolveFrankWolfe(model, options);
    ExpectSound(model, ExtensionKind::kOptimal, 1.0, result);
    EXPECT_EQ(result.termination, Termination::kGapReached);
    EXPECT_GE(result.upper, SolveFrankWolfe(plain, options).dual);
  }
}

// A line search that is cut short leaves the result as it was recorded.
TEST(FrankWolfeTest, StopsWithinAStep) {
  const SparseCrf model = RandomGrid(20, 20, PottsLabels(12), 2.0, 17);
  FrankWolfeOptions options;
  options.relative_gap = 0.0;
  for (int limit : {2, 3, 10}) {
    int asked = 0;
    options.interrupted = [&] { return ++asked == limit; };
    const BoundResult result = SolveFrankWolfe(model, options);
    EXPECT_EQ(asked, limit);
    EXPECT_EQ(result.termination, Termination::kInterrupted);
    ExpectSound(model, ExtensionKind::kOptimal, 1.0, result);
  }
}

// Where energies cancel, the gap is only rounding, which no iteration reduces.
TEST(FrankWolfeTest, StallsWhereEnergiesCancel) {
  constexpr int kIterations = 20000;
  // An offset of all labels of a variable cancels in the marginals, not in the bounds.
  SparseCrf model = RandomGrid(4, 3, PottsLabels(3), 1.0, 12);
  Matrix<double> unary = model.unary();
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    for (double& cost : unary.row(a)) cost += a % 2 == 0 ? 1e9 : -1e9;
  }
  model = SparseCrf(std::move(unary), model.edges(), PottsLabels(3));
  FrankWolfeOptions options = Options(kMethods[0], kIterations);
  options.relative_gap = 0.0;
  const BoundResult result = SolveFrankWolfe(model, options);
  EXPECT_EQ(result.termination, Termination::kStalled);
  EXPECT_LT(result.iterations, kIterations);
}

TEST(FrankWolfeTest, RefusesTemperaturesThatAreNotPositive) {
  const SparseCrf model = RandomGrid(2, 2, PottsLabels(2), 1.0, 13);
  for (double T : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e-310}) {
    for (const Method& method : kMethods) {
      FrankWolfeOptions options = Options(method, 10);
      options.temperature = T;
      EXPECT_THROW(SolveFrankWolfe(model, options), InvalidInput) << T;
    }
  }
}

}  // namespace
}  // namespace submarine::internal
