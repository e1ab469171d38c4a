#include "submarine/solver/routed/listed_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/bound/verify/dense/routed/routed_verifier.h"
#include "submarine/model/image_features.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/dense_pdhg.h"
#include "submarine/solver/routed/listed_routes.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

constexpr double kAllPairs = 1e-30;

double Verified(const DenseCrf& model, const RoutedProof& proof, double temperature = 1.0) {
  PairOptions options;
  options.temperature = temperature;
  options.cutoff = 0.0;
  return VerifiedRoutedUpper(model, proof, options);
}

DenseStart PlainStart(const DenseExtension& extension, double temperature, int iterations) {
  DensePdhgOptions options;
  options.temperature = temperature;
  options.max_iterations = iterations;
  options.relative_gap = 1e-6;
  return SolvePdhg(extension, options).state;
}

// A noisy picture of two regions, by row.
DenseCrf Picture(RandomModels* random, int width, int height, const LabelSpace& labels) {
  const auto n = static_cast<std::size_t>(width * height);
  GaussianKernel near{"position", Matrix<double>(n, 2), 0.4};
  GaussianKernel alike{"colour", Matrix<double>(n, 3), 0.2};
  Matrix<float> unary(n, static_cast<std::size_t>(labels.num_labels()));
  for (std::size_t a = 0; a < n; ++a) {
    const auto x = static_cast<double>(a % static_cast<std::size_t>(width));
    const auto y = static_cast<double>(a / static_cast<std::size_t>(width));
    near.features(a, 0) = alike.features(a, 0) = x / 2.0;
    near.features(a, 1) = alike.features(a, 1) = y / 2.0;
    alike.features(a, 2) = (2.0 * x < width ? 0.0 : 2.0) + random->Real(-0.5, 0.5);
    for (std::size_t i = 0; i < unary.cols(); ++i)
      unary(a, i) = static_cast<float>(random->Real(0.0, 2.0));
    unary(a, 2.0 * x < width ? 0 : unary.cols() - 1) -= 0.5F;
  }
  return {std::move(unary), {near, alike}, labels};
}

// Row a, column b: the weights that an operator applies.
Matrix<float> WeightsOf(const GaussianOperator& op) {
  Matrix<float> unit(op.size(), op.size());
  for (std::size_t a = 0; a < op.size(); ++a) unit(a, a) = 1.0F;
  Matrix<float> weights(op.size(), op.size());
  op.AddProduct(unit, 1.0F, &weights);
  return weights;
}

TEST(ListedRoutesTest, FollowTheDefinition) {
  RandomModels random(31);
  for (int round = 0; round < 200; ++round) {
    const DenseCrf model = random.Dense(random.Integer(2, 14), random.Labels(random.Integer(2, 9)));
    const std::vector<WeightedKernel> kernels = PairWeights(model);
    const auto positive = [](const WeightedKernel& k) { return k.factor > 0.0; };
    if (!std::all_of(kernels.begin(), kernels.end(), positive)) continue;
    const std::size_t n = model.num_variables();
    const auto cuts = static_cast<std::size_t>(model.num_cuts());
    Routing routing;
    routing.paths = MakePath(model, VariableOrder::kSpanning, 1);
    CutPaths(static_cast<std::size_t>(random.Integer(1, 3)), &routing.paths);
    routing.share = random.Real(0.0, 1.0);
    if (random.Integer(0, 2) > 0) {
      routing.z = Matrix<float>(n, cuts);
      routing.threshold = Matrix<float>(n, 1);
      for (std::size_t k = 0; k < routing.z.size(); ++k)
        routing.z.data()[k] = static_cast<float>(random.Real(0.0, 1.0));
      for (std::size_t p = 0; p < n; ++p)
        routing.threshold(p, 0) = static_cast<float>(random.Real(0.0, 4.0));
    }
    const ListedRoutes routes =
        RouteList(model, NeighbourList(kernels, {.cutoff = kAllPairs}), routing);

    const auto distance = [&](std::size_t a, std::size_t c) {
      double sum = 0.0;
      for (std::size_t k = 0; k < cuts && !routing.everywhere(); ++k)
        sum += model.metric().length[k] * std::abs(routing.z(a, k) - routing.z(c, k));
      return sum;
    };
    const std::vector<std::uint32_t> followers = routing.paths.Followers();
    Matrix<double> left(n, n);
    std::vector<double> edge(n, 0.0);
    for (const WeightedKernel& kernel : kernels) {
      const auto weight = [&](std::size_t a, std::size_t b) {
        return a == b ? 0.0 : kernel.factor * KernelValue(*kernel.kernel, a, b);
      };
      for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) left(a, b) += weight(a, b);
      }
      for (std::size_t p = 0; p + 1 < n; ++p) {
        if (followers[p] == 0) continue;
        const std::size_t a = routing.paths.order[p];
        const std::size_t b = routing.paths.order[p + 1];
        for (std::size_t c = 0; c < n; ++c) {
          if (!routing.everywhere() &&
              !(distance(a, c) + distance(b, c) < static_cast<double>(routing.threshold(p, 0))))
            continue;
          const double amount = routing.share / 4.0 * std::min(weight(a, c), weight(b, c));
          edge[p] += amount;
          left(a, c) -= amount;
          left(c, a) -= amount;
          left(b, c) -= amount;
          left(c, b) -= amount;
        }
      }
    }
    for (std::size_t p = 0; p + 1 < n; ++p) {
      if (followers[p] == 0) continue;
      const std::size_t a = routing.paths.order[p];
      const std::size_t b = routing.paths.order[p + 1];
      edge[p] += left(a, b);
      left(a, b) = left(b, a) = 0.0;
    }
    const Matrix<float> found = WeightsOf(*routes.left);
    for (std::size_t a = 0; a < n; ++a) {
      ASSERT_NEAR(routes.edge_weights(a, 0), edge[a], 1e-5 * (1.0 + edge[a])) << round;
      for (std::size_t b = 0; b < n; ++b)
        ASSERT_NEAR(found(a, b), left(a, b), 1e-5 * (1.0 + left(a, b))) << round;
    }
  }
}

TEST(ListedRoutesTest, RefuseBandedChain) {
  RandomModels random(32);
  const DenseCrf model = random.Dense(6, PottsLabels(2));
  Routing routing;
  routing.paths = MakePath(model, VariableOrder::kRows, 2);
  const NeighbourList pairs(PairWeights(model), {.cutoff = kAllPairs});
  EXPECT_THROW(RouteList(model, pairs, routing), InvalidInput);
}

TEST(ListedSolverTest, BoundsAreVerifiedAndHold) {
  RandomModels random(33);
  for (int round = 0; round < 100; ++round) {
    const DenseCrf model = Picture(&random, random.Integer(2, 4), random.Integer(1, 3),
                                   random.Labels(random.Integer(2, 3)));
    const double temperature = random.Integer(0, 1) == 0 ? 1.0 : random.Real(0.3, 2.0);
    const NeighbourList pairs(PairWeights(model), {.cutoff = kAllPairs});
    const DenseExtension extension(model, pairs);
    ListedOptions options;
    options.temperature = temperature;
    options.share = random.Real(0.0, 1.0);
    const RoutedResult result = RouteListed(
        extension, pairs, PlainStart(extension, temperature, random.Integer(1, 30)), options);
    const double upper = Verified(model, result.proof, temperature);
    ExactOptions exact;
    exact.temperature = temperature;
    ASSERT_GE(upper, SolveExact(ToFactorGraph(ToSparseCrf(model)), exact).log_partition) << round;
    ASSERT_NEAR(upper, result.upper, 1e-4 * (1.0 + std::abs(upper))) << round;
    for (std::size_t a = 0; a < model.num_variables(); ++a) {
      double sum = 0.0;
      for (const float p : result.marginals.row(a)) sum += p;
      ASSERT_NEAR(sum, 1.0, 1e-5);
    }
  }
}

// On pictures it closes a good part of the plain bound's interval, from where that one has converged.
TEST(ListedSolverTest, IsBelowThePlainBoundOfPictures) {
  RandomModels random(34);
  for (const LabelSpace& labels : {PottsLabels(3), TruncatedLinearLabels(8, 2), LinearLabels(5)}) {
    const DenseCrf model = Picture(&random, 30, 20, labels);
    const NeighbourList pairs(PairWeights(model), {.cutoff = 1e-3});
    const DenseExtension extension(model, pairs);
    DensePdhgOptions plain;
    plain.max_iterations = 300;
    plain.relative_gap = 1e-3;
    const DenseResult start = SolvePdhg(extension, plain);
    const RoutedResult result = RouteListed(extension, pairs, start.state, {});
    // Whatever its flows, no plain bound is below the dual value.
    EXPECT_LT(result.upper, start.dual);
    EXPECT_LT(Verified(model, result.proof), start.dual);
    EXPECT_LE(result.upper, result.path_only);
    EXPECT_GT(result.routed_weight, 0.0);
  }
}

TEST(ListedSolverTest, EndsWhenToldAndIsTheSameForAnyNumberOfThreads) {
  RandomModels random(35);
  const DenseCrf model = Picture(&random, 40, 30, PottsLabels(4));
  const NeighbourList pairs(PairWeights(model), {.cutoff = 1e-3});
  const DenseExtension extension(model, pairs);
  const DenseStart start = PlainStart(extension, 1.0, 10);
  ListedOptions options;
  options.on_iteration = [](const SolveRecord& record) { return record.k < 3; };
  const RoutedResult result = RouteListed(extension, pairs, start, options);
  EXPECT_EQ(result.termination, Termination::kInterrupted);
  EXPECT_EQ(result.iterations, 3);
  EXPECT_TRUE(std::isfinite(result.upper));
  const ThreadLimit one(1);
  EXPECT_EQ(RouteListed(extension, pairs, start, options).upper, result.upper);
}

TEST(ListedSolverTest, RefusesWhatItCannotBeginFrom) {
  RandomModels random(36);
  const DenseCrf model = Picture(&random, 3, 3, PottsLabels(2));
  const NeighbourList pairs(PairWeights(model), {.cutoff = 1e-3});
  const DenseExtension extension(model, pairs);
  EXPECT_THROW(RouteListed(extension, pairs, {}, {}), InvalidInput);
  const DenseStart start = PlainStart(extension, 1.0, 2);
  ListedOptions cold;
  cold.temperature = 0.0;
  EXPECT_THROW(RouteListed(extension, pairs, start, cold), InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
