#include "submarine/solve/candidate/dense_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/constant_labeling.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solve/method/policy.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

// Two clusters of points; `strength` is that of the unaries.
DenseCrf Clusters(int variables, int labels, double strength, std::uint64_t seed = 5) {
  RandomModels random(seed);
  const auto n = static_cast<std::size_t>(variables);
  GaussianKernel kernel{"clusters", Matrix<double>(n, 2), 6.0 / variables};
  for (std::size_t a = 0; a < n; ++a) {
    kernel.features(a, 0) = (a % 2 == 0 ? 0.0 : 4.0) + random.Real(-0.5, 0.5);
    kernel.features(a, 1) = random.Real(-0.5, 0.5);
  }
  Matrix<float> unary(n, static_cast<std::size_t>(labels));
  for (std::size_t k = 0; k < unary.size(); ++k)
    unary.data()[k] = static_cast<float>(random.Real(0.0, strength));
  return {std::move(unary), {kernel}, PottsLabels(labels)};
}

// Whether `auto` routes before anything else within this time.
bool RoutesFirstWithin(const DenseCrf& model, double temperature, double seconds) {
  SolveOptions options;
  options.temperature = temperature;
  options.limits.time_limit_seconds = seconds;
  const Stopwatch clock;
  const Watch watch;
  Budget budget(clock, options, watch);
  return RoutesFirst(DenseState(model, options, {}, 0.01, false, nullptr, &budget).view);
}

TEST(DenseRoutesTest, TheIntervalHoldsTheExactValue) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const DenseCrf model = Clusters(12, 2, 0.5, seed);
    SolveOptions options;
    options.temperature = seed % 2 == 0 ? 1.0 : 0.5;
    options.method = Method::kExact;
    const Certificate exact = Solve(model, options).certificate;
    options.method = Method::kRouted;
    const SolveResult routed = Solve(model, options);
    EXPECT_EQ(routed.method, Method::kRouted);
    EXPECT_EQ(routed.certificate.extension, "routed");
    EXPECT_GE(*routed.certificate.upper, *exact.lower) << seed;
    EXPECT_LE(*routed.certificate.lower, *exact.upper) << seed;
    EXPECT_GE(*routed.certificate.dual, *routed.certificate.lower);
    EXPECT_LE(*routed.certificate.dual, *routed.certificate.upper);
    // The flows have converged: nothing on these routes proves much more.
    EXPECT_LE(*routed.certificate.upper - *routed.certificate.dual, 0.05) << seed;
    EXPECT_EQ(std::get<Matrix<float>>(routed.marginals).rows(), 12U);
    EXPECT_EQ(routed.labels.size(), 12U);
  }
}

TEST(DenseRoutesTest, AutoRoutesWherePlainBoundsSayNothing) {
  const DenseCrf weak = Clusters(300, 2, 0.3);
  EXPECT_TRUE(RoutesFirstWithin(weak, 1.0, 60.0));
  EXPECT_FALSE(RoutesFirstWithin(weak, 0.0, 60.0));  // the linear programme has no entropy
  EXPECT_FALSE(RoutesFirstWithin(weak, 1.0, 1e-9));  // no time
  const SolveResult chosen = Solve(weak, {});
  EXPECT_EQ(chosen.method, Method::kRouted);
  SolveOptions plain;
  plain.method = Method::kPdhg;
  const Certificate other = Solve(weak, plain).certificate;
  EXPECT_LT(*chosen.certificate.upper, other.upper->value() - 50.0);

  const DenseCrf strong = Clusters(300, 4, 20.0);
  EXPECT_FALSE(RoutesFirstWithin(strong, 1.0, 60.0));
  EXPECT_EQ(Solve(strong, {}).method, Method::kAuto);
  SolveOptions of_operator;
  of_operator.dense.certify = Certify::kOperator;
  EXPECT_EQ(Solve(weak, of_operator).method, Method::kAuto);
}

// Whatever the number of labels: what counts is how much of what there is to gain the plain bound cannot prove.
TEST(DenseRoutesTest, AutoDoesNotRouteWhereMostVariablesAgree) {
  for (const int labels : {2, 5, 21}) {
    const std::size_t n = 300;
    DenseCrf weak = Clusters(n, labels, 0.3);
    EXPECT_TRUE(RoutesFirstWithin(weak, 1.0, 60.0)) << labels;
    Matrix<float> unary(n, static_cast<std::size_t>(labels), 6.0F);
    for (std::size_t a = 0; a < n; ++a) unary(a, a % 10 == 0 ? 1 : 0) = 0.1F;
    const DenseCrf agreeing(std::move(unary), weak.kernels(), PottsLabels(labels));
    EXPECT_FALSE(RoutesFirstWithin(agreeing, 1.0, 60.0)) << labels;
  }
}

// Two clusters that their unaries tell apart, so that a plain bound proves something; but all that is uncertain within
// them is theirs together, which the plain bound does not see. One in eight would rather be in the other cluster.
DenseCrf PlainIsWide() {
  constexpr int kLabels = 5;
  const std::size_t n = 22500;  // too many to route anyway, for the sake of it
  const DenseCrf clusters = Clusters(static_cast<int>(n), kLabels, 0.0);
  Matrix<float> unary(n, kLabels, 3.0F);
  for (std::size_t a = 0; a < n; ++a) unary(a, a % 16 < 2 ? 1 - a % 2 : a % 2) = 0.0F;
  return {std::move(unary), clusters.kernels(), PottsLabels(kLabels)};
}

// Stops in the first phase of this name that follows a plain bound, and leaves `seconds` for the certificate.
SolveResult StoppedAfterPlain(const DenseCrf& model, std::string_view at, double seconds) {
  SolveOptions options;
  options.limits.max_iterations = 30;
  // By lattices, and about their pair weights, for want of memory and within a time limit.
  options.limits.max_bytes = std::size_t{1} << 30;
  options.limits.time_limit_seconds = 3600.0;
  options.limits.interrupt_seconds = seconds;
  bool was_plain = false;
  bool stopped = false;
  SolveResult result =
      Solve(model, options, [&](std::string_view phase, const SolveRecord& record) {
        was_plain = was_plain || (record.upper && record.dual);
        stopped = stopped || (was_plain && phase == at);
        return !stopped;
      });
  EXPECT_TRUE(stopped) << at;
  EXPECT_EQ(result.termination, Termination::kInterrupted);
  EXPECT_EQ(result.labels.size(), model.num_variables());
  EXPECT_EQ(std::get<Matrix<float>>(result.marginals).rows(), model.num_variables());
  return result;
}

TEST(DenseRoutesTest, AutoGivesUpThePlainBoundOnceItIsKnownToLeaveMost) {
  const DenseCrf model = PlainIsWide();
  EXPECT_FALSE(RoutesFirstWithin(model, 1.0, 300.0));
  EXPECT_GT(MostRoutingSeconds(model), DensePolicy::kQuickSeconds);
  // There is no time to certify the plain bound.
  const SolveResult result = StoppedAfterPlain(model, "routed", 0.0);
  EXPECT_EQ(result.method, Method::kRouted);
  EXPECT_EQ(result.certificate.extension, "routed");
}

TEST(DenseRoutesTest, StoppedBeforeRoutesItReturnsThePlainBound) {
  const DenseCrf model = PlainIsWide();
  const Bound of_unaries = VerifiedUpper(model, {}, PairOptions{});
  const double of_one_label = -BestConstantLabeling(model).energy.value();
  constexpr double kEnough = 600.0;  // on any machine
  const SolveResult plain = StoppedAfterPlain(model, "routing pairs", kEnough);
  EXPECT_EQ(plain.method, Method::kAuto);
  EXPECT_LT(*plain.certificate.upper, 0.9 * of_unaries);
  EXPECT_GT(*plain.certificate.lower, 0.5 * of_one_label);  // by mean field, before routing
}

TEST(DenseRoutesTest, StoppedBeforeRoutesItKeepsTheLowerBoundWhereThereIsNoTimeForThePlainOne) {
  const DenseCrf model = PlainIsWide();
  const SolveResult result = StoppedAfterPlain(model, "routing pairs", 0.0);
  EXPECT_EQ(result.method, Method::kAuto);
  EXPECT_GT(*result.certificate.lower, -0.5 * BestConstantLabeling(model).energy.value());
  EXPECT_LE(*result.certificate.upper, VerifiedUpper(model, {}, PairOptions{}));
}

TEST(DenseRoutesTest, AutoGoesOnWithoutRoutesWhereMemoryIsShort) {
  const DenseCrf model = Clusters(8000, 2, 0.3);
  ASSERT_TRUE(RoutesFirstWithin(model, 1.0, 60.0));
  SolveOptions options;
  options.limits.max_iterations = 20;
  options.limits.max_bytes = 16'000'000;
  options.dense.pairs.kind = OperatorKind::kLattice;
  options.dense.certify = Certify::kAuto;
  const SolveResult result = Solve(model, options);
  EXPECT_EQ(result.method, Method::kAuto);
  EXPECT_THAT(result.notes, ::testing::Contains(::testing::HasSubstr("There is no routed bound")));
  EXPECT_GE(*result.certificate.upper, *result.certificate.lower);
  options.method = Method::kRouted;
  EXPECT_THROW(Solve(model, options), TooLarge);
}

// Of three groups two attract each other more than their unaries tell them apart, but each holds its members so fast that
// no variable moves alone; the third one keeps one label for all from being any good.
TEST(DenseRoutesTest, MeanFieldGivesUpALabelThatIsNotWorthIt) {
  constexpr std::size_t kGroup = 40;
  GaussianKernel kernel{"groups", Matrix<double>(3 * kGroup, 1), 1.0};
  Matrix<float> unary(3 * kGroup, 3, 5.0F);
  for (std::size_t a = 0; a < 3 * kGroup; ++a) {
    const std::size_t group = a / kGroup;
    kernel.features(a, 0) = group == 0 ? -100.0 : 3.0 * static_cast<double>(group);
    unary(a, group) = 0.0F;
  }
  for (std::size_t a = 2 * kGroup; a < 3 * kGroup; ++a) unary(a, 1) = 0.3F;
  const DenseCrf model(std::move(unary), {kernel}, PottsLabels(3), PairCounting::kOnce);
  SolveOptions options;
  options.method = Method::kMeanField;
  const SolveResult alone = Solve(model, options);
  options.method = Method::kRouted;
  const SolveResult routed = Solve(model, options);
  for (std::size_t a = 0; a < 3 * kGroup; ++a) {
    EXPECT_EQ(alone.labels[a], static_cast<int>(a / kGroup));
    EXPECT_EQ(routed.labels[a], std::min(static_cast<int>(a / kGroup), 1));
  }
  EXPECT_GT(*routed.certificate.lower, *alone.certificate.lower + 5.0);
  EXPECT_NEAR(*routed.energy, 0.3 * kGroup, 1e-3);
}

// A picture with unaries that say something, so that the plain bound is not useless, and too wide an interval for the
// gap asked for.
TEST(DenseRoutesTest, AutoRoutesListedPairsAfterThePlainBound) {
  RandomModels random(8);
  constexpr std::size_t kWidth = 40;
  constexpr std::size_t kCount = kWidth * 30;
  GaussianKernel near{"position", Matrix<double>(kCount, 2), 0.4};
  Matrix<float> unary(kCount, 6);
  for (std::size_t a = 0; a < kCount; ++a) {
    near.features(a, 0) = static_cast<double>(a % kWidth) / 1.5;
    const std::size_t y = a / kWidth;
    near.features(a, 1) = static_cast<double>(y) / 1.5;
    for (std::size_t i = 0; i < 6; ++i) unary(a, i) = static_cast<float>(random.Real(0.0, 6.0));
    unary(a, a % kWidth < kWidth / 2 ? 0 : 4) -= 2.0F;
  }
  const DenseCrf model(unary, {near}, TruncatedLinearLabels(6, 2));
  ASSERT_FALSE(RoutesFirstWithin(model, 1.0, 60.0));
  SolveOptions options;
  options.limits.gap = 0.01;
  const SolveResult routed = Solve(model, options);
  EXPECT_EQ(routed.certificate.extension, "routed");
  options.method = Method::kPdhg;
  options.limits.gap = 1e-4;
  const SolveResult plain = Solve(model, options);
  EXPECT_EQ(plain.certificate.extension, "optimal");
  EXPECT_LT(*routed.certificate.upper, *plain.certificate.upper);
  // No plain bound at all is as low.
  EXPECT_LT(*routed.certificate.upper, *plain.certificate.dual);
  EXPECT_LE(*routed.certificate.lower, *routed.certificate.upper);
  EXPECT_GE(*routed.certificate.upper, *plain.certificate.lower);

  // On so few variables, other paths than rows were tried as well: the better bound was taken.
  EXPECT_LT(MostRoutingSeconds(model), DensePolicy::kQuickSeconds);
  options = {};
  options.method = Method::kRouted;
  const double alone = *Solve(model, options).certificate.upper;
  EXPECT_LE(*routed.certificate.upper, alone + 1e-3 * std::abs(alone));

  // An interval as narrow as asked for is left alone.
  options.method = Method::kAuto;
  options.limits.gap = 10.0;
  EXPECT_EQ(Solve(model, options).certificate.extension, "optimal");
}

TEST(DenseRoutesTest, WhoseMarginalsIsAChoice) {
  const DenseCrf model = Clusters(100, 2, 0.3);
  SolveOptions options;
  options.method = Method::kRouted;
  options.dense.marginals = DenseMarginals::kUpperBound;
  const auto of_paths = std::get<Matrix<float>>(Solve(model, options).marginals);
  options.dense.marginals = DenseMarginals::kMeanField;
  const auto of_mean_field = std::get<Matrix<float>>(Solve(model, options).marginals);
  EXPECT_NE(of_paths, of_mean_field);
  options.dense.marginals = DenseMarginals::kMean;
  const auto mean = std::get<Matrix<float>>(Solve(model, options).marginals);
  for (std::size_t n = 0; n < mean.size(); ++n)
    ASSERT_FLOAT_EQ(mean.data()[n], 0.5F * (of_paths.data()[n] + of_mean_field.data()[n]));
  options.dense.marginals = DenseMarginals::kRouted;
  EXPECT_EQ(std::get<Matrix<float>>(Solve(model, options).marginals), of_paths);
  options.method = Method::kPdhg;
  EXPECT_THROW(Solve(model, options), InvalidInput);
  options.method = Method::kRouted;
  options.dense.certify = Certify::kNone;
  options.dense.marginals = DenseMarginals::kUpperBound;
  const SolveResult none = Solve(model, options);
  EXPECT_EQ(std::get<Matrix<float>>(none.marginals), of_paths);
  EXPECT_FALSE(none.certificate.upper);
}

TEST(DenseRoutesTest, RefusesWhatItDoesNotProve) {
  const DenseCrf model = Clusters(20, 2, 0.3);
  SolveOptions options;
  options.method = Method::kRouted;
  options.dense.certify = Certify::kOperator;
  EXPECT_THROW(Solve(model, options), InvalidInput);
  options.dense.certify = Certify::kAuto;
  options.temperature = 0.0;
  EXPECT_THROW(Solve(model, options), InvalidInput);
}

TEST(DenseRoutesTest, AnInterruptLeavesACertificate) {
  const DenseCrf model = Clusters(300, 2, 0.3);
  SolveOptions options;
  options.method = Method::kRouted;
  for (const std::string stop : {"routing pairs", "routed", "certify upper bound"}) {
    const SolveResult result = Solve(
        model, options, [&](std::string_view phase, const SolveRecord&) { return phase != stop; });
    ASSERT_TRUE(result.certificate.upper) << stop;
    ASSERT_TRUE(result.certificate.lower) << stop;
    EXPECT_LE(*result.certificate.lower, *result.certificate.upper) << stop;
  }
}

}  // namespace
}  // namespace submarine::internal
