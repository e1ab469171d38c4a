#include "submarine/solver/common/bound_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/common/solver_test_util.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr ExtensionKind kKinds[] = {ExtensionKind::kOptimal, ExtensionKind::kAlternate};

TEST(BoundSolverTest, TerminationsHaveNames) {
  EXPECT_EQ(ToString(Termination::kNotRun), "not run");
  EXPECT_EQ(ToString(Termination::kGapReached), "gap reached");
  EXPECT_EQ(ToString(Termination::kIterationLimit), "iteration limit");
  EXPECT_EQ(ToString(Termination::kTimeLimit), "time limit");
  EXPECT_EQ(ToString(Termination::kInterrupted), "interrupted");
}

TEST(BoundSolverTest, ResultsStartAsNotRun) {
  const BoundResult result;
  EXPECT_EQ(result.termination, Termination::kNotRun);
  EXPECT_EQ(result.upper, kInfinity);
  EXPECT_EQ(result.dual, -kInfinity);
}

TEST(BoundSolverTest, RelativeGapIsRelativeToLargeValuesOnly) {
  EXPECT_DOUBLE_EQ(RelativeGap(200.0, 190.0), 0.05);
  EXPECT_DOUBLE_EQ(RelativeGap(-200.0, -210.0), 0.05);
  EXPECT_DOUBLE_EQ(RelativeGap(0.5, 0.25), 0.25);
  EXPECT_EQ(RelativeGap(kInfinity, -kInfinity), kInfinity);
  EXPECT_EQ(RelativeGap(kInfinity, 3.0), kInfinity);
  EXPECT_EQ(RelativeGap(3.0, -kInfinity), kInfinity);
  EXPECT_EQ(RelativeGap(std::nan(""), 1.0), kInfinity);
}

TEST(BoundSolverTest, TerminationIsDecidedInOrder) {
  BoundOptions options;
  options.relative_gap = 0.1;
  options.max_iterations = 5;
  options.time_limit_seconds = 2.0;
  EXPECT_EQ(CheckTermination(options, {4, 1.0, 10.0, 8.0}), Termination::kNotRun);
  EXPECT_EQ(CheckTermination(options, {4, 1.0, 10.0, 9.0}), Termination::kGapReached);
  EXPECT_EQ(CheckTermination(options, {5, 1.0, 10.0, 8.0}), Termination::kIterationLimit);
  EXPECT_EQ(CheckTermination(options, {4, 2.0, 10.0, 8.0}), Termination::kTimeLimit);
  EXPECT_EQ(CheckTermination(options, {5, 2.0, 10.0, 9.5}), Termination::kGapReached);
  EXPECT_EQ(CheckTermination(options, {}), Termination::kNotRun);
}

TEST(BoundSolverTest, ValuesAgreeWithTheVerifier) {
  RandomModels random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const SparseCrf model = random.Model(random.Integer(1, 9), random.Integer(2, 6));
    const Matrix<double> potential =
        random.Points(model.unary().rows(), model.num_cuts(), -1.0, 1.0);
    Matrix<double> y = random.Points(model.unary().rows(), model.num_labels(), 0.0, 1.0);
    for (std::size_t a = 0; a < y.rows(); ++a) {
      double sum = 0.0;
      for (double p : y.row(a)) sum += p;
      for (double& p : y.row(a)) p /= sum;
    }
    for (ExtensionKind kind : kKinds) {
      const SparseExtension extension(model, kind);
      const Flow flow = extension.GreedyFlow(potential);
      Matrix<double> s(model.unary().rows(), model.unary().cols());
      extension.LabelModular(flow, &s);
      for (double T : {0.0, 0.2, 1.0, 5.0}) {
        const double upper = VerifiedUpper(model, kind, flow, T);
        EXPECT_NEAR(BoundValue(extension, s, T), upper, 1e-11 * (1.0 + std::abs(upper)));
        const double dual = VerifiedDual(model, kind, y, T);
        EXPECT_NEAR(DualValue(extension, y, T), dual, 1e-11 * (1.0 + std::abs(dual)));
        if (T == 0.0) continue;
        Matrix<double> marginals(s.rows(), s.cols());
        EXPECT_NEAR(BoundValue(extension, s, T, &marginals), upper,
                    1e-11 * (1.0 + std::abs(upper)));
        for (std::size_t a = 0; a < s.rows(); ++a) {
          const double least = *std::min_element(s.row(a).begin(), s.row(a).end());
          double sum = 0.0;
          for (double value : s.row(a)) sum += std::exp((least - value) / T);
          for (std::size_t i = 0; i < s.cols(); ++i) {
            EXPECT_NEAR(marginals(a, i), std::exp((least - s(a, i)) / T) / sum, 1e-12);
          }
        }
      }
    }
  }
}

// "Its optimum is always N log L" (docs/math.md): the dual at uniform marginals and the bound of two
// explicit flows meet there, up to the shifts of negative unaries.
TEST(BoundSolverTest, AlternateExtensionKnowsNothing) {
  RandomModels random(2);
  for (int trial = 0; trial < 40; ++trial) {
    const SparseCrf model = random.Model(random.Integer(1, 8), random.Integer(2, 6));
    const SparseExtension extension(model, ExtensionKind::kAlternate);
    const Matrix<double>& phi = model.unary();
    double shifts = 0.0;
    Flow flow = extension.NeutralFlow();
    for (std::size_t a = 0; a < phi.rows(); ++a) {
      const double least = *std::min_element(phi.row(a).begin(), phi.row(a).end());
      const double shift = std::min(0.0, least);
      shifts += shift;
      for (std::size_t i = 0; i < phi.cols(); ++i) {
        // Every label passes on the same amount, so that nothing remains anywhere.
        const double raised = phi(a, i) - shift;
        flow.cycle(a, i) = raised > 0.0 ? (least - shift) / raised : 0.0;
      }
    }
    EXPECT_NEAR(extension.offset(), model.constant() + shifts, 1e-12);
    Matrix<double> s(phi.rows(), phi.cols());
    extension.LabelModular(flow, &s);
    for (std::size_t k = 0; k < s.size(); ++k) EXPECT_NEAR(s.data()[k], 0.0, 1e-12);

    const Matrix<double> uniform(phi.rows(), phi.cols(), 1.0 / static_cast<double>(phi.cols()));
    for (double T : {0.5, 1.0}) {
      const double expected =
          T * static_cast<double>(phi.rows()) * std::log(static_cast<double>(phi.cols())) -
          model.constant() - shifts;
      EXPECT_NEAR(DualValue(extension, uniform, T), expected, 1e-10);
      EXPECT_NEAR(BoundValue(extension, s, T), expected, 1e-10);
    }
  }
}

}  // namespace
}  // namespace submarine::internal
