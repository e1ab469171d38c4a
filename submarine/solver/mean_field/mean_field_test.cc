#include "submarine/solver/mean_field/mean_field.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/labels/label_tree.h"
#include "submarine/solver/exact/enumerate_test_util.h"

namespace submarine::internal {
namespace {

using testing::EnumerateExact;

Matrix<double> RandomMatrix(std::size_t rows, std::size_t cols, double scale, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> value(0.0, scale);
  Matrix<double> matrix(rows, cols);
  for (std::size_t r = 0; r < rows; ++r) {
    for (double& v : matrix.row(r)) v = value(random);
  }
  return matrix;
}

std::vector<LabelSpace> SmallLabelSpaces() {
  return {PottsLabels(3), LinearLabels(4), TruncatedLinearLabels(4, 2),
          LabelTree::Regular({2, 2}, {1.0, 0.5}).ToLabels()};
}

SparseCrf SmallGrid(const LabelSpace& labels, double weight, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> relative(0.0, 2.0);
  std::vector<Edge> edges = GridEdges(3, 2, 8, weight);
  for (Edge& e : edges) e.weight *= relative(random);
  return SparseCrf(RandomMatrix(6, static_cast<std::size_t>(labels.num_labels()), 3.0, seed),
                   std::move(edges), labels, 0.7);
}

// The same distances with cuts that express nothing, which forces the distance path.
LabelSpace WithoutCuts(LabelSpace labels) {
  for (LabelMetric& metric : labels.metrics) {
    std::fill(metric.length.begin(), metric.length.end(), 0.0);
    metric.distortion = std::numeric_limits<double>::infinity();
  }
  return labels;
}

// F_T by its definition, from the distances of the model.
double FreeEnergy(const SparseCrf& model, const Matrix<double>& y, double temperature) {
  double value = -model.constant();
  for (std::size_t a = 0; a < y.rows(); ++a) {
    for (std::size_t i = 0; i < y.cols(); ++i) {
      if (y(a, i) == 0.0) continue;
      value -= y(a, i) * (temperature * std::log(y(a, i)) + model.unary()(a, i));
    }
  }
  for (const Edge& e : model.edges()) {
    for (std::size_t i = 0; i < y.cols(); ++i) {
      for (std::size_t j = 0; j < y.cols(); ++j) {
        value -= e.weight * y(e.a, i) * y(e.b, j) * model.metric(e).distance(i, j);
      }
    }
  }
  return value;
}

TEST(MeanFieldTest, NeverExceedsTheLogPartition) {
  for (const LabelSpace& labels : SmallLabelSpaces()) {
    for (double temperature : {0.3, 1.0, 2.5}) {
      for (double weight : {0.1, 1.0, 4.0}) {
        const SparseCrf model = SmallGrid(labels, weight, 3);
        const double exact = EnumerateExact(ToFactorGraph(model), temperature).log_partition;
        const MeanFieldResult result = SolveMeanField(model, {.temperature = temperature});
        EXPECT_LE(result.lower, exact + 1e-12) << labels.metrics[0].name;
        // The bound is a useful one, too: well within the pairwise energy of the model.
        EXPECT_GE(result.lower, exact - 3.0 * std::max(1.0, weight)) << labels.metrics[0].name;
        EXPECT_TRUE(result.converged);
      }
    }
  }
}

TEST(MeanFieldTest, IsExactWithoutCoupling) {
  for (const LabelSpace& labels : SmallLabelSpaces()) {
    for (double temperature : {0.3, 1.0, 2.5}) {
      const SparseCrf model = SmallGrid(labels, 0.0, 7);
      const ExactResult exact = EnumerateExact(ToFactorGraph(model), temperature);
      const MeanFieldResult result = SolveMeanField(model, {.temperature = temperature});
      EXPECT_NEAR(result.lower, exact.log_partition, 1e-12);
      for (std::size_t a = 0; a < 6; ++a) {
        for (std::size_t i = 0; i < exact.marginals[a].size(); ++i) {
          EXPECT_NEAR(result.marginals(a, i), exact.marginals[a][i], 1e-12);
        }
      }
    }
  }
}

TEST(MeanFieldTest, RisesWithEverySweep) {
  for (const LabelSpace& labels : SmallLabelSpaces()) {
    const SparseCrf model(RandomMatrix(400, static_cast<std::size_t>(labels.num_labels()), 4.0, 8),
                          GridEdges(20, 20, 4, 1.5), labels);
    const MeanFieldResult result = SolveMeanField(model, {.tolerance = 1e-12, .starts = 5});
    ASSERT_GT(result.records.size(), 10u);
    for (std::size_t k = 1; k < result.records.size(); ++k) {
      EXPECT_EQ(result.records[k].k, result.records[k - 1].k + 1);
      EXPECT_GE(result.records[k].lower, result.records[k - 1].lower);
    }
    EXPECT_EQ(result.free_energy.size(), 5u);
    std::size_t sweeps = 0;
    for (const std::vector<double>& of_start : result.free_energy) {
      sweeps += of_start.size();
      for (std::size_t k = 1; k < of_start.size(); ++k)
        EXPECT_GE(of_start[k], of_start[k - 1] - 1e-12 * std::abs(of_start[k - 1]));
    }
    EXPECT_EQ(sweeps, result.records.size());
    EXPECT_EQ(result.iterations, result.records.back().k);
    EXPECT_NEAR(result.lower, *result.records.back().lower, 1e-12 * std::abs(result.lower));
    EXPECT_NEAR(result.lower, VerifiedLower(model, result.marginals, 1.0),
                1e-12 * std::abs(result.lower));
    EXPECT_NEAR(result.lower, FreeEnergy(model, result.marginals, 1.0),
                1e-12 * std::abs(result.lower));
  }
}

TEST(MeanFieldTest, CutsAndDistancesAgree) {
  for (const LabelSpace& labels : SmallLabelSpaces()) {
    for (double temperature : {0.5, 2.0}) {
      const Matrix<double> unary =
          RandomMatrix(48, static_cast<std::size_t>(labels.num_labels()), 4.0, 9);
      const std::vector<Edge> edges = GridEdges(8, 6, 8, 0.6);
      const SparseCrf through_cuts(unary, edges, labels);
      const SparseCrf through_distances(unary, edges, WithoutCuts(labels));
      ASSERT_TRUE(through_cuts.labels().exact());
      ASSERT_FALSE(through_distances.labels().exact());
      // Three sweeps from every start: no time for rounding to choose between maxima.
      const MeanFieldOptions options{.temperature = temperature, .max_iterations = 3};
      const MeanFieldResult fast = SolveMeanField(through_cuts, options);
      const MeanFieldResult slow = SolveMeanField(through_distances, options);
      ASSERT_EQ(fast.records.size(), slow.records.size());
      ASSERT_EQ(fast.free_energy.size(), slow.free_energy.size());
      for (std::size_t s = 0; s < fast.free_energy.size(); ++s) {
        ASSERT_EQ(fast.free_energy[s].size(), slow.free_energy[s].size());
        for (std::size_t k = 0; k < fast.free_energy[s].size(); ++k)
          EXPECT_NEAR(fast.free_energy[s][k], slow.free_energy[s][k], 1e-10);
      }
      for (std::size_t a = 0; a < unary.rows(); ++a) {
        for (std::size_t i = 0; i < unary.cols(); ++i) {
          EXPECT_NEAR(fast.marginals(a, i), slow.marginals(a, i), 1e-10);
        }
      }
    }
  }
}

TEST(MeanFieldTest, KeepsWhatAnExtraStartOffers) {
  for (const LabelSpace& labels : SmallLabelSpaces()) {
    const auto num_labels = static_cast<std::size_t>(labels.num_labels());
    const SparseCrf model = SmallGrid(labels, 2.0, 10);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      Matrix<double> start = RandomMatrix(6, num_labels, 1.0, seed);
      for (std::size_t a = 0; a < start.rows(); ++a) {
        double total = 0.0;
        for (double p : start.row(a)) total += p;
        for (double& p : start.row(a)) p /= total;
      }
      const double offered = FreeEnergy(model, start, 1.0);
      for (int iterations : {0, 1, 1000}) {
        const MeanFieldResult result = SolveMeanField(
            model, {.max_iterations = iterations, .starts = 0, .extra_starts = {start}});
        EXPECT_GE(result.lower, offered - 1e-13 * std::abs(offered));
        if (iterations > 0) {
          EXPECT_GT(result.lower, offered);
        }
      }
    }
  }
}

TEST(MeanFieldTest, IsDeterministic) {
  const SparseCrf model(RandomMatrix(400, 5, 4.0, 11), GridEdges(20, 20, 4, 2.0), PottsLabels(5));
  const MeanFieldResult first = SolveMeanField(model, {.starts = 6, .seed = 5});
  const MeanFieldResult second = SolveMeanField(model, {.starts = 6, .seed = 5});
  EXPECT_EQ(first.lower, second.lower);
  EXPECT_EQ(first.marginals, second.marginals);
}

TEST(MeanFieldTest, SurvivesExtremeModels) {
  for (double scale : {1.0, 1e6}) {
    for (double temperature : {1e-3, 1.0, 1e4}) {
      const SparseCrf model(RandomMatrix(36, 4, scale, 12), GridEdges(6, 6, 4, scale),
                            TruncatedLinearLabels(4, 2));
      const MeanFieldResult result = SolveMeanField(model, {.temperature = temperature});
      EXPECT_TRUE(std::isfinite(result.lower));
      for (std::size_t a = 0; a < 36; ++a) {
        double total = 0.0;
        for (double p : result.marginals.row(a)) total += p;
        EXPECT_NEAR(total, 1.0, 1e-14);
      }
    }
  }
}

TEST(MeanFieldTest, StopsWhenAsked) {
  const SparseCrf model(RandomMatrix(400, 5, 4.0, 13), GridEdges(20, 20, 4, 1.0), PottsLabels(5));
  int calls = 0;
  const MeanFieldResult interrupted =
      SolveMeanField(model, {.on_iteration = [&](int iteration, double, double lower) {
                       EXPECT_EQ(iteration, ++calls);
                       EXPECT_TRUE(std::isfinite(lower));
                       return calls < 3;
                     }});
  EXPECT_EQ(interrupted.iterations, 3);
  EXPECT_FALSE(interrupted.converged);
  EXPECT_NEAR(interrupted.lower, VerifiedLower(model, interrupted.marginals, 1.0),
              1e-12 * std::abs(interrupted.lower));
  EXPECT_NEAR(interrupted.lower, *interrupted.records.back().lower, 1e-9);

  const MeanFieldResult timed = SolveMeanField(model, {.time_limit_seconds = 0.0});
  EXPECT_EQ(timed.iterations, 1);
  EXPECT_TRUE(std::isfinite(timed.lower));
}

// The callback ends the first sweep in its middle: variables before it are updated, the others not.
TEST(MeanFieldTest, StopsWithinASweep) {
  const int width = 400;
  const SparseCrf model(RandomMatrix(width * width, 8, 4.0, 14), GridEdges(width, width, 4, 1.0),
                        PottsLabels(8));
  int asked = 0;
  MeanFieldOptions options;
  options.interrupted = [&] { return ++asked == 3; };
  const MeanFieldResult result = SolveMeanField(model, options);
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(result.iterations, 0);
  EXPECT_FALSE(result.converged);
  EXPECT_LE(result.lower,
            VerifiedLower(model, result.marginals, 1.0) + 1e-12 * std::abs(result.lower));
  // It starts from the unaries' softmax, on which the updates made so far improve.
  Matrix<double> start = model.unary();
  for (std::size_t a = 0; a < start.rows(); ++a) {
    for (double& p : start.row(a)) p = std::exp(-p);
  }
  EXPECT_GT(VerifiedLower(model, result.marginals, 1.0), VerifiedLower(model, start, 1.0) + 1.0);
}

TEST(MeanFieldTest, RefusesBadInput) {
  const SparseCrf model(RandomMatrix(4, 3, 1.0, 14), GridEdges(2, 2, 4, 1.0), PottsLabels(3));
  for (double temperature : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(SolveMeanField(model, {.temperature = temperature}), InvalidInput);
  }
  EXPECT_THROW(SolveMeanField(model, {.starts = 0}), InvalidInput);
  EXPECT_THROW(SolveMeanField(model, {.extra_starts = {Matrix<double>(4, 2, 0.5)}}), InvalidInput);
  EXPECT_THROW(SolveMeanField(model, {.extra_starts = {Matrix<double>(4, 3, 0.0)}}), InvalidInput);
  EXPECT_THROW(SolveMeanField(model, {.extra_starts = {Matrix<double>(4, 3, -0.5)}}), InvalidInput);
  EXPECT_THROW(SolveMeanField(model, {.extra_starts = {Matrix<double>(4, 3, std::nan(""))}}),
               InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
