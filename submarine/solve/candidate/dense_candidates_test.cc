// When the chain of flows ends, and what a result says of its parts.
#include "submarine/solve/candidate/dense_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "submarine/base/stopwatch.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/candidate/dense_flows.h"

namespace submarine::internal {
namespace {

TEST(DenseFlowsTest, StagesStallWhenTheGapHardlyFalls) {
  EXPECT_FALSE(Stalled(64, 1.0, 0.99)) << "never the first";
  EXPECT_TRUE(Stalled(2 * 64, 1.0, 0.95));
  EXPECT_FALSE(Stalled(2 * 64, 1.0, 0.5));
}

TEST(DenseFlowsTest, MeanFieldIsCalledWhereLabelsAreNear) {
  EXPECT_TRUE(MeanFieldMayHelp(101.0, -100.0));
  EXPECT_FALSE(MeanFieldMayHelp(110.0, -100.0));
}

// A plain bound that is certified, and routes that prove less, or more.
SolveResult ResultWith(bool routes_prove_more) {
  testing::RandomModels random(3);
  const DenseCrf model = random.Dense(20, PottsLabels(2));
  const SolveOptions options;
  const Stopwatch clock;
  const Watch watch;
  Budget budget(clock, options, watch);
  DenseState state(model, options, {.name = "auto"}, 0.01, false, nullptr, &budget);
  state.has_flows = true;
  state.found.mean_field = Matrix<float>(20, 2, 0.5F);
  state.found.bound.marginals = Matrix<float>(20, 2, 0.25F);
  state.found.termination = Termination::kStalled;
  state.exact = CertifyUnaries(model, options);
  state.exact->labels.assign(20, 0);
  state.routed.upper = state.exact->certificate.upper;
  state.routed.description = "a path";
  state.routed.marginals = Matrix<float>(20, 2, 0.75F);
  state.routed.termination = Termination::kConverged;
  if (routes_prove_more) state.exact->certificate.extension = "routed";
  return TakeResult(&state);
}

TEST(DenseResultTest, SpeaksOfRoutesOnlyWhereTheyProveTheBound) {
  const auto of_routes = ::testing::Contains(::testing::HasSubstr("is that of a path"));
  const SolveResult plain = ResultWith(false);
  EXPECT_THAT(plain.notes, ::testing::Not(of_routes));
  EXPECT_EQ(plain.termination, Termination::kStalled);
  EXPECT_EQ(std::get<Matrix<float>>(plain.marginals)(0, 0), 0.25F);
  const SolveResult routed = ResultWith(true);
  EXPECT_THAT(routed.notes, of_routes);
  EXPECT_EQ(std::get<Matrix<float>>(routed.marginals)(0, 0), 0.75F);
}

}  // namespace
}  // namespace submarine::internal
