#include "submarine/solve/solve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/error_test_util.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact/enumerate_test_util.h"
#include "submarine/solver/exact/exact.h"

namespace submarine::internal {
namespace {

using testing::EnumerateExact;
using testing::ExpectInvalid;
using ::testing::HasSubstr;
using testing::RandomModels;

SparseCrf Grid(int width, int height, int labels, double weight) {
  RandomModels random(17);
  return {random.Points(static_cast<std::size_t>(width) * static_cast<std::size_t>(height),
                        static_cast<std::size_t>(labels), 0.0, 5.0),
          GridEdges(width, height, 4, weight), PottsLabels(labels)};
}

// Spins on a torus with couplings of both signs: no submodular extension.
FactorGraph SpinGlass(int side) {
  RandomModels random(18);
  FactorGraph graph;
  graph.cardinality.assign(static_cast<std::size_t>(side) * static_cast<std::size_t>(side), 2);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      for (const auto& [dx, dy] : {std::pair(1, 0), std::pair(0, 1)}) {
        const double coupling = random.Real(-1.0, 1.0);
        graph.factors.push_back({{y * side + x, (y + dy) % side * side + (x + dx) % side},
                                 {0.0, coupling, coupling, 0.0}});
      }
    }
  }
  return graph;
}

TEST(SolveTest, AResultThatWasNotRunIsNotUsable) {
  EXPECT_FALSE(SolveResult().usable());
  EXPECT_TRUE(Solve(Grid(3, 3, 2, 1.0)).usable());
}

TEST(SolveTest, AutoIsExactWhereThatIsCheap) {
  const SparseCrf model = Grid(6, 6, 3, 1.0);
  const SolveResult result = Solve(model);
  EXPECT_EQ(result.method, Method::kExact);
  EXPECT_EQ(result.termination, Termination::kExact);
  const double exact = SolveExact(model).log_partition;
  EXPECT_LE(*result.certificate.lower, exact);
  EXPECT_GE(*result.certificate.upper, exact);
  EXPECT_EQ(result.certificate.upper->provenance(), Provenance::kExact);
  EXPECT_LT(*result.certificate.upper - *result.certificate.lower, 1e-10 * std::abs(exact));
}

TEST(SolveTest, AutoIsTheTightestBoundElsewhere) {
  const SparseCrf model = Grid(40, 40, 6, 1.0);
  const SolveResult result = Solve(model);
  EXPECT_EQ(result.method, Method::kTrw);
  EXPECT_EQ(result.certificate.upper->provenance(), Provenance::kVerified);
  const SolveResult pdhg = Solve(model, {.method = Method::kPdhg});
  EXPECT_LT(*result.certificate.upper, *pdhg.certificate.upper);
  EXPECT_LE(*result.certificate.lower, *result.certificate.upper);
  EXPECT_EQ(Solve(model, {.temperature = 0.0}).method, Method::kPdhg);
}

TEST(SolveTest, AutoTakesTablesWithoutAnExtension) {
  const SolveResult small = Solve(SpinGlass(4));
  EXPECT_EQ(small.method, Method::kExact);
  const SolveResult large = Solve(SpinGlass(30), {.limits = {.max_iterations = 20}});
  EXPECT_EQ(large.method, Method::kTrw);
  ASSERT_EQ(large.notes.size(), 1U);
  EXPECT_THAT(large.notes.front(), HasSubstr("any tables of pairs"));
  EXPECT_LE(*large.certificate.lower, *large.certificate.upper);
  EXPECT_THROW(Solve(SpinGlass(4), {.method = Method::kPdhg}), NotExpressible);
}

// A table that is Potts but for 1e-10: the interval is about the table.
TEST(SolveTest, WhatRecognitionChangesIsAddedToBothEnds) {
  FactorGraph graph;
  graph.cardinality = {2, 2};
  graph.factors = {{{0, 1}, {0.0, 1.0, 1.0 + 1e-10, 1e-10}}};
  const double exact = EnumerateExact(graph).log_partition;
  for (const Method method : {Method::kPdhg, Method::kTrw}) {
    const SolveResult result = Solve(graph, {.method = method});
    EXPECT_LE(*result.certificate.lower, exact);
    EXPECT_GE(*result.certificate.upper, exact);
  }
}

TEST(SolveTest, OptionsThatWouldBeIgnoredAreRefused) {
  const SparseCrf model = Grid(3, 3, 2, 1.0);
  for (const Method method : {Method::kAuto, Method::kPdhg, Method::kTrw}) {
    ExpectInvalid(
        [&] {
          Solve(model, {.method = method, .sparse = {.extension = ExtensionKind::kAlternate}});
        },
        "the alternate extension goes with the methods fw, not with");
  }
  ExpectInvalid([&] { RequireAccepted(Method::kTrw, ModelKind::kDense); }, "not for dense models");
  ExpectInvalid([&] { Solve(model, {.temperature = -1.0}); }, "the temperature is -1");
  ExpectInvalid([&] { Solve(model, {.method = Method::kMeanField, .temperature = 0.0}); },
                "temperature");
  ExpectInvalid([&] { Solve(model, {.limits = {.time_limit_seconds = std::nan("")}}); },
                "the time limit is");
}

TEST(SolveTest, TheWatchSeesEveryMethodAndCanStopIt) {
  const SparseCrf model = Grid(40, 40, 6, 2.0);
  for (const Method method :
       {Method::kPdhg, Method::kFrankWolfe, Method::kTrw, Method::kMeanField}) {
    int calls = 0;
    const SolveResult result =
        Solve(model, {.method = method},
              [&](std::string_view, const SolveRecord&) { return ++calls < 3; });
    EXPECT_EQ(result.termination, Termination::kInterrupted) << ToString(method);
    EXPECT_TRUE(result.certificate.lower) << ToString(method);
  }
}

TEST(SolveTest, ExactInferenceChecksItsTablesFirst) {
  EXPECT_THROW(
      Solve(Grid(50, 50, 64, 1.0), {.method = Method::kExact, .limits = {.max_bytes = 50000000}}),
      TooLarge);
}

// A thousand labels on a line are in half a million sets altogether, which verifiers go through per edge.
TEST(SolveTest, WithoutTimeForASolverTheUnariesProveSomething) {
  constexpr int kLabels = 1024;
  RandomModels random(19);
  const SparseCrf model(random.Points(900, kLabels, 0.0, 5.0), GridEdges(30, 30, 4, 1.0),
                        LinearLabels(kLabels));
  const SolveResult result = Solve(model, {.limits = {.time_limit_seconds = 0.0}});
  EXPECT_EQ(result.method, Method::kAuto);
  EXPECT_EQ(result.termination, Termination::kTimeLimit);
  ASSERT_TRUE(result.certificate.upper && result.certificate.lower);
  EXPECT_EQ(*result.certificate.upper, VerifiedUnaryUpper(model, 1.0));
  EXPECT_EQ(*result.certificate.lower, -VerifiedEnergy(model, result.labels));
  EXPECT_EQ(std::get<Matrix<double>>(result.marginals).rows(), 900U);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_THAT(result.notes.front(), HasSubstr("come from the unaries"));
  for (const Method method : {Method::kPdhg, Method::kFrankWolfe, Method::kTrw}) {
    const SolveResult late =
        Solve(model, {.method = method, .limits = {.time_limit_seconds = 0.0}});
    EXPECT_EQ(late.termination, Termination::kTimeLimit) << ToString(method);
    EXPECT_LE(*late.certificate.upper, *result.certificate.upper) << ToString(method);
    EXPECT_TRUE(late.certificate.lower) << ToString(method);
  }
}

TEST(SolveTest, WhatWasInterruptedSaysSo) {
  const SparseCrf model = Grid(40, 40, 6, 2.0);
  for (const std::string_view at : {"certifying", "mean field", "forest mean field"}) {
    bool reached = false;
    const SolveResult result = Solve(model, {}, [&](std::string_view phase, const SolveRecord&) {
      reached = reached || phase == at;
      return phase != at;
    });
    EXPECT_TRUE(reached) << at;
    EXPECT_EQ(result.method, Method::kTrw) << at;
    EXPECT_EQ(result.termination, Termination::kInterrupted) << at;
    EXPECT_TRUE(result.certificate.upper && result.certificate.lower) << at;
  }
}

TEST(SolveTest, AnInterruptOfExactInferenceLeavesAutoTheUnaries) {
  const SolveOptions exact = {.method = Method::kExact};
  const auto stop = [](std::string_view, const SolveRecord&) { return false; };
  const SparseCrf model = Grid(10, 60, 3, 1.0);
  EXPECT_THROW(Solve(model, exact, stop), Interrupted);
  const SolveResult result = Solve(model, {}, stop);
  EXPECT_EQ(result.termination, Termination::kInterrupted);
  ASSERT_TRUE(result.certificate.upper);
  EXPECT_EQ(*result.certificate.upper, VerifiedUnaryUpper(model, 1.0));
  EXPECT_EQ(result.labels.size(), 600U);
}

// The memory limit leaves room for the unaries, then for mean field as well, then for flows.
TEST(SolveTest, AutoTakesWhatFitsTheMemory) {
  const SparseCrf model = Grid(100, 100, 32, 1.0);  // 2.6 MB, and as much for each set of marginals
  const auto solve = [&](std::size_t megabytes) {
    return Solve(model, {.limits = {.max_iterations = 2, .max_bytes = megabytes * 1000000}});
  };
  EXPECT_THROW(solve(4), TooLarge);
  const SolveResult unaries = solve(7);
  EXPECT_EQ(unaries.method, Method::kAuto);
  ASSERT_EQ(unaries.notes.size(), 1U);
  EXPECT_THAT(unaries.notes.front(), HasSubstr("The memory limit is too low for a solver"));
  const SolveResult flows = solve(21);
  EXPECT_EQ(flows.method, Method::kFrankWolfe);
  EXPECT_LT(*flows.certificate.upper, *unaries.certificate.upper);
  EXPECT_EQ(solve(1000).method, Method::kTrw);
}

TEST(SolveTest, EnergiesThatUnderflowAreWithinTheirBounds) {
  const double least = std::numeric_limits<double>::denorm_min();
  const SparseCrf sparse(Matrix<double>(1, 2, least), {}, PottsLabels(2));
  const SolveResult solved = Solve(sparse, {.method = Method::kPdhg, .temperature = 0.0});
  EXPECT_LE(*solved.certificate.dual, *solved.certificate.upper);
  Matrix<float> unary(1, 2, 0.0F);
  unary(0, 0) = 1e-40F;
  const DenseCrf dense(std::move(unary), {}, PottsLabels(2));
  EXPECT_EQ(Solve(dense, {.temperature = 0.0}).labels, std::vector<int>{1});
}

// Edges that cover a graph evenly are not what couples it most.
TEST(SolveTest, AutoImprovesForestsWhereTimeIsGiven) {
  RandomModels random(17);
  const SparseCrf model(random.Points(900, 5, 0.0, 8.0), GridEdges(30, 30, 8, 5.0), PottsLabels(5));
  const SolveResult even = Solve(model);
  const SolveResult better = Solve(model, {.limits = {.time_limit_seconds = 60.0}});
  EXPECT_EQ(even.method, Method::kTrw);
  EXPECT_EQ(better.method, Method::kTrw);
  const auto width = [](const SolveResult& result) {
    return *result.certificate.upper - *result.certificate.lower;
  };
  EXPECT_LT(width(better), 0.7 * width(even));
  EXPECT_GE(*better.certificate.lower, *even.certificate.lower);
}

}  // namespace
}  // namespace submarine::internal
