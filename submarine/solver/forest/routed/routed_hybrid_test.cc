#include "submarine/solver/forest/routed/routed_hybrid.h"

#include <gtest/gtest.h>

#include <cmath>

#include "submarine/base/error_test_util.h"
#include "submarine/bound/verify/sparse/routed_forest_verifier.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/common/solver_test_util.h"
#include "submarine/solver/exact/exact.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::RandomModels;

// A 5x5 grid with diagonals, unaries so weak that the coupling decides.
SparseCrf WeakGrid(double weight, const LabelSpace& labels, std::uint64_t seed) {
  RandomModels random(seed);
  return {random.Points(25, static_cast<std::size_t>(labels.num_labels()), 0.0, 1.5),
          GridEdges(5, 5, 8, weight), labels};
}

double Verified(const SparseCrf& model, const HybridResult& result, double temperature) {
  double upper = 0.0;
  for (const HybridPart& part : result.parts)
    upper += part.weight * VerifiedRoutedUpper(model, part, temperature);
  return upper;
}

TEST(RoutedHybrid, IsTighterThanHybridWhereCouplingIsStrong) {
  for (const LabelSpace& labels : LabelSpaces()) {
    const SparseCrf model = WeakGrid(0.5, labels, 1);
    for (const double T : {0.5, 1.0}) {
      const double exact = SolveExact(ToFactorGraph(model), {T}).log_partition;
      for (const HybridForest forest : {HybridForest::kSpanning, HybridForest::kRows,
                                        HybridForest::kBest, HybridForest::kAverage}) {
        RoutedHybridOptions options;
        options.temperature = T;
        options.forest = forest;
        const HybridResult plain = SolveHybrid(model, options);
        const HybridResult routed = SolveRoutedHybrid(model, options);
        EXPECT_LT(routed.upper, plain.dual) << labels.metrics[0].name;
        const double verified = Verified(model, routed, T);
        EXPECT_GE(verified, exact);
        EXPECT_NEAR(verified, routed.upper, 1e-6 * (1.0 + std::abs(verified)));
        EXPECT_EQ(routed.records.back().upper, routed.upper);
        EXPECT_EQ(routed.records.back().dual, routed.dual);
        for (std::size_t k = 1; k < routed.records.size(); ++k) {
          if (forest == HybridForest::kSpanning || forest == HybridForest::kRows) {
            EXPECT_LE(routed.records[k].upper, routed.records[k - 1].upper);
          }
          EXPECT_GE(routed.records[k].k, routed.records[k - 1].k);
        }
      }
    }
  }
}

TEST(RoutedHybrid, IsHybridWithoutTrianglesAndWithoutAShare) {
  const SparseCrf grid = RandomGrid(6, 4, PottsLabels(4), 0.8, 3);
  const SparseCrf eight = WeakGrid(0.5, PottsLabels(3), 2);
  for (const auto& [model, share] : {std::pair(&grid, 1.0), std::pair(&eight, 0.0)}) {
    RoutedHybridOptions options;
    options.share = share;
    options.forest = HybridForest::kRows;
    const HybridResult plain = SolveHybrid(*model, options);
    const HybridResult routed = SolveRoutedHybrid(*model, options);
    EXPECT_EQ(routed.upper, plain.upper);
    EXPECT_EQ(routed.dual, plain.dual);
    EXPECT_TRUE(routed.parts.front().routes.empty());
  }
}

// Unaries that decide everything: the forest hardly ever disagrees, and nothing pays.
TEST(RoutedHybrid, LeavesWhatDoesNotPay) {
  RandomModels random(5);
  Matrix<double> unary(25, 2);
  for (std::size_t a = 0; a < 25; ++a) unary(a, a % 2) = 30.0;
  const SparseCrf model(unary, GridEdges(5, 5, 8, 0.5), PottsLabels(2));
  RoutedHybridOptions options;
  const HybridResult routed = SolveRoutedHybrid(model, options);
  EXPECT_LE(routed.upper, SolveHybrid(model, options).upper + 1e-9);
  double amount = 0.0;
  for (const EdgeRoute& route : routed.parts.front().routes) amount += route.amount;
  EXPECT_LT(amount, 0.5);
}

TEST(RoutedHybrid, ObeysLimitsAndRefusesShares) {
  const SparseCrf model = WeakGrid(0.5, PottsLabels(3), 3);
  RoutedHybridOptions options;
  options.max_iterations = 7;
  const HybridResult few = SolveRoutedHybrid(model, options);
  EXPECT_LE(few.iterations, 7);
  EXPECT_EQ(few.termination, Termination::kIterationLimit);
  EXPECT_NEAR(Verified(model, few, 1.0), few.upper, 1e-6 * (1.0 + std::abs(few.upper)));
  options = {};
  int calls = 0;
  options.on_iteration = [&](const IterationRecord&) { return ++calls < 3; };
  const HybridResult stopped = SolveRoutedHybrid(model, options);
  EXPECT_EQ(stopped.termination, Termination::kInterrupted);
  EXPECT_EQ(calls, 3);
  options = {};
  options.time_limit_seconds = 0.0;
  EXPECT_EQ(SolveRoutedHybrid(model, options).termination, Termination::kTimeLimit);
  options.share = 1.5;
  ExpectInvalid([&] { SolveRoutedHybrid(model, options); }, "the share of routing is 1.5");
}

}  // namespace
}  // namespace submarine::internal
