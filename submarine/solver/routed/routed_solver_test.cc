#include "submarine/solver/routed/routed_solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/bound/verify/dense/routed/routed_verifier.h"
#include "submarine/extension/submodular_bound_limit.h"
#include "submarine/model/image_features.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/routed/routed_problem.h"
#include "submarine/solver/routed/squares/tile_pairs.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

// Points in two clusters with unaries that hardly tell labels apart.
DenseCrf WeakModel(RandomModels* random, int variables, LabelSpace labels, double degree,
                   double strength = 0.3) {
  const auto n = static_cast<std::size_t>(variables);
  GaussianKernel kernel{"clusters", Matrix<double>(n, 2), degree / variables};
  for (std::size_t a = 0; a < n; ++a) {
    kernel.features(a, 0) = (a % 2 == 0 ? 0.0 : 3.0) + random->Real(-0.5, 0.5);
    kernel.features(a, 1) = random->Real(-0.5, 0.5);
  }
  Matrix<float> unary(n, static_cast<std::size_t>(labels.num_labels()));
  for (std::size_t k = 0; k < unary.size(); ++k)
    unary.data()[k] = static_cast<float>(random->Real(0.0, strength));
  return {std::move(unary), {kernel}, std::move(labels)};
}

double ExactValue(const DenseCrf& model, double temperature) {
  ExactOptions options;
  options.temperature = temperature;
  return SolveExact(ToFactorGraph(ToSparseCrf(model)), options).log_partition;
}

double Verified(const DenseCrf& model, const RoutedProof& proof, double temperature = 1.0) {
  PairOptions options;
  options.temperature = temperature;
  options.cutoff = 0.0;
  return VerifiedRoutedUpper(model, proof, options);
}

double UnaryBound(const DenseCrf& model) { return VerifiedUpper(model, {}, {}); }

TEST(RoutedSolverTest, BoundsAreVerifiedAndHold) {
  RandomModels random(21);
  for (int round = 0; round < 150; ++round) {
    const int labels = random.Integer(2, 3);
    const DenseCrf model = WeakModel(&random, random.Integer(2, labels == 2 ? 12 : 7),
                                     random.Labels(labels), random.Real(0.1, 12.0));
    RoutedOptions options;
    options.temperature = random.Integer(0, 1) == 0 ? 1.0 : random.Real(0.3, 2.0);
    options.bandwidth = random.Integer(0, 3);
    options.cutoff = 1e-6;
    const RoutedResult result = SolveRouted(model, options);
    const double upper = Verified(model, result.proof, options.temperature);
    ASSERT_GE(upper, ExactValue(model, options.temperature)) << round;
    // What the solver says is what the verifier says, up to single precision and flows on weights that
    // were rounded to 8 bits.
    const double diameter = *std::max_element(model.labels().metrics.front().length.begin(),
                                              model.labels().metrics.front().length.end());
    const double rounding = std::ldexp(1.0, -9) * result.left_weight *
                            static_cast<double>(model.num_variables() * model.num_cuts()) *
                            diameter;
    ASSERT_NEAR(upper, result.upper, 1e-3 * (1.0 + std::abs(upper)) + rounding) << round;
    for (std::size_t a = 0; a < model.num_variables(); ++a) {
      double sum = 0.0;
      for (const float p : result.marginals.row(a)) sum += p;
      ASSERT_NEAR(sum, 1.0, 1e-5);
    }
  }
}

TEST(RoutedSolverTest, IsFarBelowThePlainBoundUnderWeakUnaries) {
  RandomModels random(22);
  const DenseCrf model = WeakModel(&random, 300, PottsLabels(2), 12.0);
  const double floor = SubmodularBoundLimit(model, 1.0);
  EXPECT_LE(floor, UnaryBound(model) + 1e-9);
  const RoutedResult result = SolveRouted(model, {});
  const double upper = Verified(model, result.proof);
  // Two clusters of one label each have little entropy; 300 variables by themselves have 208 nats.
  EXPECT_LT(upper, floor - 0.5 * (300.0 * std::log(2.0)));
  EXPECT_LE(result.upper, result.path_only);
}

TEST(RoutedSolverTest, FloorOfThePlainBoundIsOne) {
  RandomModels random(23);
  for (int round = 0; round < 50; ++round) {
    const DenseCrf model = WeakModel(&random, 6, random.Labels(3), 5.0, 3.0);
    FlowProof proof(1);
    proof[0].v = Matrix<float>(6, static_cast<std::size_t>(model.num_cuts()));
    for (std::size_t n = 0; n < proof[0].v.size(); ++n)
      proof[0].v.data()[n] = static_cast<float>(random.Real(-2.0, 2.0));
    ASSERT_LE(SubmodularBoundLimit(model, 1.0),
              VerifiedUpper(model, proof, {.cutoff = 0.0}) + 1e-9);
  }
}

// Where unaries decide, routes cost more than they bring: a round without them must be found.
TEST(RoutedSolverTest, RoutesNothingWhereNothingPays) {
  RandomModels random(24);
  const DenseCrf model = WeakModel(&random, 200, PottsLabels(4), 1.0, 30.0);
  const double unary = UnaryBound(model);
  const double upper = Verified(model, SolveRouted(model, {}).proof);
  EXPECT_LE(upper, unary + 1e-3 * std::abs(unary));
}

TEST(RoutedSolverTest, BetterMarginalsToBeginWithAreUsedAndChecked) {
  RandomModels random(25);
  const DenseCrf model = WeakModel(&random, 100, PottsLabels(2), 8.0);
  RoutedOptions options;
  options.marginals = Matrix<float>(100, 2, 0.5F);
  EXPECT_LT(SolveRouted(model, options).upper, UnaryBound(model));
  options.marginals = Matrix<float>(100, 3, 0.5F);
  EXPECT_THROW(SolveRouted(model, options), InvalidInput);
  options.marginals = {};
  options.temperature = 0.0;
  EXPECT_THROW(SolveRouted(model, options), InvalidInput);
}

TEST(RoutedSolverTest, EndsWhenTold) {
  RandomModels random(26);
  const DenseCrf model = WeakModel(&random, 200, PottsLabels(2), 8.0);
  RoutedOptions options;
  options.on_iteration = [](const SolveRecord& record) { return record.k < 3; };
  const RoutedResult stopped = SolveRouted(model, options);
  EXPECT_EQ(stopped.termination, Termination::kInterrupted);
  EXPECT_EQ(stopped.iterations, 3);
  EXPECT_LT(Verified(model, stopped.proof), UnaryBound(model));
  options.on_iteration = {};
  options.max_iterations = 5;
  EXPECT_EQ(SolveRouted(model, options).iterations, 5);
  options.time_limit_seconds = 0.0;
  EXPECT_LT(Verified(model, SolveRouted(model, options).proof), UnaryBound(model));
  options.on_routing = [](double) { return false; };
  EXPECT_THROW(SolveRouted(model, options), Interrupted);
}

TEST(RoutedSolverTest, StoppedWhileItLearnsWhatToRouteItStillHasABound) {
  RandomModels random(58);
  const DenseCrf model = WeakModel(&random, 200, PottsLabels(2), 8.0);
  RoutedOptions options;
  int asked = 0;
  options.on_routing = [&](double) {
    return ++asked > 1;
  };  // not at first, when a sample is routed
  const RoutedResult stopped = SolveRouted(model, options);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(stopped.termination, Termination::kInterrupted);
  EXPECT_EQ(stopped.iterations, 0);
  EXPECT_LT(Verified(model, stopped.proof), UnaryBound(model));
}

TEST(RoutedSolverTest, WithoutTimeForFlowsPathsAreTheBound) {
  RandomModels random(59);
  const DenseCrf model = WeakModel(&random, 400, PottsLabels(9), 8.0);
  RoutedOptions options;
  options.time_limit_seconds = 0.0;
  const RoutedResult result = SolveRouted(model, options);
  EXPECT_EQ(result.iterations, 0);
  EXPECT_TRUE(result.proof.flows.empty());
  const double upper = Verified(model, result.proof);
  EXPECT_LT(upper, UnaryBound(model));
  // The verifier has time to look at all pairs.
  EXPECT_LE(upper, result.upper + 1e-3 * std::abs(upper));
}

TEST(RoutedSolverTest, IsTheSameForAnyNumberOfThreads) {
  RandomModels random(27);
  const DenseCrf model = WeakModel(&random, 500, PottsLabels(3), 8.0);
  const auto with = [&](int threads) {
    const ThreadLimit limit(threads);
    return SolveRouted(model, {});
  };
  const RoutedResult one = with(1);
  const RoutedResult three = with(3);
  EXPECT_EQ(one.upper, three.upper);
  EXPECT_EQ(one.marginals, three.marginals);
}

// A picture of a few areas, whose bilateral kernel reaches everywhere, and a narrow kernel.
DenseCrf Areas(RandomModels* random, int width, int height, LabelSpace labels) {
  std::vector<float> grey;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x)
      grey.push_back((x > width / 2 ? 120.0F : 40.0F) +
                     static_cast<float>(random->Real(-6.0, 6.0)));
  }
  Matrix<float> unary(grey.size(), static_cast<std::size_t>(labels.num_labels()));
  for (std::size_t k = 0; k < unary.size(); ++k)
    unary.data()[k] = static_cast<float>(random->Real(0.0, 0.3));
  const double sigma = 15.0;
  const double count = static_cast<double>(width) * height;
  return {std::move(unary),
          {PositionKernel(width, height, 2.0, 2.0, 0.02),
           BilateralKernel(width, height, 1, grey, 40.0, 40.0, {&sigma, 1}, 12.0 / count)},
          std::move(labels)};
}

// As the bound that looks at all pairs one by one, which is `by_pair`, against what is gained at all.
void ExpectNearlyAsGood(const DenseCrf& model, const RoutedResult& result, double by_pair) {
  PairOptions verification;
  verification.cutoff = result.cutoff;
  const double upper = VerifiedRoutedUpper(model, result.proof, verification);
  // What the solver says is what the verifier says.
  EXPECT_NEAR(upper, result.upper, 2e-3 * std::abs(upper)) << model.num_labels();
  const double unaries = UnaryBound(model);
  EXPECT_LT(by_pair, unaries - 1000.0);
  EXPECT_LT(upper, by_pair + 0.06 * (unaries - by_pair)) << model.num_labels();
}

TEST(RoutedSolverTest, ProductsBoundNearlyAsWellAsPairs) {
  RandomModels random(32);
  for (const int labels : {2, 4}) {
    const DenseCrf model = Areas(&random, 48, 40, PottsLabels(labels));
    RoutedOptions options;
    options.cutoff = 1e-3;
    const RoutedResult of_pairs = SolveRouted(model, options);
    options.products = RoutedProducts::kAlways;
    const RoutedResult of_products = SolveRouted(model, options);
    EXPECT_EQ(of_products.proof.routing.product_limit, 1.0);
    EXPECT_EQ(of_products.order, VariableOrder::kBlocks);
    const double pairs = Verified(model, of_pairs.proof);
    ExpectNearlyAsGood(model, of_products, pairs);
  }
}

TEST(RoutedSolverTest, BySquareBoundsNearlyAsWellAsByPair) {
  RandomModels random(34);
  for (const int labels : {3, 9}) {
    const DenseCrf model = Areas(&random, 48, 40, PottsLabels(labels));
    RoutedOptions options;
    options.cutoff = 1e-3;
    const double by_pair = Verified(model, SolveRouted(model, options).proof);
    for (const RoutedProducts products : {RoutedProducts::kNever, RoutedProducts::kAlways}) {
      options.by_square = true;
      options.products = products;
      const RoutedResult result = SolveRouted(model, options);
      EXPECT_TRUE(result.proof.routing.by_square);
      ExpectNearlyAsGood(model, result, by_pair);
    }
    options.by_square = false;
  }
}

TEST(RoutedSolverTest, TheBandwidthIsAsLargeAsMetricAndTimeAllow) {
  RandomModels random(35);
  RoutedOptions options;
  options.max_iterations = 2;
  const auto bandwidth = [&](const LabelSpace& labels) {
    const DenseCrf model = Areas(&random, 24, 20, labels);
    return SolveRouted(model, options).proof.routing.paths.bandwidth;
  };
  EXPECT_EQ(bandwidth(PottsLabels(2)), 3);
  EXPECT_EQ(bandwidth(PottsLabels(7)), 3);
  EXPECT_EQ(bandwidth(PottsLabels(21)), 2);
  EXPECT_EQ(bandwidth(TruncatedLinearLabels(16, 2)), 2);
  EXPECT_EQ(bandwidth(LinearLabels(16)), 1);
  EXPECT_EQ(bandwidth(PottsLabels(40)), 1);
  options.time_limit_seconds = 1e-3;
  EXPECT_EQ(bandwidth(PottsLabels(21)), 1);
  options.time_limit_seconds = std::numeric_limits<double>::infinity();
  options.max_path_bytes = 1000;
  EXPECT_EQ(bandwidth(PottsLabels(21)), 1);
}

TEST(RoutedSolverTest, ProductsTakeThePlaceOfPairsWhereTimeIsShort) {
  RandomModels random(33);
  const std::size_t n = 3000;
  GaussianKernel kernel{"wide", Matrix<double>(n, 2), 8.0 / static_cast<double>(n)};
  for (std::size_t k = 0; k < kernel.features.size(); ++k)
    kernel.features.data()[k] = random.Real(0.0, 3.0);
  const DenseCrf model(Matrix<float>(n, 2, 0.0F), {kernel}, PottsLabels(2));
  RoutedOptions options;
  options.products = RoutedProducts::kWhereTimeIsShort;
  options.max_iterations = 2;
  EXPECT_EQ(SolveRouted(model, options).proof.routing.product_limit, 0.0);
  options.time_limit_seconds = 0.02;
  EXPECT_EQ(SolveRouted(model, options).proof.routing.product_limit, 1.0);
}

// Without time for all squares, those of the largest kernel values are looked at.
TEST(TilePairsTest, AsManySquaresAsThereMayBe) {
  constexpr std::size_t kSize = 3000;
  GaussianKernel kernel{"line", Matrix<double>(kSize, 1), 1.0};
  for (std::size_t a = 0; a < kSize; ++a) kernel.features(a, 0) = 2e-3 * static_cast<double>(a);
  const DenseCrf model(Matrix<float>(kSize, 2, 0.0F), {kernel}, PottsLabels(2));
  const RoutedPaths paths = MakePath(model, VariableOrder::kSpanning, 1);
  const std::vector<ReorderedKernel> kernels = ReorderKernels(model, paths);
  const std::vector<RoutedCut> cuts = DistinctCuts(model.labels());
  const TilePairs all(kernels, paths, cuts, {.cutoff = 0.1});
  const auto count = static_cast<double>(all.num_tiles());
  for (const double share : {0.9, 0.6, 0.3}) {
    const TilePairs some(kernels, paths, cuts, {.cutoff = 0.1, .most_tiles = share * count});
    EXPECT_GT(some.cutoff(), all.cutoff());
    EXPECT_LE(static_cast<double>(some.num_tiles()), 1.02 * share * count);
    EXPECT_GE(static_cast<double>(some.num_tiles()), 0.7 * share * count);
  }
  const TilePairs least(kernels, paths, cuts, {.cutoff = 0.1, .most_tiles = 0.0});
  EXPECT_EQ(least.cutoff(), kCutoffForTime);
}

// Squares are drawn by what they hold and scaled: sums over pairs have the right expectation, and none of them changes where
// all are drawn.
TEST(TilePairsTest, SamplesEstimateWeightsAndFlows) {
  RandomModels random(35);
  const DenseCrf model = WeakModel(&random, 3000, PottsLabels(2), 8.0);
  Routing routing;
  routing.paths = MakePath(model, VariableOrder::kSpanning, 2);
  const std::vector<RoutedCut> cuts = DistinctCuts(model.labels());
  const std::vector<ReorderedKernel> kernels = ReorderKernels(model, routing.paths);
  TilePairs pairs(kernels, routing.paths, cuts, {});
  const RoutingLayout layout(routing, cuts);
  Matrix<float> v(cuts.size(), pairs.size());
  for (std::size_t n = 0; n < v.size(); ++n)
    v.data()[n] = static_cast<float>(random.Real(-2.0, 2.0));
  struct Sums {
    double weight = 0.0;
    double left = 0.0;
    Matrix<float> flow;
  };
  const auto sums = [&] {
    Sums result;
    for (std::size_t n = 0; n < pairs.edge_weights().size(); ++n)
      result.weight += pairs.edge_weights().data()[n];
    result.left = pairs.residual_weight();
    pairs.Flow(v, &result.flow);
    return result;
  };
  const auto apart = [](const Matrix<float>& one, const Matrix<float>& other) {
    double difference = 0.0;
    double size = 0.0;
    for (std::size_t n = 0; n < one.size(); ++n) {
      difference += std::abs(one.data()[n] - other.data()[n]);
      size += std::abs(other.data()[n]);
    }
    return difference / size;
  };
  pairs.Route(layout);
  const Sums all = sums();
  const std::size_t num_all = pairs.num_kept();
  EXPECT_FALSE(pairs.UseSample(1e6));
  ASSERT_TRUE(pairs.UseSample(40.0));
  const Sums looked_at = sums();
  EXPECT_GT(apart(looked_at.flow, all.flow), 0.01);
  EXPECT_LT(apart(looked_at.flow, all.flow), 0.4);
  pairs.LookAtAll();
  EXPECT_EQ(apart(sums().flow, all.flow), 0.0);

  pairs.RouteSample(layout, 1e6);
  EXPECT_EQ(pairs.num_kept(), num_all);
  EXPECT_EQ(sums().weight, all.weight);
  EXPECT_EQ(apart(sums().flow, all.flow), 0.0);
  pairs.RouteSample(layout, 40.0);
  const Sums sampled = sums();
  EXPECT_LT(pairs.num_kept(), 2 * num_all / 3);
  EXPECT_NEAR(sampled.weight, all.weight, 0.02 * all.weight);
  EXPECT_NEAR(sampled.left, all.left, 0.02 * all.left);
  EXPECT_LT(apart(sampled.flow, all.flow), 0.4);

  // Squares that there is no time for are left out, also those of an earlier routing.
  pairs.Route(layout, {}, [] { return true; });
  EXPECT_GT(pairs.num_kept(), 0U);
  EXPECT_LT(pairs.num_kept(), num_all / 2);
  EXPECT_LT(sums().left, 0.5 * all.left);
  pairs.Route(layout);
  EXPECT_EQ(apart(sums().flow, all.flow), 0.0);
}

TEST(RoutedSolverTest, RefusesWhatItsMemoryHasNoRoomFor) {
  RandomModels random(29);
  const DenseCrf model = WeakModel(&random, 400, PottsLabels(2), 8.0);
  RoutedOptions options;
  EXPECT_NO_THROW(SolveRouted(model, options));
  options.max_bytes = 1000;
  EXPECT_THROW(SolveRouted(model, options), TooLarge);
}

TEST(SpanningPathTest, MeetsEveryVariableOnceAndNeighboursAreNear) {
  RandomModels random(28);
  const DenseCrf model = WeakModel(&random, 400, PottsLabels(2), 8.0);
  const RoutedPaths path = MakePath(model, VariableOrder::kSpanning, 2);
  EXPECT_NO_THROW(CheckPaths(path, 400));
  const GaussianKernel& kernel = model.kernels().front();
  int across = 0;
  for (std::size_t p = 0; p + 1 < 400; ++p)
    across += SquaredDistance(kernel, path.order[p], path.order[p + 1]) > 1.0 ? 1 : 0;
  EXPECT_EQ(across, 1);  // from one cluster to the other
  EXPECT_EQ(DefaultBandwidth(2), 3);
  EXPECT_EQ(DefaultBandwidth(21), 1);
}

// From every point to the nearest one that is left.
double GreedyLength(const GaussianKernel& kernel) {
  std::vector<std::size_t> left(kernel.size() - 1);
  std::iota(left.begin(), left.end(), std::size_t{1});
  double length = 0.0;
  for (std::size_t at = 0; !left.empty();) {
    const auto next = std::min_element(left.begin(), left.end(), [&](std::size_t a, std::size_t b) {
      return SquaredDistance(kernel, at, a) < SquaredDistance(kernel, at, b);
    });
    length += std::sqrt(SquaredDistance(kernel, at, *next));
    at = *next;
    left.erase(next);
  }
  return length;
}

TEST(SpanningPathTest, MeetsEveryVariableOnceAndIsShorterThanGreedySteps) {
  RandomModels random(31);
  for (const int n : {1, 2, 3, 17, 400}) {
    const DenseCrf model = WeakModel(&random, n, PottsLabels(2), 8.0);
    const GaussianKernel& kernel = model.kernels().front();
    const RoutedPaths path = MakePath(model, VariableOrder::kSpanning, 1);
    EXPECT_NO_THROW(CheckPaths(path, static_cast<std::size_t>(n)));
    double length = 0.0;
    for (std::size_t p = 0; p + 1 < path.order.size(); ++p)
      length += std::sqrt(SquaredDistance(kernel, path.order[p], path.order[p + 1]));
    if (n == 400) {
      EXPECT_LT(length, GreedyLength(kernel));
    }
  }
}

// Squared distances are beyond the range of float.
TEST(SpanningPathTest, MeetsVariablesInfinitelyFarApartOnce) {
  GaussianKernel kernel{"far", Matrix<double>(20, 1), 1.0};
  for (std::size_t a = 0; a < 20; ++a)
    kernel.features(a, 0) = 1e30 * (static_cast<double>(a * 7 % 20) - 10.0);
  const DenseCrf model(Matrix<float>(20, 2, 0.0F), {kernel}, PottsLabels(2));
  for (const VariableOrder order :
       {VariableOrder::kSpanning, VariableOrder::kRows, VariableOrder::kBlocks})
    EXPECT_NO_THROW(CheckPaths(MakePath(model, order, 1), 20));
}

// All at the same place, where every distance is a tie.
TEST(SpanningPathTest, MeetsEqualVariablesOnce) {
  const GaussianKernel kernel{"equal", Matrix<double>(50, 2, 0.5), 1.0};
  const DenseCrf model(Matrix<float>(50, 2, 0.0F), {kernel}, PottsLabels(2));
  EXPECT_NO_THROW(CheckPaths(MakePath(model, VariableOrder::kSpanning, 1), 50));
  EXPECT_NO_THROW(CheckPaths(MakePath(model, VariableOrder::kBlocks, 1), 50));
}

TEST(BlockPathTest, BlocksAreCompact) {
  RandomModels random(34);
  const DenseCrf model = Areas(&random, 50, 41, PottsLabels(2));  // the last block is short
  const auto radius = [&](VariableOrder order) {
    const RoutedPaths paths = MakePath(model, order, 1);
    CheckPaths(paths, 50 * 41);
    const std::vector<float> of_blocks = ReorderKernels(model, paths)[1].radius;
    double sum = 0.0;
    for (const float of_block : of_blocks) sum += of_block;
    return sum / static_cast<double>(of_blocks.size());
  };
  EXPECT_LT(radius(VariableOrder::kBlocks), 0.6 * radius(VariableOrder::kSpanning));
  EXPECT_LT(radius(VariableOrder::kBlocks), 0.6 * radius(VariableOrder::kRows));
}

TEST(RowPathTest, RowsOfAPictureGoToAndFro) {
  const Matrix<float> unary(12, 2, 0.0F);
  const DenseCrf picture(unary, {PositionKernel(4, 3, 1.5, 1.5, 1.0)}, PottsLabels(2));
  EXPECT_EQ(MakePath(picture, VariableOrder::kRows, 1).order,
            (std::vector<std::uint32_t>{0, 1, 2, 3, 7, 6, 5, 4, 8, 9, 10, 11}));
  EXPECT_TRUE(HasRows(picture));
  const DenseCrf column(unary, {PositionKernel(1, 12, 1.5, 1.5, 1.0)}, PottsLabels(2));
  EXPECT_EQ(MakePath(column, VariableOrder::kRows, 1).order,
            (std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

}  // namespace
}  // namespace submarine::internal
