// The dense bound solvers and dense mean field, on models small enough to compute the truth.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/filter/list/neighbour_list.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/dense_frank_wolfe.h"
#include "submarine/solver/flow/dense_pdhg.h"
#include "submarine/solver/flow/dense_test_util.h"
#include "submarine/solver/flow/pdhg.h"
#include "submarine/solver/flow/quadratic.h"
#include "submarine/solver/mean_field/dense_mean_field.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::KernelsOf;
using testing::RandomModels;
using testing::SingleRounding;

// Below this, kernel values are lost in any sum with others.
const NeighbourListOptions kAllPairs{.cutoff = 1e-30};
const PairOptions kExactly{.cutoff = 0.0, .far_tolerance = 0.0};

struct Instance {
  explicit Instance(DenseCrf m) : model(std::move(m)), pairs(KernelsOf(model), kAllPairs) {}
  Instance(int variables, int labels, RandomModels* random)
      : Instance(random->Dense(variables, random->Labels(labels))) {}

  DenseCrf model;
  NeighbourList pairs;
  DenseExtension extension{model, pairs};
};

template <class Body>
void ForModels(int count, std::uint64_t seed, const Body& body) {
  RandomModels random(seed);
  for (int trial = 0; trial < count && !::testing::Test::HasFailure(); ++trial) {
    const int variables = random.Integer(1, 10);
    const int labels = random.Integer(2, 5);
    const Instance instance(variables, labels, &random);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << instance.model.Description());
    body(instance);
  }
}

DensePdhgOptions PdhgSteps(int iterations, double gap) {
  DensePdhgOptions options;
  options.max_iterations = iterations;
  options.relative_gap = gap;
  return options;
}
QuadraticOptions QuadraticSteps(int iterations) {
  QuadraticOptions options;
  options.max_iterations = iterations;
  return options;
}
DenseFrankWolfeOptions FrankWolfeSteps(int iterations, FrankWolfeStep step) {
  DenseFrankWolfeOptions options;
  options.max_iterations = iterations;
  options.relative_gap = 1e-6;
  options.step = step;
  return options;
}

struct NamedSolver {
  std::string name;
  std::function<DenseResult(const DenseExtension&, int iterations)> solve;
};
std::vector<NamedSolver> Solvers() {
  return {{"pdhg", [](const DenseExtension& p, int k) { return SolvePdhg(p, PdhgSteps(k, 1e-9)); }},
          {"quadratic",
           [](const DenseExtension& p, int k) { return SolveQuadratic(p, QuadraticSteps(k)); }},
          {"frank-wolfe, line search",
           [](const DenseExtension& p, int k) {
             return SolveFrankWolfe(p, FrankWolfeSteps(k, FrankWolfeStep::kLineSearch));
           }},
          {"frank-wolfe, harmonic", [](const DenseExtension& p, int k) {
             return SolveFrankWolfe(p, FrankWolfeSteps(k, FrankWolfeStep::kHarmonic));
           }}};
}

void ExpectDistributions(const Matrix<float>& y, const DenseExtension& extension) {
  ASSERT_EQ(y.rows(), extension.num_variables());
  ASSERT_EQ(y.cols(), extension.num_labels());
  for (std::size_t a = 0; a < y.rows(); ++a) {
    double sum = 0.0;
    for (const float p : y.row(a)) {
      ASSERT_GE(p, 0.0F);
      sum += p;
    }
    ASSERT_NEAR(sum, 1.0, 1e-5);
  }
}

// What every result promises, recomputed from its evidence over all pairs in double.
void ExpectSound(const Instance& instance, const DenseResult& result) {
  const DenseCrf& model = instance.model;
  // Frank-Wolfe's s is a sum of as many rounded steps.
  const double rounding = SingleRounding(model) + result.iterations * SingleRounding(model) / 64.0;
  ASSERT_NE(result.termination, Termination::kNotRun);
  ASSERT_FALSE(result.records.empty());
  EXPECT_EQ(result.records.back().k, result.iterations);
  EXPECT_LE(result.dual, result.upper + rounding);
  double dual = -HUGE_VAL;
  for (const SolveRecord& record : result.records) {
    ASSERT_TRUE(record.upper.has_value());
    const double now = record.dual.value_or(-HUGE_VAL);
    ASSERT_GE(now, dual);
    ASSERT_LE(now, *record.upper + rounding);
    dual = now;
  }
  EXPECT_NEAR(VerifiedUpper(model, result.proof, kExactly), result.upper, rounding);
  ExpectDistributions(result.marginals, instance.extension);
  ExpectDistributions(result.dual_point, instance.extension);
  EXPECT_NEAR(VerifiedAt(model, result.dual_point, kExactly).dual, result.dual, rounding);
  ASSERT_EQ(result.labels.size(), model.num_variables());
  EXPECT_NEAR(model.Energy(result.labels), result.energy, rounding);
  ExpectDistributions(result.state.marginals, instance.extension);
  EXPECT_EQ(result.state.potentials.cols(), instance.extension.num_active());
}

TEST(DenseSolversTest, EveryResultIsSound) {
  for (const NamedSolver& solver : Solvers()) {
    SCOPED_TRACE(solver.name);
    ForModels(60, 1, [&](const Instance& instance) {
      for (const int iterations : {1, 7, 60})
        ExpectSound(instance, solver.solve(instance.extension, iterations));
    });
  }
}

TEST(DenseSolversTest, BoundTheExactValue) {
  ForModels(60, 2, [&](const Instance& instance) {
    if (std::pow(instance.model.num_labels(), instance.model.num_variables()) > 20000.0) return;
    const double exact = SolveExact(ToFactorGraph(ToSparseCrf(instance.model))).log_partition;
    for (const NamedSolver& solver : Solvers()) {
      for (const SolveRecord& record : solver.solve(instance.extension, 40).records)
        ASSERT_GE(record.upper, exact - 2.0 * SingleRounding(instance.model)) << solver.name;
    }
  });
}

TEST(DensePdhgTest, ReachesSmallGaps) {
  int reached = 0;
  int trials = 0;
  ForModels(100, 3, [&](const Instance& instance) {
    const DenseResult result = SolvePdhg(instance.extension, PdhgSteps(3000, 1e-3));
    ++trials;
    if (result.termination == Termination::kGapReached) {
      ++reached;
      EXPECT_LE(RelativeGap(result.upper, result.dual), 1e-3);
    } else {
      EXPECT_EQ(result.termination, Termination::kIterationLimit);
      EXPECT_LE(RelativeGap(result.upper, result.dual), 0.05);
    }
    double upper = HUGE_VAL;
    for (const SolveRecord& record : result.records) {
      ASSERT_LE(*record.upper, upper);
      upper = *record.upper;
    }
  });
  EXPECT_GE(reached, 9 * trials / 10) << "of " << trials;
}

// The sparse solver on explicit flows, with every pair an edge, knows the optimum.
TEST(DenseSolversTest, AgreeWithTheSparseOptimum) {
  ForModels(60, 4, [&](const Instance& instance) {
    PdhgOptions tight;
    tight.relative_gap = 1e-6;
    tight.max_iterations = 20000;
    const BoundResult best = SolvePdhg(ToSparseCrf(instance.model), tight);
    const double rounding = 2.0 * SingleRounding(instance.model);
    for (const NamedSolver& solver : Solvers()) {
      const DenseResult result = solver.solve(instance.extension, 300);
      EXPECT_GE(result.upper, best.dual - rounding) << solver.name;
      EXPECT_LE(result.dual, best.upper + rounding) << solver.name;
    }
    const DenseResult pdhg = SolvePdhg(instance.extension, PdhgSteps(3000, 1e-3));
    EXPECT_LE(pdhg.upper, best.upper + (pdhg.upper - pdhg.dual) + rounding);
  });
}

TEST(QuadraticTest, BoundNeverRises) {
  int improved = 0;
  ForModels(100, 5, [&](const Instance& instance) {
    const DenseResult result = SolveQuadratic(instance.extension, QuadraticSteps(200));
    double upper = instance.extension.Upper(instance.model.unary(), 1.0);
    EXPECT_LE(result.upper, upper) << "no worse than no flow at all";
    if (result.upper < upper - 0.01 * std::abs(upper)) ++improved;
    for (const SolveRecord& record : result.records) {
      ASSERT_LE(*record.upper, upper);
      upper = *record.upper;
    }
  });
  EXPECT_GE(improved, 30);
}

TEST(DenseFrankWolfeTest, ApproachesTheOptimum) {
  int close = 0;
  int trials = 0;
  ForModels(60, 6, [&](const Instance& instance) {
    for (FrankWolfeStep step : {FrankWolfeStep::kLineSearch, FrankWolfeStep::kHarmonic}) {
      const DenseResult result = SolveFrankWolfe(instance.extension, FrankWolfeSteps(500, step));
      ++trials;
      if (RelativeGap(result.upper, result.dual) <= 0.02) ++close;
      const DenseResult earlier = SolveFrankWolfe(instance.extension, FrankWolfeSteps(25, step));
      EXPECT_LE(RelativeGap(result.upper, result.dual),
                0.5 * RelativeGap(earlier.upper, earlier.dual) + 1e-3);
    }
  });
  EXPECT_GE(close, 3 * trials / 4) << "of " << trials;
}

TEST(DenseFrankWolfeTest, LineSearchNeverRises) {
  ForModels(60, 7, [&](const Instance& instance) {
    const DenseResult result =
        SolveFrankWolfe(instance.extension, FrankWolfeSteps(100, FrankWolfeStep::kLineSearch));
    double upper = HUGE_VAL;
    for (const SolveRecord& record : result.records) {
      ASSERT_LE(*record.upper, upper + SingleRounding(instance.model));
      upper = *record.upper;
    }
  });
}

// Models whose optimum is that of the variables alone.
TEST(DenseSolversTest, ModelsWithoutCoupling) {
  const auto expect_free = [](const DenseCrf& model) {
    SCOPED_TRACE(model.Description());
    const Instance instance(model);
    const double free = instance.extension.Upper(model.unary(), 1.0);
    const double rounding = SingleRounding(model);
    for (const NamedSolver& solver : Solvers()) {
      SCOPED_TRACE(solver.name);
      const DenseResult result = solver.solve(instance.extension, 30);
      ExpectSound(instance, result);
      EXPECT_NEAR(result.upper, free, rounding);
      // The rest of the way is the proximal term, where there is one.
      EXPECT_NEAR(result.dual, free, 1e-3 * std::abs(free) + rounding);
    }
    const DenseMeanFieldResult lower = SolveMeanField(instance.extension, {});
    EXPECT_NEAR(lower.lower, free, rounding);
  };
  RandomModels random(9);
  Matrix<float> unary(4, 3);
  for (std::size_t k = 0; k < unary.size(); ++k)
    unary.data()[k] = static_cast<float>(random.Real(-3.0, 3.0));
  Matrix<double> line(4, 1);
  for (std::size_t a = 0; a < 4; ++a) line(a, 0) = static_cast<double>(a);
  const auto with = [&](Matrix<double> features, double weight, LabelSpace labels) {
    return DenseCrf(unary, {{"kernel", std::move(features), weight}}, std::move(labels));
  };
  expect_free(with(line, 0.0, PottsLabels(3)));
  for (const double weight : {1e-12, 1e-20, 1e-30}) {
    expect_free(with(line, weight, PottsLabels(3)));
    expect_free(with(line, weight, LinearLabels(3)));
  }
  Matrix<double> apart = line;
  for (const double spacing : {7.0, 9.0, 12.0, 1e6, 1e37}) {
    for (std::size_t a = 0; a < 4; ++a) apart(a, 0) = spacing * static_cast<double>(a);
    expect_free(with(apart, 1.0, LinearLabels(3)));
  }
  expect_free(
      DenseCrf(Matrix<float>(1, 2, 1.0F), {{"one", Matrix<double>(1, 1), 5.0}}, PottsLabels(2)));
}

// Weights so large that all variables have the same marginals y, which maximise
// N H(y) - <sum_a phi_a, y>.
TEST(DenseSolversTest, ModelsOfOneLabel) {
  Matrix<float> unary(6, 3);
  for (std::size_t a = 0; a < 6; ++a) unary(a, a % 3) = -2.0F;
  unary(0, 1) = -1.0F;
  double optimum = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    double mean = 0.0;
    for (std::size_t a = 0; a < 6; ++a) mean += unary(a, i) / 6.0;
    optimum += std::exp(-mean);
  }
  optimum = 6.0 * std::log(optimum);
  for (const double weight : {1e2, 1e4, 1e6}) {
    const Instance instance(
        DenseCrf(unary, {{"same", Matrix<double>(6, 1), weight}}, PottsLabels(3)));
    for (const NamedSolver& solver : Solvers())
      ExpectSound(instance, solver.solve(instance.extension, 50));
    const DenseResult result = SolvePdhg(instance.extension, PdhgSteps(500, 1e-3));
    EXPECT_EQ(result.labels, std::vector<int>(6, 1));
    // Beyond this weight, potentials in single precision are too coarse to balance the unaries, and
    // marginals equal to the last bit but one already cost more than the gap.
    if (weight <= 1e4) {
      EXPECT_NEAR(result.upper, optimum, 1e-3 * optimum);
    }
    if (weight <= 1e2) {
      EXPECT_EQ(result.termination, Termination::kGapReached);
    }
  }
}

TEST(DenseSolversTest, StopWhenAskedTo) {
  RandomModels random(10);
  const Instance instance(8, 4, &random);
  const auto stop_at = [](int k) {
    return [k](const SolveRecord& record) { return record.k < k; };
  };
  DensePdhgOptions pdhg = PdhgSteps(1000, 1e-9);
  pdhg.on_iteration = stop_at(3);
  QuadraticOptions quadratic = QuadraticSteps(1000);
  quadratic.on_iteration = stop_at(1);
  DenseFrankWolfeOptions frank_wolfe = FrankWolfeSteps(1000, FrankWolfeStep::kHarmonic);
  frank_wolfe.on_iteration = stop_at(2);
  for (const DenseResult& result :
       {SolvePdhg(instance.extension, pdhg), SolveQuadratic(instance.extension, quadratic),
        SolveFrankWolfe(instance.extension, frank_wolfe)}) {
    EXPECT_EQ(result.termination, Termination::kInterrupted);
    EXPECT_LE(result.iterations, 3);
    ExpectSound(instance, result);
  }
  pdhg.on_iteration = {};
  pdhg.time_limit_seconds = 0.0;
  const DenseResult late = SolvePdhg(instance.extension, pdhg);
  EXPECT_EQ(late.termination, Termination::kTimeLimit);
  ExpectSound(instance, late);
}

TEST(DenseSolversTest, GoOnFromAState) {
  ForModels(30, 11, [](const Instance& instance) {
    const DenseResult first = SolvePdhg(instance.extension, PdhgSteps(100, 1e-9));
    DensePdhgOptions options = PdhgSteps(100, 1e-9);
    options.start = first.state;
    const DenseResult second = SolvePdhg(instance.extension, options);
    ExpectSound(instance, second);
    // The state is the last iterate, whose bound is not always the best.
    EXPECT_LE(second.upper, first.upper + 0.01 * std::max(1.0, std::abs(first.upper)));
    QuadraticOptions quadratic = QuadraticSteps(10);
    quadratic.start = first.state;
    ExpectSound(instance, SolveQuadratic(instance.extension, quadratic));
  });
}

TEST(DenseSolversTest, RefusesBadOptions) {
  RandomModels random(12);
  const Instance instance(5, 3, &random);
  const DenseExtension& extension = instance.extension;
  for (const double temperature : {-1.0, 1e-31, 1e31, HUGE_VAL, std::nan("")}) {
    const std::string message = "temperature";
    DensePdhgOptions pdhg;
    pdhg.temperature = temperature;
    ExpectInvalid([&] { SolvePdhg(extension, pdhg); }, message);
    QuadraticOptions quadratic;
    quadratic.temperature = temperature;
    ExpectInvalid([&] { SolveQuadratic(extension, quadratic); }, message);
    DenseFrankWolfeOptions frank_wolfe;
    frank_wolfe.temperature = temperature;
    ExpectInvalid([&] { SolveFrankWolfe(extension, frank_wolfe); }, message);
    ExpectInvalid([&] { SolveMeanField(extension, {.temperature = temperature}); }, message);
  }
  DenseFrankWolfeOptions cold;
  cold.temperature = 0.0;
  ExpectInvalid([&] { SolveFrankWolfe(extension, cold); },
                "this method needs a finite temperature");
  DenseFrankWolfeOptions options = FrankWolfeSteps(100, FrankWolfeStep::kLineSearch);
  options.max_proof_bytes = 1000;
  EXPECT_THROW(SolveFrankWolfe(extension, options), TooLarge);
  options.max_iterations = std::numeric_limits<int>::max();
  options.max_proof_bytes = std::size_t{4} << 30;
  EXPECT_THROW(SolveFrankWolfe(extension, options), TooLarge);
}

TEST(DenseSolversTest, GoingOnIsTheSameAsNotStopping) {
  RandomModels random(16);
  const Instance instance(9, 3, &random);
  DensePdhgOptions options;
  options.relative_gap = -1.0;  // to the last iteration
  options.max_iterations = 24;
  const DenseResult whole = SolvePdhg(instance.extension, options);
  options.max_iterations = 12;
  const DenseResult half = SolvePdhg(instance.extension, options);
  options.start = half.state;
  const DenseResult rest = SolvePdhg(instance.extension, options);
  EXPECT_EQ(rest.marginals, whole.marginals);
  EXPECT_EQ(rest.state.potentials, whole.state.potentials);
  EXPECT_EQ(rest.state.iterations, 24);
  EXPECT_EQ(std::min(half.upper, rest.upper), whole.upper);
}

TEST(DenseSolversTest, RefusesBadStarts) {
  RandomModels random(13);
  const Instance instance(5, 3, &random);
  const DenseExtension& extension = instance.extension;
  const auto expect_refused = [&](const DenseStart& start, const std::string& message) {
    DensePdhgOptions pdhg;
    pdhg.start = start;
    ExpectInvalid([&] { SolvePdhg(extension, pdhg); }, message);
    QuadraticOptions quadratic;
    quadratic.start = start;
    ExpectInvalid([&] { SolveQuadratic(extension, quadratic); }, message);
  };
  expect_refused({.marginals = Matrix<float>(4, 3, 0.5F)},
                 "the marginals to start from are 4 x 3, expected 5 x 3");
  expect_refused({.potentials = Matrix<float>(5, 1 + extension.num_active())},
                 "the potentials to start from are 5 x");
  Matrix<float> bad(5, 3, 0.5F);
  bad(4, 1) = std::nanf("");
  expect_refused({.marginals = bad}, "the marginals to start from have nan at variable 4");
  DenseMeanFieldOptions mean_field;
  mean_field.start = Matrix<float>(5, 2, 0.5F);
  ExpectInvalid([&] { SolveMeanField(extension, mean_field); },
                "the marginals to start from are 5 x 2, expected 5 x 3");
}

TEST(DenseMeanFieldTest, DampedNeverFallsAndStaysBelowTheExactValue) {
  ForModels(150, 14, [](const Instance& instance) {
    if (std::pow(instance.model.num_labels(), instance.model.num_variables()) > 20000.0) return;
    const double exact = SolveExact(ToFactorGraph(ToSparseCrf(instance.model))).log_partition;
    const double rounding = SingleRounding(instance.model);
    DenseMeanFieldOptions options;
    options.tolerance = -1.0;  // to the last iteration
    options.max_iterations = 60;
    const DenseMeanFieldResult result = SolveMeanField(instance.extension, options);
    EXPECT_EQ(result.iterations, 60);
    double last = -HUGE_VAL;
    EXPECT_EQ(result.free_energy.size(), 61u);
    for (const double now : result.free_energy) {
      ASSERT_GE(now, last - rounding);
      last = now;
    }
    EXPECT_LE(result.lower, exact + rounding);
    ExpectDistributions(result.marginals, instance.extension);
    EXPECT_NEAR(VerifiedAt(instance.model, result.marginals, kExactly).lower, result.lower,
                rounding);
    options.damped = false;
    const DenseMeanFieldResult classic = SolveMeanField(instance.extension, options);
    EXPECT_LE(classic.lower, exact + rounding);
    EXPECT_EQ(classic.lower, classic.free_energy.back()) << "the last one's";
    EXPECT_NEAR(VerifiedAt(instance.model, classic.marginals, kExactly).lower, classic.lower,
                rounding);
  });
}

// Two variables that each prefer what the other is not cannot settle when both move at once.
TEST(DenseMeanFieldTest, DampingStopsOscillation) {
  Matrix<float> unary(2, 2);
  unary(0, 1) = unary(1, 0) = 1.0F;
  const Instance instance(DenseCrf(unary, {{"same", Matrix<double>(2, 1), 4.0}}, PottsLabels(2)));
  DenseMeanFieldOptions options;
  options.tolerance = -1.0;
  options.max_iterations = 200;
  const double damped = SolveMeanField(instance.extension, options).lower;
  options.damped = false;
  const double classic = SolveMeanField(instance.extension, options).lower;
  EXPECT_GT(damped, classic + 0.5);
}

TEST(DenseMeanFieldTest, StopsWhenAskedTo) {
  RandomModels random(15);
  const Instance instance(8, 3, &random);
  DenseMeanFieldOptions options;
  options.tolerance = -1.0;
  options.on_iteration = [](int k, double, double) { return k < 4; };
  EXPECT_EQ(SolveMeanField(instance.extension, options).iterations, 4);
  options.on_iteration = {};
  options.time_limit_seconds = 0.0;
  EXPECT_EQ(SolveMeanField(instance.extension, options).iterations, 0);
  options.time_limit_seconds = HUGE_VAL;
  options.tolerance = 1e-6;
  options.max_iterations = 100000;
  const DenseMeanFieldResult converged = SolveMeanField(instance.extension, options);
  EXPECT_TRUE(converged.converged);
  options.start = converged.marginals;
  EXPECT_NEAR(SolveMeanField(instance.extension, options).lower, converged.lower,
              1e-4 * std::max(1.0, std::abs(converged.lower)));
}

// More rows than any grain, so that there is something to share out.
TEST(DenseSolversTest, DoNotDependOnTheNumberOfThreads) {
  RandomModels random(16);
  constexpr std::size_t kCount = 1500;
  for (LabelSpace& labels : std::vector<LabelSpace>{PottsLabels(3), LinearLabels(4)}) {
    Matrix<float> unary(kCount, static_cast<std::size_t>(labels.num_labels()));
    Matrix<double> features(kCount, 2);
    for (std::size_t k = 0; k < unary.size(); ++k)
      unary.data()[k] = static_cast<float>(random.Real(-2.0, 2.0));
    for (std::size_t k = 0; k < features.size(); ++k)
      features.data()[k] = static_cast<float>(random.Real(-15.0, 15.0));
    const DenseCrf model(unary, {{"random", features, 0.2}}, labels);
    const NeighbourList pairs(KernelsOf(model), {.cutoff = 0.05});
    const DenseExtension extension(model, pairs);
    for (const NamedSolver& solver : Solvers()) {
      testing::SetThreadCount(1);
      const DenseResult one = solver.solve(extension, 12);
      const DenseMeanFieldResult one_lower = SolveMeanField(extension, {.max_iterations = 12});
      testing::SetThreadCount(2);
      const DenseResult two = solver.solve(extension, 12);
      const DenseMeanFieldResult two_lower = SolveMeanField(extension, {.max_iterations = 12});
      testing::SetThreadCount(0);
      EXPECT_EQ(one.upper, two.upper) << solver.name;
      EXPECT_EQ(one.dual, two.dual) << solver.name;
      EXPECT_EQ(one.labels, two.labels) << solver.name;
      EXPECT_TRUE(one.marginals == two.marginals) << solver.name;
      EXPECT_EQ(one_lower.lower, two_lower.lower);
      EXPECT_TRUE(one_lower.marginals == two_lower.marginals);
    }
  }
}

}  // namespace
}  // namespace submarine::internal
