// T = 0: the bound's optimum is the linear relaxation of the energy (P-LP for Potts, T-LP for
// trees). Compared with Clp's simplex method on the same programme.
#include <gtest/gtest.h>

#include <cmath>

#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/pdhg.h"
#include "submarine/solver/flow/rounding.h"
#include "tests/property/relaxation_test_util.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;
using testing::RelaxationBySimplex;

TEST(LinearProgramme, AgreesWithSimplexAndBracketsTheMap) {
  RandomModels random(2018);
  for (int trial = 0; trial < 400 && !HasFailure(); ++trial) {
    const SparseCrf model = random.Model(random.Integer(2, 8), random.Integer(2, 5));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    PdhgOptions options;
    options.temperature = 0.0;
    options.relative_gap = 1e-4;
    options.max_iterations = 100000;
    const BoundResult result = SolvePdhg(model, options);
    EXPECT_EQ(result.termination, Termination::kGapReached)
        << RelativeGap(result.upper, result.dual);

    const double relaxation = RelaxationBySimplex(model);
    const double tolerance = 1e-6 * (1.0 + std::abs(relaxation));
    EXPECT_LE(-result.upper, relaxation + tolerance);
    EXPECT_GE(-result.dual, relaxation - tolerance);
    EXPECT_NEAR(-result.upper, relaxation,
                1e-4 * std::max(1.0, std::abs(result.upper)) + tolerance);

    const double least = -SolveExact(ToFactorGraph(model), {0.0}).log_partition;
    const Labeling rounded = RoundMarginals(model, result.marginals, 32, 1);
    EXPECT_LE(-result.upper, least + tolerance);
    EXPECT_GE(rounded.energy, least - tolerance);
  }
}

// 2 labels: the relaxation is tight (a minimum cut), and rounding finds the MAP.
TEST(LinearProgramme, IsTightForTwoLabels) {
  RandomModels random(2019);
  for (int trial = 0; trial < 100 && !HasFailure(); ++trial) {
    const SparseCrf model = random.Model(random.Integer(2, 9), PottsLabels(2), -5.0, 5.0);
    PdhgOptions options;
    options.temperature = 0.0;
    options.relative_gap = 1e-5;
    options.max_iterations = 200000;
    const BoundResult result = SolvePdhg(model, options);
    const double least = -SolveExact(ToFactorGraph(model), {0.0}).log_partition;
    EXPECT_NEAR(-result.upper, least, 2e-5 * (1.0 + std::abs(least)));
    EXPECT_NEAR(RoundMarginals(model, result.marginals, 32, 1).energy, least,
                1e-9 * (1.0 + std::abs(least)));
  }
}

}  // namespace
}  // namespace submarine::internal
