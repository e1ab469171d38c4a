// Interrupts in the middle of a pass over all pairs: the pass ends at once, and the result is
// valid.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/filter/list/neighbour_list.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/flow/dense_frank_wolfe.h"
#include "submarine/solver/flow/dense_pdhg.h"
#include "submarine/solver/flow/dense_test_util.h"
#include "submarine/solver/flow/quadratic.h"
#include "submarine/solver/mean_field/dense_mean_field.h"

namespace submarine::internal {
namespace {

using testing::KernelsOf;
using testing::RandomModels;
using testing::SingleRounding;

constexpr int kVariables = 1500;  // of several chunks in every pass
constexpr int kAsksBeforeTheLast = 200;

DenseCrf Model() {
  RandomModels random(31);
  return random.Dense(kVariables, PottsLabels(3));
}

// Calls solve(extension) with an extension whose `interrupted` returns true at the limit-th call;
// returns the number of calls.
template <class Solve>
int AskedUntil(const DenseCrf& model, const NeighbourList& pairs, int limit, const Solve& solve) {
  int asked = 0;
  const DenseExtension extension(model, pairs, [&] { return ++asked >= limit; });
  solve(extension);
  return asked;
}

TEST(DenseInterruptTest, BoundSolversLookAtNoPairAfterIt) {
  const DenseCrf model = Model();
  const NeighbourList pairs(KernelsOf(model), {.cutoff = 1e-30});
  const double rounding = 2.0 * SingleRounding(model);
  const std::vector<std::pair<std::string, std::function<DenseResult(const DenseExtension&)>>>
      solvers = {{"pdhg", [](const DenseExtension& e) { return SolvePdhg(e, {}); }},
                 {"quadratic", [](const DenseExtension& e) { return SolveQuadratic(e, {}); }},
                 {"fw", [](const DenseExtension& e) { return SolveFrankWolfe(e, {}); }}};
  for (const auto& [name, solve] : solvers) {
    for (const int limit : {1, 5, 30, kAsksBeforeTheLast}) {
      SCOPED_TRACE(name + ", interrupted at question " + std::to_string(limit));
      DenseResult result;
      const int asked =
          AskedUntil(model, pairs, limit, [&](const DenseExtension& e) { result = solve(e); });
      if (asked < limit) continue;  // it had ended
      EXPECT_EQ(asked, limit);
      EXPECT_EQ(result.termination, Termination::kInterrupted);
      ASSERT_EQ(result.marginals.rows(), model.num_variables());
      if (std::isfinite(result.upper)) {
        const double upper =
            VerifiedUpper(model, result.proof, {.cutoff = 0.0, .far_tolerance = 0.0});
        EXPECT_LE(upper, result.upper + rounding);
        // Frank-Wolfe may have made a step since, whose value it had not told yet.
        if (name != "fw") {
          EXPECT_GE(upper, result.upper - rounding);
        }
      }
      if (std::isfinite(result.energy)) {
        EXPECT_NEAR(model.Energy(result.labels), result.energy, rounding);
      }
    }
  }
}

TEST(DenseInterruptTest, MeanFieldLooksAtNoPairAfterIt) {
  const DenseCrf model = Model();
  const NeighbourList pairs(KernelsOf(model), {.cutoff = 1e-30});
  for (const int limit : {1, 30, 60}) {
    SCOPED_TRACE(limit);
    DenseMeanFieldResult result;
    EXPECT_EQ(AskedUntil(
                  model, pairs, limit,
                  [&](const DenseExtension& e) { result = SolveMeanField(e, {.tolerance = 0.0}); }),
              limit);
    ASSERT_EQ(result.marginals.rows(), model.num_variables());
    if (std::isfinite(result.lower)) {
      EXPECT_NEAR(VerifiedAt(model, result.marginals, {.cutoff = 0.0, .far_tolerance = 0.0}).lower,
                  result.lower, SingleRounding(model));
    }
  }
}

}  // namespace
}  // namespace submarine::internal
