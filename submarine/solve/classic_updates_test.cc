// The short way of a few classic updates, against the general one of dense models.
#include "submarine/solve/classic_updates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/verify/dense/normalisation.h"
#include "submarine/bound/verify/dense/normalisation_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::HasSubstr;
using testing::RandomModels;
using testing::Square;

constexpr std::size_t kVariables = 6000;

DenseCrf Picture(RandomModels* random, KernelNormalisation normalisation, double narrow_side,
                 const LabelSpace& labels = PottsLabels(3)) {
  std::vector<GaussianKernel> kernels = {Square(kVariables, 20.0, random),
                                         Square(kVariables, narrow_side, random)};
  kernels[1].weight = 0.7;
  for (GaussianKernel& kernel : kernels) {
    kernel.normalisation = normalisation;
    // Without normalisation pairs couple so strongly that updates blow up differences of rounding, unless
    // all but one of the labels vanish at once, which two of three do.
    if (normalisation == KernelNormalisation::kNone && labels.num_labels() > 3)
      kernel.weight *= 0.01;
  }
  Matrix<float> unary(kVariables, static_cast<std::size_t>(labels.num_labels()));
  for (std::size_t k = 0; k < unary.size(); ++k)
    unary.data()[k] = static_cast<float>(random->Real(0.0, 2.0));
  return {std::move(unary), std::move(kernels), labels, PairCounting::kOnce};
}

SolveOptions Classic(Certify certify) {
  SolveOptions options;
  options.method = Method::kMeanField;
  options.dense.updates = 5;
  options.dense.pairs.kind = OperatorKind::kLattice;
  options.dense.certify = certify;
  options.limits.max_bytes = std::size_t{1} << 30;
  return options;
}

SolveResult ByGeneralWay(const DenseCrf& model, const SolveOptions& options) {
  const Stopwatch clock;
  const Watch watch;
  return SolveDense({model, options, clock, watch});
}

class ClassicUpdatesOf : public ::testing::TestWithParam<LabelSpace> {};
INSTANTIATE_TEST_SUITE_P(Metrics, ClassicUpdatesOf,
                         ::testing::Values(PottsLabels(3), TruncatedLinearLabels(9, 3)),
                         [](const auto& of) { return of.index == 0 ? "Potts" : "Truncated"; });

TEST_P(ClassicUpdatesOf, AreThoseOfTheGeneralWay) {
  RandomModels random(3);
  for (const auto normalisation : {KernelNormalisation::kSymmetric, KernelNormalisation::kNone}) {
    for (const double narrow_side : {40.0, 300.0}) {  // few vertices, and about one per variable
      const DenseCrf model = Picture(&random, normalisation, narrow_side, GetParam());
      for (const Certify certify : {Certify::kNone, Certify::kLower}) {
        const SolveOptions options = Classic(certify);
        SCOPED_TRACE(::testing::Message() << "side " << narrow_side << ", " << ToString(certify));
        ASSERT_TRUE(IsClassic(model, options));
        const SolveResult one = Solve(model, options);
        const SolveResult other = ByGeneralWay(model, options);
        EXPECT_EQ(one.labels, other.labels);
        EXPECT_EQ(one.pairs, other.pairs);
        EXPECT_EQ(one.certificate.model, other.certificate.model);
        EXPECT_EQ(one.termination, Termination::kIterationLimit);
        EXPECT_EQ(one.records.size(), 6U);
        EXPECT_EQ(one.notes, other.notes);
        const auto& y = std::get<Matrix<float>>(one.marginals);
        const auto& expected = std::get<Matrix<float>>(other.marginals);
        for (std::size_t k = 0; k < y.size(); ++k)
          ASSERT_NEAR(y.data()[k], expected.data()[k], 2e-5) << k;
        ASSERT_EQ(one.certificate.lower.has_value(), certify == Certify::kLower);
        if (certify == Certify::kLower) {
          // Terms of the variables are of size 1 and partly cancel.
          const double value = other.certificate.lower->value();
          EXPECT_NEAR(one.certificate.lower->value(), value,
                      1e-6 * std::max(std::abs(value), static_cast<double>(kVariables)));
        }
        // Estimated from the lattices themselves, without a copy of the model unless it is needed.
        EXPECT_GT(one.estimated_bytes, 0.0);
        EXPECT_LE(one.estimated_bytes, 1.05 * other.estimated_bytes);
      }
    }
  }
}

TEST(ClassicUpdates, LeaveOtherSolvesToTheGeneralWay) {
  RandomModels random(4);
  const DenseCrf model = Picture(&random, KernelNormalisation::kSymmetric, 40.0);
  const auto differs = [&](auto change) {
    SolveOptions options = Classic(Certify::kNone);
    change(&options);
    EXPECT_FALSE(IsClassic(model, options));
  };
  differs([](SolveOptions* options) { options->dense.certify = Certify::kOperator; });
  differs([](SolveOptions* options) { options->dense.updates = 0; });
  differs([](SolveOptions* options) { options->dense.pairs.kind = OperatorKind::kNeighbourList; });
  differs([](SolveOptions* options) { options->method = Method::kAuto; });
  // Few variables have exact row sums.
  EXPECT_FALSE(IsClassic(testing::ModelOf(Square(1000, 20.0, &random)), Classic(Certify::kNone)));
  // Of three labels on a line only two are far apart: a band (labels/label_band.h).
  const DenseCrf linear(Matrix<float>(kVariables, 20), {Square(kVariables, 20.0, &random)},
                        LinearLabels(20));
  EXPECT_FALSE(IsClassic(linear, Classic(Certify::kNone)));
}

TEST(ClassicUpdates, AProofLeavesLabelsAndMarginalsAsTheyAre) {
  RandomModels random(6);
  const DenseCrf model = Picture(&random, KernelNormalisation::kSymmetric, 40.0);
  const SolveResult plain = Solve(model, Classic(Certify::kNone));
  for (const Certify certify : {Certify::kAuto, Certify::kExact, Certify::kOperator}) {
    SCOPED_TRACE(ToString(certify));
    SolveOptions options = Classic(certify);
    options.method = Method::kAuto;
    options.dense.pairs.kind = OperatorKind::kAuto;
    options.limits.max_iterations = 20;
    const SolveResult proven = Solve(model, options);
    EXPECT_EQ(proven.labels, plain.labels);
    const auto& y = std::get<Matrix<float>>(proven.marginals);
    const auto& expected = std::get<Matrix<float>>(plain.marginals);
    EXPECT_TRUE(std::equal(y.data(), y.data() + y.size(), expected.data()));
    EXPECT_EQ(proven.updates, 5);
    ASSERT_TRUE(proven.energy && proven.certificate.upper && proven.certificate.lower);
    EXPECT_GE(*proven.energy, -proven.certificate.upper->value());
    EXPECT_GE(*proven.certificate.lower, -proven.energy->value());
    // The energy is that of these labels, not of better ones.
    options.dense.updates = 0;
    const SolveResult best = Solve(model, options);
    EXPECT_LT(*best.energy, *proven.energy);
    EXPECT_NE(best.labels, proven.labels);
  }
}

TEST(ClassicUpdates, StopWhereTheyAreTold) {
  RandomModels random(5);
  const DenseCrf model = Picture(&random, KernelNormalisation::kSymmetric, 40.0);
  std::vector<std::string> seen;
  const SolveOptions options = Classic(Certify::kLower);
  Solve(model, options, [&](std::string_view phase, const SolveRecord&) {
    if (seen.empty() || seen.back() != phase) seen.emplace_back(phase);
    return true;
  });
  EXPECT_THAT(seen, ::testing::ElementsAre("preparing pairs", "mean field", "certify lower bound"));
  for (const std::string& stop : seen) {
    SCOPED_TRACE(stop);
    const SolveResult result = Solve(
        model, options, [&](std::string_view phase, const SolveRecord&) { return phase != stop; });
    ASSERT_TRUE(result.certificate.lower);
    EXPECT_EQ(result.labels.size(), kVariables);
    EXPECT_EQ(result.termination, stop == "certify lower bound" ? Termination::kIterationLimit
                                                                : Termination::kInterrupted);
  }
  int updates = 0;
  const SolveResult stopped =
      Solve(model, options, [&](std::string_view phase, const SolveRecord& record) {
        if (phase == "mean field") updates = record.k;
        return updates < 2;
      });
  EXPECT_EQ(stopped.records.back().k, 2);
}

TEST(ClassicUpdates, KeepTheTimeLimit) {
  RandomModels random(6);
  const DenseCrf model = Picture(&random, KernelNormalisation::kSymmetric, 40.0);
  SolveOptions options = Classic(Certify::kLower);
  options.limits.time_limit_seconds = 0.0;
  const SolveResult result = Solve(model, options);
  EXPECT_EQ(result.termination, Termination::kTimeLimit);
  EXPECT_TRUE(result.certificate.lower);
  EXPECT_EQ(result.labels.size(), kVariables);
}

TEST(ClassicUpdates, AreRefusedBeforeTheWork) {
  RandomModels random(7);
  const DenseCrf model = Picture(&random, KernelNormalisation::kSymmetric, 40.0);
  SolveOptions options = Classic(Certify::kNone);
  options.limits.max_bytes = 500000;
  try {
    Solve(model, options, [](std::string_view, const SolveRecord&) {
      ADD_FAILURE() << "it has begun";
      return true;
    });
    FAIL() << "it has too little memory";
  } catch (const TooLarge& error) {
    EXPECT_THAT(error.what(), HasSubstr("variables instead of"));
    EXPECT_LT(error.remedy().variables, static_cast<double>(model.num_variables()));
  }
  // Where lattices without shared vertices would not fit, but these do.
  const double needed = Solve(model, Classic(Certify::kNone)).estimated_bytes;
  options.limits.max_bytes = static_cast<std::size_t>(1.1 * needed);
  EXPECT_EQ(Solve(model, options).labels.size(), kVariables);
}

}  // namespace
}  // namespace submarine::internal
