#include "submarine/solver/flow/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "submarine/base/argmax.h"
#include "submarine/solver/common/solver_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/pdhg.h"

namespace submarine::internal {
namespace {

Matrix<double> RandomMarginals(std::size_t rows, int labels, std::uint64_t seed) {
  Matrix<double> y = RandomUnary(rows, labels, 0.0, 1.0, seed);
  for (std::size_t a = 0; a < rows; ++a) {
    double sum = 0.0;
    for (double p : y.row(a)) sum += p;
    for (double& p : y.row(a)) p /= sum;
  }
  return y;
}

// Cuts that are hierarchies (a star, a tree, nested prefixes), and cuts that overlap.
std::vector<LabelSpace> Spaces() {
  std::vector<LabelSpace> spaces = LabelSpaces();
  LabelSpace mixed = PottsLabels(4);
  mixed.cuts = std::make_shared<LabelCuts>(
      4, std::vector<std::vector<int>>{{0, 1}, {0, 1}, {0, 1, 2, 3}, {3}});
  mixed.metrics[0].length.resize(8, 0.0);  // repeated, complete and single sets
  spaces.push_back(mixed);
  return spaces;
}

TEST(RoundingTest, ArgmaxTakesTheSmallestLabelAmongEquals) {
  Matrix<double> y(4, 3, 0.0);
  y(0, 2) = 1.0;
  y(1, 0) = y(1, 1) = y(1, 2) = 1.0 / 3.0;
  y(2, 1) = y(2, 2) = 0.5;
  y(3, 0) = 0.3;
  y(3, 1) = 0.5;
  y(3, 2) = 0.2;
  EXPECT_EQ(ArgmaxLabels(y), (std::vector<int>{2, 0, 1, 1}));
}

TEST(RoundingTest, ReturnsTheEnergyItClaims) {
  for (const LabelSpace& labels : Spaces()) {
    const SparseCrf model = RandomGrid(5, 4, labels, 1.0, 1);
    const Matrix<double> y = RandomMarginals(20, labels.num_labels(), 2);
    const double argmax = model.Energy(ArgmaxLabels(y));
    double before = argmax;
    for (int draws : {0, 1, 2, 10, 100}) {
      const Labeling rounded = RoundMarginals(model, y, draws, 3);
      EXPECT_EQ(rounded.energy, model.Energy(rounded.labels));
      for (int label : rounded.labels) {
        EXPECT_GE(label, 0);
        EXPECT_LT(label, labels.num_labels());
      }
      EXPECT_LE(rounded.energy, before) << "more draws of the same sequence are worse";
      before = rounded.energy;
      if (draws == 0) {
        EXPECT_EQ(rounded.labels, ArgmaxLabels(y));
      }
    }
    EXPECT_LT(before, argmax) << "none of 100 draws was better than the argmax";
  }
}

TEST(RoundingTest, DependsOnTheSeedAlone) {
  const SparseCrf model = RandomGrid(5, 4, PottsLabels(6), 1.0, 4);
  const Matrix<double> y = RandomMarginals(20, 6, 5);
  EXPECT_EQ(RoundMarginals(model, y, 10, 6).labels, RoundMarginals(model, y, 10, 6).labels);
  EXPECT_NE(RoundMarginals(model, y, 10, 6).labels, RoundMarginals(model, y, 10, 7).labels);
}

TEST(RoundingTest, KeepsIntegralMarginals) {
  for (const LabelSpace& labels : Spaces()) {
    // Energies that reward leaving the marginals.
    Matrix<double> unary(6, labels.num_labels(), -1.0);
    Matrix<double> y(6, labels.num_labels(), 0.0);
    std::vector<int> expected;
    for (int a = 0; a < 6; ++a) {
      expected.push_back((2 * a + 1) % labels.num_labels());
      unary(a, expected.back()) = 5.0;
      y(a, expected.back()) = 1.0;
    }
    const SparseCrf model(unary, {}, labels);
    EXPECT_EQ(RoundMarginals(model, y, 50, 8).labels, expected);
  }
}

// A model of one variable whose argmax label is dearer than the others. The best of the argmax and
// one draw is then the draw, whose distribution must be the marginal.
TEST(RoundingTest, KleinbergTardosDrawsFollowTheMarginals) {
  constexpr int kTrials = 20000;
  for (const LabelSpace& labels : Spaces()) {
    SCOPED_TRACE(labels.metrics[0].name + ", cuts: " + std::to_string(labels.cuts->num_cuts()));
    const Matrix<double> y = RandomMarginals(1, labels.num_labels(), 9);
    Matrix<double> unary(1, labels.num_labels(), 0.0);
    unary(0, ArgmaxLabels(y)[0]) = 1.0;
    const SparseCrf model(unary, {}, labels);
    std::vector<int> count(static_cast<std::size_t>(labels.num_labels()), 0);
    for (int trial = 0; trial < kTrials; ++trial) {
      ++count[RoundMarginals(model, y, 1, static_cast<std::uint64_t>(trial)).labels[0]];
    }
    for (int i = 0; i < labels.num_labels(); ++i) {
      const double p = y(0, i);
      EXPECT_NEAR(count[i], kTrials * p, 5.0 * std::sqrt(kTrials * p * (1.0 - p))) << "label " << i;
    }
  }
}

TEST(RoundingTest, EqualMarginalsAreNeverSeparated) {
  for (const LabelSpace& labels : Spaces()) {
    const Matrix<double> one = RandomMarginals(1, labels.num_labels(), 10);
    Matrix<double> y(8, labels.num_labels());
    Matrix<double> unary(8, labels.num_labels(), 0.0);
    for (int a = 0; a < 8; ++a) {
      for (int i = 0; i < labels.num_labels(); ++i) y(a, i) = one(0, i);
      unary(a, ArgmaxLabels(one)[0]) = 1.0;
    }
    const SparseCrf model(unary, {}, labels);
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      for (int draws : {1, 2}) {
        const std::vector<int> drawn = RoundMarginals(model, y, draws, seed).labels;
        for (int label : drawn) EXPECT_EQ(label, drawn[0]);
      }
    }
  }
}

// Kleinberg and Tardos: the expected energy is at most twice the relaxation for Potts, energies >= 0.
TEST(RoundingTest, PottsIsWithinFactorTwoOfTheRelaxation) {
  for (double weight : {0.3, 1.0, 3.0}) {
    std::vector<Edge> edges = GridEdges(12, 12, 4, weight);
    const SparseCrf model(RandomUnary(144, 5, 0.0, 3.0, 11), edges, PottsLabels(5));
    PdhgOptions options;
    options.temperature = 0.0;
    options.relative_gap = 1e-4;
    const BoundResult relaxation = SolvePdhg(model, options);
    ASSERT_EQ(relaxation.termination, Termination::kGapReached);
    const Labeling rounded = RoundMarginals(model, relaxation.marginals, 100, 12);
    EXPECT_GE(rounded.energy, -relaxation.upper - 1e-9);
    EXPECT_LE(rounded.energy, -2.0 * relaxation.dual + 1e-9);
  }
}

// On a chain the relaxation has integral optima, which rounding then finds.
TEST(RoundingTest, FindsTheLeastEnergyOfChains) {
  for (const LabelSpace& labels : LabelSpaces()) {
    std::vector<Edge> edges;
    for (int a = 0; a + 1 < 30; ++a) edges.push_back({a, a + 1, 0.6});
    const SparseCrf model(RandomUnary(30, labels.num_labels(), 0.0, 3.0, 13), edges, labels);
    PdhgOptions options;
    options.temperature = 0.0;
    options.relative_gap = 1e-5;
    options.max_iterations = 50000;
    const BoundResult relaxation = SolvePdhg(model, options);
    const double least = -SolveExact(ToFactorGraph(model), {.temperature = 0.0}).log_partition;
    EXPECT_NEAR(RoundMarginals(model, relaxation.marginals, 20, 14).energy, least,
                1e-10 * (1.0 + least));
  }
}

TEST(RoundingTest, StopsWithTheBestSoFar) {
  const SparseCrf model = RandomGrid(30, 30, PottsLabels(5), 1.0, 21);
  const Matrix<double> y = RandomMarginals(900, 5, 22);
  const double argmax = model.Energy(ArgmaxLabels(y));
  const Labeling none = RoundMarginals(model, y, 16, 1, StopCheck(0.0));
  EXPECT_EQ(none.labels, ArgmaxLabels(y));
  int asked = 0;
  const StopCheck stop(HUGE_VAL, [&] { return ++asked == 40; });  // in the middle of some draw
  const Labeling some = RoundMarginals(model, y, 1000000, 1, stop);
  EXPECT_EQ(asked, 40);
  ASSERT_EQ(some.labels.size(), 900u);
  EXPECT_EQ(some.energy, model.Energy(some.labels));
  EXPECT_LE(some.energy, argmax);
}

TEST(RoundingTest, SurvivesRowsThatAreNoDistributions) {
  const SparseCrf model = RandomGrid(2, 2, LinearLabels(4), 1.0, 15);
  const Labeling rounded = RoundMarginals(model, Matrix<double>(4, 4, 0.0), 2, 16);
  EXPECT_EQ(rounded.energy, model.Energy(rounded.labels));
}

}  // namespace
}  // namespace submarine::internal
