#include "submarine/solver/forest/trw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "submarine/base/error.h"
#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/solver/common/solver_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/forest/forest_inference.h"
#include "submarine/solver/forest/trw_chains.h"
#include "submarine/solver/forest/trw_model.h"

namespace submarine::internal {
namespace {

// The verifier rounds up in proportion to the energies, not to the bound.
double RoundingOf(const SparseCrf& model) {
  double magnitude = 1.0;
  for (const Edge& e : model.edges()) {
    const Matrix<double>& d = model.metric(e).distance;
    magnitude += e.weight * *std::max_element(d.data(), d.data() + d.size());
  }
  return 512.0 * std::numeric_limits<double>::epsilon() * magnitude;
}

void ExpectSoundTrw(const SparseCrf& model, const TrwResult& result, double temperature) {
  ASSERT_NE(result.termination, Termination::kNotRun);
  const double verified = VerifiedTrwUpper(model, result.evidence, temperature);
  EXPECT_NEAR(result.upper, verified, 1e-10 * (1.0 + std::abs(verified)) + RoundingOf(model));
  EXPECT_EQ(result.records.back().upper, result.upper);
  EXPECT_EQ(result.records.back().k, result.iterations);
  for (std::size_t k = 1; k < result.records.size(); ++k) {
    EXPECT_LE(*result.records[k].upper, *result.records[k - 1].upper +
                                            1e-13 * (1.0 + std::abs(verified)) + RoundingOf(model));
    EXPECT_GT(result.records[k].k, result.records[k - 1].k);
  }
}

// Variables numbered at random, so that no forest consists of ascending chains.
SparseCrf Shuffled(const SparseCrf& model, std::uint64_t seed) {
  std::vector<int> name(model.unary().rows());
  std::iota(name.begin(), name.end(), 0);
  std::mt19937_64 rng(seed);
  std::shuffle(name.begin(), name.end(), rng);
  Matrix<double> unary = model.unary();
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    const auto source = model.unary().row(a);
    std::copy(source.begin(), source.end(), unary.row(static_cast<std::size_t>(name[a])).begin());
  }
  std::vector<Edge> edges = model.edges();
  for (Edge& e : edges) {
    e.a = name[static_cast<std::size_t>(e.a)];
    e.b = name[static_cast<std::size_t>(e.b)];
  }
  return {std::move(unary), std::move(edges), model.labels(), model.constant()};
}

TEST(Trw, ProbabilityAndLogSweepsAgree) {
  for (const LabelSpace& labels : LabelSpaces()) {
    for (int connectivity : {4, 8}) {
      const SparseCrf drawn = RandomGrid(5, 4, labels, 1.0, 3);
      const SparseCrf model(drawn.unary(), GridEdges(5, 4, connectivity, 0.8), labels);
      const PairwiseModel pairwise = ToPairwise(model);
      TrwOptions options;
      options.max_iterations = 1;
      const TrwResult once = SolveTrw(model, options);
      const auto chains = AsChains(once.evidence.forests, pairwise.links, 20);
      ASSERT_TRUE(chains.has_value());
      Matrix<double> theta = model.unary();
      for (std::size_t n = 0; n < theta.size(); ++n) theta.data()[n] = -theta.data()[n];
      const EdgeKernels kernels =
          KernelsOf(pairwise, std::vector<double>(model.num_edges(), 0.5 * connectivity));
      const auto fast = MakeChainSweeps(pairwise, *chains, theta, kernels);
      const auto slow = MakeLogChainSweeps(pairwise, *chains, theta, kernels);
      for (int k = 0; k < 5; ++k) {
        const double bound = slow->Sweep();
        EXPECT_NEAR(fast->Sweep(), bound, 1e-11 * (1.0 + std::abs(bound)));
        if (k == 0) {
          EXPECT_NEAR(bound, once.upper, 1e-11 * (1.0 + std::abs(bound)));
        }
      }
    }
  }
}

// The bound is convex in the split, so it is least where all forests have the same marginals.
TEST(Trw, ForestsAgreeOnTheMarginalsAtTheOptimum) {
  for (bool shuffled : {false, true}) {
    const SparseCrf grid = RandomGrid(5, 5, PottsLabels(3), 0.7, 5);
    const SparseCrf model = shuffled ? Shuffled(grid, 1) : grid;
    TrwOptions options;
    options.tolerance = 1e-13;
    options.temperature = 1.5;
    const TrwResult result = SolveTrw(model, options);
    ExpectSoundTrw(model, result, 1.5);
    const PairwiseModel pairwise = ToPairwise(model);
    std::vector<double> scale;
    for (double rho : result.rho) scale.push_back(1.0 / (1.5 * rho));
    const EdgeKernels kernels = KernelsOf(pairwise, scale);
    for (std::size_t f = 0; f < result.evidence.forests.size(); ++f) {
      Matrix<double> theta = result.evidence.unary[f];
      for (std::size_t n = 0; n < theta.size(); ++n) theta.data()[n] /= -1.5;
      ForestWorkspace workspace;
      Matrix<double> y;
      ForestInference(pairwise.labels, pairwise.links, result.evidence.forests[f].edges)
          .Run(kernels, theta, &workspace, &y);
      for (std::size_t n = 0; n < y.size(); ++n)
        EXPECT_NEAR(y.data()[n], result.marginals.data()[n], 1e-4) << "shuffled " << shuffled;
    }
  }
}

// Chains by sweeps and the same forests by descent: one optimum.
TEST(Trw, SweepsAndDescentAgree) {
  for (const LabelSpace& labels : LabelSpaces()) {
    const SparseCrf model = RandomGrid(6, 4, labels, 1.0, 9);
    TrwOptions options;
    options.tolerance = 1e-11;
    const TrwResult sweeps = SolveTrw(model, options);
    // An edge in two forests with half the weight each is the same rho, but no chain decomposition.
    std::vector<WeightedForest> forests = sweeps.evidence.forests;
    ASSERT_EQ(forests.size(), 2u);
    forests[0].weight = 0.25;
    forests.push_back(forests[0]);
    options.forests = forests;
    const TrwResult descent = SolveTrw(model, options);
    ExpectSoundTrw(model, descent, 1.0);
    EXPECT_NEAR(descent.upper, sweeps.upper, 1e-6 * (1.0 + std::abs(sweeps.upper)));
  }
}

TEST(Trw, ChoosesDirectionsOnGrids) {
  const SparseCrf four = RandomGrid(6, 5, PottsLabels(3), 1.0, 1);
  for (double rho : SolveTrw(four).rho) EXPECT_EQ(rho, 0.5);
  const SparseCrf eight(four.unary(), GridEdges(6, 5, 8, 0.5), four.labels());
  const TrwResult result = SolveTrw(eight);
  for (double rho : result.rho) EXPECT_EQ(rho, 0.25);
  ExpectSoundTrw(eight, result, 1.0);
  EXPECT_GE(result.upper, SolveExact(ToFactorGraph(eight)).log_partition);
}

TEST(Trw, OptimisedRhoGains) {
  const SparseCrf model = RandomGrid(6, 6, PottsLabels(3), 1.0, 2);
  TrwOptions options;
  const TrwResult fixed = SolveTrw(model, options);
  options.rho_steps = 10;
  const TrwResult optimised = SolveTrw(model, options);
  ExpectSoundTrw(model, optimised, 1.0);
  EXPECT_EQ(optimised.termination, Termination::kGapReached);
  EXPECT_LT(optimised.upper, fixed.upper - 1e-3 * std::abs(fixed.upper));
  EXPECT_GE(optimised.upper, SolveExact(ToFactorGraph(model)).log_partition);
}

// Weights and temperatures at which probabilities leave double precision.
TEST(Trw, NeverOverflows) {
  for (const LabelSpace& labels : LabelSpaces()) {
    for (double weight : {100.0, 1e4, 1e8}) {
      const SparseCrf grid = RandomGrid(4, 3, labels, weight, 7);
      for (const SparseCrf& model : {grid, Shuffled(grid, 2)}) {
        for (double T : {1e-3, 1.0}) {
          TrwOptions options;
          options.temperature = T;
          options.max_iterations = 20;
          const TrwResult result = SolveTrw(model, options);
          ExpectSoundTrw(model, result, T);
          EXPECT_GE(result.upper,
                    SolveExact(ToFactorGraph(model), {T}).log_partition - 1e-12 * weight);
          for (std::size_t n = 0; n < result.marginals.size(); ++n)
            EXPECT_TRUE(std::isfinite(result.marginals.data()[n]));
        }
      }
    }
  }
}

TEST(Trw, BoundsHardConstraints) {
  const double inf = std::numeric_limits<double>::infinity();
  // A triangle of three labels, neighbours different: 6 colourings; the first variable is not 0.
  const std::vector<double> differ = {inf, 0, 0, 0, inf, 0, 0, 0, inf};
  const FactorGraph graph{
      {3, 3, 3}, {{{0, 1}, differ}, {{1, 2}, differ}, {{2, 0}, differ}, {{0}, {inf, 0, 0}}}};
  const TrwResult result = SolveTrw(graph);
  const double verified = VerifiedTrwUpper(graph, result.evidence, 1.0);
  EXPECT_GE(verified, std::log(4.0));
  EXPECT_LE(verified, result.upper + 1e-9);
  EXPECT_NEAR(result.marginals(0, 0), 0.0, 1e-9);
}

TEST(Trw, StopsWhenAsked) {
  const SparseCrf grid = RandomGrid(8, 8, PottsLabels(4), 3.0, 8);
  for (const SparseCrf& model : {grid, Shuffled(grid, 4)}) {
    TrwOptions options;
    options.tolerance = 0.0;
    options.max_iterations = 4;
    EXPECT_EQ(SolveTrw(model, options).termination, Termination::kIterationLimit);
    options.max_iterations = 10000;
    options.time_limit_seconds = 0.0;
    EXPECT_EQ(SolveTrw(model, options).termination, Termination::kTimeLimit);
    options.time_limit_seconds = 100.0;
    options.rho_steps = 3;
    int calls = 0;
    options.on_iteration = [&](const SolveRecord&) { return ++calls < 3; };
    const TrwResult result = SolveTrw(model, options);
    EXPECT_EQ(result.termination, Termination::kInterrupted);
    EXPECT_EQ(calls, 3);
    ExpectSoundTrw(model, result, 1.0);
  }
}

TEST(Trw, RefusesWhatItCannotBound) {
  const SparseCrf model = RandomGrid(3, 3, PottsLabels(3), 1.0, 8);
  TrwOptions options;
  options.temperature = 0.0;
  EXPECT_THROW(SolveTrw(model, options), InvalidInput);
  options.temperature = 1.0;
  options.forests = {{1.0, {0, 1}}};
  EXPECT_THROW(SolveTrw(model, options), InvalidInput);
  const FactorGraph triple{{2, 2, 2}, {{{0, 1, 2}, std::vector<double>(8, 0.0)}}};
  EXPECT_THROW(SolveTrw(triple), NotExpressible);
  EXPECT_THROW(SolveTrw(FactorGraph{}), InvalidInput);
}

// What SolveExact says of such tables. Each is shown by striking out labels; in the last, three
// variables of two labels all have to differ, which only a search would find.
TEST(Trw, RefusesTablesWithoutALabeling) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> differ = {inf, 0.0, 0.0, inf};
  const std::vector<FactorGraph> impossible = {
      {{1, 3}, {{{1, 0}, {1.0, 2.0, inf}}, {{0, 1}, {0.5, 0.5, 0.5}}, {{0}, {inf}}}},
      {{2}, {{{}, {inf}}}},
      {{2}, {{{0}, {inf, 0.0}}, {{0}, {0.0, inf}}}},
      {{2, 2}, {{{0, 1}, {inf, inf, inf, inf}}}},
      {{2, 2, 2}, {{{0}, {0.0, inf}}, {{0, 1}, differ}, {{2, 1}, differ}, {{2}, {inf, 0.0}}}}};
  for (const FactorGraph& graph : impossible) {
    EXPECT_THROW(SolveExact(graph), InvalidInput);
    try {
      SolveTrw(graph);
      ADD_FAILURE() << "not refused";
    } catch (const InvalidInput& error) {
      EXPECT_STREQ(error.what(), "no labeling has positive probability");
    }
  }
  const FactorGraph cycle{{2, 2, 2}, {{{0, 1}, differ}, {{1, 2}, differ}, {{2, 0}, differ}}};
  EXPECT_THROW(SolveExact(cycle), InvalidInput);
  EXPECT_NO_THROW(SolveTrw(cycle));
  // Rows and columns of a table with two numbers of labels are told apart.
  const FactorGraph possible{{2, 3}, {{{0, 1}, {inf, inf, inf, inf, inf, 1.0}}}};
  EXPECT_NEAR(SolveTrw(possible).upper, -1.0, 1e-9);
}

TEST(Trw, WorksWithoutEdges) {
  const SparseCrf model(RandomUnary(3, 4, -1.0, 1.0, 1), {}, PottsLabels(4), 0.5);
  const TrwResult result = SolveTrw(model);
  EXPECT_NEAR(result.upper, SolveExact(ToFactorGraph(model)).log_partition, 1e-12);
}

}  // namespace
}  // namespace submarine::internal
