// The dense solvers at other temperatures than 1, down to T = 0.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/error_test_util.h"
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

using testing::ExactValue;
using testing::ExpectInvalid;
using testing::KernelsOf;
using testing::RandomModels;
using testing::SingleRounding;

constexpr double kTemperatures[] = {0.0, 1e-30, 1e-12, 0.1, 0.5, 2.0, 10.0, 1e12, 1e30};

struct Instance {
  explicit Instance(DenseCrf m) : model(std::move(m)), pairs(KernelsOf(model), {.cutoff = 1e-30}) {}

  DenseCrf model;
  NeighbourList pairs;
  DenseExtension extension{model, pairs};
};

template <class Body>
void ForModels(int count, std::uint64_t seed, const Body& body) {
  RandomModels random(seed);
  for (int trial = 0; trial < count && !::testing::Test::HasFailure(); ++trial) {
    const int variables = random.Integer(1, 8);
    const Instance instance(random.Dense(variables, random.Labels(random.Integer(2, 4))));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << instance.model.Description());
    body(instance);
  }
}

template <class Options>
Options Configured(double temperature, int iterations, double gap) {
  Options options;
  options.temperature = temperature;
  options.max_iterations = iterations;
  options.relative_gap = gap;
  return options;
}

struct NamedSolver {
  std::string name;
  std::function<DenseResult(const DenseExtension&, double temperature, int iterations)> solve;
};
std::vector<NamedSolver> Solvers(double temperature) {
  std::vector<NamedSolver> solvers = {
      {"pdhg", [](const DenseExtension& p, double T,
                  int k) { return SolvePdhg(p, Configured<DensePdhgOptions>(T, k, 1e-9)); }},
      {"quadratic",
       [](const DenseExtension& p, double T, int k) {
         return SolveQuadratic(p, Configured<QuadraticOptions>(T, k, 1e-9));
       }},
  };
  if (temperature == 0.0) return solvers;
  for (const FrankWolfeStep step : {FrankWolfeStep::kLineSearch, FrankWolfeStep::kHarmonic}) {
    solvers.push_back({"frank-wolfe", [step](const DenseExtension& p, double T, int k) {
                         auto options = Configured<DenseFrankWolfeOptions>(T, k, 1e-9);
                         options.step = step;
                         return SolveFrankWolfe(p, options);
                       }});
  }
  return solvers;
}

// What a result says is what its evidence proves, and encloses the exact value.
TEST(DenseTemperatureTest, EveryResultIsSound) {
  ForModels(40, 1, [](const Instance& instance) {
    const DenseCrf& model = instance.model;
    for (const double T : kTemperatures) {
      const PairOptions exactly{.temperature = T, .cutoff = 0.0, .far_tolerance = 0.0};
      const double exact = ExactValue(model, T);
      for (const NamedSolver& solver : Solvers(T)) {
        SCOPED_TRACE(::testing::Message() << solver.name << ", T " << T);
        for (const int iterations : {1, 40}) {
          const DenseResult result = solver.solve(instance.extension, T, iterations);
          const double rounding = SingleRounding(model, T) * (1.0 + iterations / 64.0);
          EXPECT_GE(result.upper, exact - rounding);
          EXPECT_LE(result.dual, result.upper + rounding);
          EXPECT_NEAR(VerifiedUpper(model, result.proof, exactly), result.upper, rounding);
          EXPECT_NEAR(VerifiedAt(model, result.dual_point, exactly).dual, result.dual, rounding);
          EXPECT_NEAR(model.Energy(result.labels), result.energy, SingleRounding(model, 0.0));
          for (std::size_t a = 0; a < result.marginals.rows(); ++a) {
            double sum = 0.0;
            for (const float p : result.marginals.row(a)) {
              EXPECT_GE(p, 0.0F);
              sum += p;
            }
            ASSERT_NEAR(sum, 1.0, 1e-5);
          }
        }
      }
    }
  });
}

TEST(DenseTemperatureTest, PdhgReachesSmallGaps) {
  for (const double T : kTemperatures) {
    int reached = 0;
    int trials = 0;
    ForModels(60, 2, [&](const Instance& instance) {
      const DenseResult result =
          SolvePdhg(instance.extension, Configured<DensePdhgOptions>(T, 3000, 1e-3));
      ++trials;
      reached += result.termination == Termination::kGapReached ? 1 : 0;
    });
    EXPECT_GE(reached, 9 * trials / 10) << "of " << trials << " at T " << T;
  }
}

// The sparse solver on explicit flows knows the optimum, at T = 0 that of the linear programme.
TEST(DenseTemperatureTest, PdhgAgreesWithTheSparseOptimum) {
  ForModels(30, 3, [](const Instance& instance) {
    for (const double T : {0.0, 0.1, 0.5, 2.0, 10.0}) {
      SCOPED_TRACE(::testing::Message() << "T " << T);
      const auto tight = Configured<PdhgOptions>(T, 100000, 1e-5);
      const BoundResult best = SolvePdhg(ToSparseCrf(instance.model), tight);
      const double rounding = 2.0 * SingleRounding(instance.model, T);
      const DenseResult result =
          SolvePdhg(instance.extension, Configured<DensePdhgOptions>(T, 3000, 1e-3));
      EXPECT_GE(result.upper, best.dual - rounding);
      EXPECT_LE(result.dual, best.upper + rounding);
    }
  });
}

// Powers of 2 scale single precision without rounding, and so the iterates of E at T are those of E / T
// at 1, to the last bit.
TEST(DenseTemperatureTest, ScalesWithTheEnergy) {
  int compared = 0;
  ForModels(30, 4, [&](const Instance& instance) {
    for (const double T : {0x1p-10, 0.25, 4.0, 0x1p10}) {
      Matrix<float> unary = instance.model.unary();
      for (std::size_t k = 0; k < unary.size(); ++k) unary.data()[k] /= static_cast<float>(T);
      std::vector<GaussianKernel> kernels = instance.model.kernels();
      for (GaussianKernel& kernel : kernels) kernel.weight /= T;
      const Instance scaled(DenseCrf(unary, kernels, instance.model.labels(),
                                     instance.model.counting(), instance.model.constant() / T));
      const double rounding = SingleRounding(instance.model, T);
      for (const NamedSolver& solver : Solvers(T)) {
        SCOPED_TRACE(::testing::Message() << solver.name << ", T " << T);
        const DenseResult at = solver.solve(instance.extension, T, 20);
        const DenseResult unit = solver.solve(scaled.extension, 1.0, 20);
        EXPECT_NEAR(*at.records.front().upper, T * *unit.records.front().upper, rounding);
        // Gaps are relative to max(1, |upper|), which is not scaled: one may stop before the other.
        if (at.iterations != unit.iterations) continue;
        ++compared;
        EXPECT_TRUE(at.marginals == unit.marginals);
        EXPECT_NEAR(at.upper, T * unit.upper, rounding);
        EXPECT_NEAR(at.dual, T * unit.dual, rounding);
      }
      const DenseMeanFieldOptions steps{.max_iterations = 20, .tolerance = -1.0};
      DenseMeanFieldOptions tempered = steps;
      tempered.temperature = T;
      const DenseMeanFieldResult at = SolveMeanField(instance.extension, tempered);
      const DenseMeanFieldResult unit = SolveMeanField(scaled.extension, steps);
      EXPECT_TRUE(at.marginals == unit.marginals);
      EXPECT_NEAR(at.lower, T * unit.lower, rounding);
    }
  });
  EXPECT_GE(compared, 360) << "of 30 models, 4 temperatures and 4 solvers";
}

TEST(DenseTemperatureTest, DampedMeanFieldNeverFalls) {
  ForModels(60, 5, [](const Instance& instance) {
    for (const double T : kTemperatures) {
      SCOPED_TRACE(::testing::Message() << "T " << T);
      const double exact = ExactValue(instance.model, T);
      const double rounding = SingleRounding(instance.model, T);
      DenseMeanFieldOptions options{.temperature = T, .max_iterations = 40, .tolerance = -1.0};
      const DenseMeanFieldResult result = SolveMeanField(instance.extension, options);
      double last = -HUGE_VAL;
      for (const double now : result.free_energy) {
        ASSERT_GE(now, last - rounding);
        last = now;
      }
      EXPECT_LE(result.lower, exact + rounding);
      const PairOptions exactly{.temperature = T, .cutoff = 0.0, .far_tolerance = 0.0};
      EXPECT_NEAR(VerifiedAt(instance.model, result.marginals, exactly).lower, result.lower,
                  rounding);
      options.damped = false;
      EXPECT_LE(SolveMeanField(instance.extension, options).lower, exact + rounding);
    }
  });
}

}  // namespace
}  // namespace submarine::internal
