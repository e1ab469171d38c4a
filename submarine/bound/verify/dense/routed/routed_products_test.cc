// Squares that products bound from below. Log Z of this number of variables cannot be enumerated; what makes the bound one is that
// the energy of edges and flows is nowhere above the model's, and that is looked for by descent.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/routed/routed_pairs_internal.h"
#include "submarine/bound/verify/dense/routed/routed_products_internal.h"
#include "submarine/bound/verify/dense/routed/routed_verifier.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

constexpr std::size_t kSide = kRoutingBlock;

// Blocks of near variables, some less compact than others, and a kernel or two.
DenseCrf BlockModel(RandomModels* random, std::size_t variables, int labels) {
  std::vector<GaussianKernel> kernels;
  const int count = random->Integer(1, 2);
  for (int m = 0; m < count; ++m) {
    const auto dimension = static_cast<std::size_t>(random->Integer(1, 4));
    GaussianKernel kernel{"blocks", Matrix<double>(variables, dimension), random->Real(0.1, 1.5)};
    const double apart = m == 0 ? random->Real(0.2, 1.2) : random->Real(0.2, 5.0);
    const double extent = random->Real(0.05, 0.5);
    std::vector<double> centre(dimension);
    bool moves = true;  // or stays where the block before it was
    for (std::size_t a = 0; a < variables; ++a) {
      const bool outlier = random->Integer(0, 150) == 0;
      if (a % kSide == 0 && a > 0) moves = random->Integer(0, 1) == 0;
      for (std::size_t d = 0; d < dimension; ++d) {
        if (a % kSide == 0 && moves) centre[d] = apart * random->Real(-1.0, 1.0);
        kernel.features(a, d) = centre[d] + (outlier ? 3.0 : extent) * random->Real(-1.0, 1.0);
      }
      if (m == 1)
        kernel.scale.push_back(random->Integer(0, 20) == 0 ? 0.0 : random->Real(0.2, 1.5));
    }
    kernels.push_back(std::move(kernel));
  }
  return {Matrix<float>(variables, static_cast<std::size_t>(labels)), std::move(kernels),
          random->Labels(labels),
          random->Integer(0, 1) == 0 ? PairCounting::kOrdered : PairCounting::kOnce};
}

RoutedProof BlockProof(RandomModels* random, const DenseCrf& model) {
  const std::size_t n = model.num_variables();
  const auto cuts = static_cast<std::size_t>(model.num_cuts());
  RoutedProof proof;
  Routing& routing = proof.routing;
  routing.paths.bandwidth = random->Integer(1, 4);
  routing.paths.order.resize(n);
  std::iota(routing.paths.order.begin(), routing.paths.order.end(), 0U);
  for (std::size_t p = 0; p < n; ++p) {
    if (p == 0 || random->Integer(0, 60) == 0)
      routing.paths.begin.push_back(static_cast<std::uint32_t>(p));
  }
  routing.share = random->Integer(0, 2) == 0 ? random->Real(0.0, 1.0) : 1.0;
  routing.product_limit = random->Integer(0, 2) == 0 ? random->Real(0.0, 1.0) : 1.0;
  routing.by_square = random->Integer(0, 1) == 0;
  if (routing.by_square && random->Integer(0, 1) == 0) routing.product_limit = 0.0;
  routing.product_cutoff = random->Integer(0, 2) == 0 ? 0.3 : 1e-6;
  if (random->Integer(0, 2) != 0) {
    // Blocks differ more than their variables.
    routing.z = Matrix<float>(n, cuts);
    std::vector<double> mean(cuts);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t c = 0; c < cuts; ++c) {
        if (a % kSide == 0) mean[c] = random->Real(0.0, 1.0);
        routing.z(a, c) = static_cast<float>(mean[c] + random->Real(-0.2, 0.2));
      }
    }
    // Edges of some blocks are routed everywhere, those of others nowhere.
    routing.threshold = Matrix<float>(n, static_cast<std::size_t>(routing.paths.bandwidth));
    double level = 0.0;
    for (std::size_t p = 0; p < n; ++p) {
      if (p % kSide == 0) level = std::max(-1, random->Integer(-1, 2) % 2) * 100.0;
      for (float& limit : routing.threshold.row(p)) {
        limit = random->Integer(0, 40) == 0 ? std::numeric_limits<float>::quiet_NaN()
                                            : static_cast<float>(level + random->Real(0.0, 2.5));
      }
    }
  }
  const int terms = random->Integer(0, 2);
  const double spread = std::pow(10.0, random->Real(-1.0, 1.0));
  for (int t = 0; t < terms; ++t) {
    FlowTerm term;
    term.share = 1.0 / terms;
    term.shape = random->Integer(0, 2) == 0 ? FlowShape::kSign : FlowShape::kClip;
    // Between blocks as much as flows can carry, as a rule.
    term.v = Matrix<float>(n, cuts);
    const double apart = random->Integer(0, 3) == 0 ? 0.0 : 10.0;
    std::vector<double> of_block(cuts);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t c = 0; c < cuts; ++c) {
        if (a % kSide == 0) of_block[c] = random->Integer(-2, 2) * apart;
        term.v(a, c) = static_cast<float>(of_block[c] + random->Real(-spread, spread));
      }
    }
    proof.flows.push_back(std::move(term));
  }
  return proof;
}

// Model's energy less that of edges and flows, by position, and its least value near a labeling.
class Difference {
 public:
  Difference(const DenseCrf& model, const RoutedProof& proof, const RoutedSums& sums)
      : labels_(model.num_labels()),
        distance_(CutDistance(*model.labels().cuts, model.metric().length)),
        of_pair_(model.num_variables(), model.num_variables()),
        of_label_(model.num_variables(), static_cast<std::size_t>(labels_)) {
    const std::vector<std::uint32_t>& order = proof.routing.paths.order;
    const std::vector<std::uint32_t> followers = proof.routing.paths.Followers();
    const std::size_t n = order.size();
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) of_pair_(p, q) = model.PairWeight(order[p], order[q]);
      for (std::size_t m = 1; m <= sums.edge.cols(); ++m) {
        if (m <= followers[p]) {
          of_pair_(p, p + m) -= sums.edge(p, m - 1);
        } else {
          EXPECT_EQ(sums.edge(p, m - 1), 0.0) << "weight where there is no edge";
        }
      }
      const std::vector<std::size_t> active = dense_verifier::ActiveCuts(model);
      for (std::size_t c = 0; c < active.size(); ++c) {
        for (const int i : model.labels().cuts->set(static_cast<int>(active[c])))
          of_label_(p, static_cast<std::size_t>(i)) -=
              model.metric().length[active[c]] * sums.flow(p, c);
      }
      for (std::size_t q = 0; q < p; ++q) of_pair_(p, q) = of_pair_(q, p);
    }
  }

  double LeastNear(std::vector<int> x) const {
    const double here = At(x);
    for (int sweep = 0; sweep < 4; ++sweep) {
      for (std::size_t p = 0; p < x.size(); ++p) {
        double least = std::numeric_limits<double>::infinity();
        for (int i = 0; i < labels_; ++i) {
          const double value = At(p, i, x);
          if (value < least) {
            least = value;
            x[p] = i;
          }
        }
      }
    }
    return std::min(here, At(x));
  }

 private:
  double At(const std::vector<int>& x) const {
    double sum = 0.0;
    for (std::size_t p = 0; p < x.size(); ++p) {
      sum += of_label_(p, static_cast<std::size_t>(x[p]));
      for (std::size_t q = p + 1; q < x.size(); ++q) sum += of_pair_(p, q) * Distance(x[p], x[q]);
    }
    return sum;
  }
  double Distance(int i, int j) const {
    return distance_(static_cast<std::size_t>(i), static_cast<std::size_t>(j));
  }
  double At(std::size_t p, int i, const std::vector<int>& x) const {
    double sum = of_label_(p, static_cast<std::size_t>(i));
    for (std::size_t q = 0; q < x.size(); ++q) {
      if (q != p) sum += of_pair_(p, q) * Distance(i, x[q]);
    }
    return sum;
  }

  int labels_;
  Matrix<double> distance_;
  Matrix<double> of_pair_;
  Matrix<double> of_label_;
};

TEST(RoutedProductsTest, EnergyOfEdgesAndFlowsIsNowhereAboveTheModels) {
  RandomModels random(51);
  int with_whole_squares = 0;
  for (int round = 0; round < 200; ++round) {
    const int labels = random.Integer(0, 5) == 0 ? 9 : random.Integer(2, 4);
    const auto n = static_cast<std::size_t>(random.Integer(80, 170));
    const DenseCrf model = BlockModel(&random, n, labels);
    const RoutedProof proof = BlockProof(&random, model);
    PairOptions options;
    options.cutoff = random.Integer(0, 1) == 0 ? 0.0 : 0.3;
    const dense_verifier::Progress progress(options, 1);
    const RoutedSums sums = SumRoutedPairs(model, proof, {}, options, progress);
    RoutedProof without = proof;
    without.routing.product_limit = 0.0;
    without.routing.by_square = false;
    const RoutedSums of_pairs = SumRoutedPairs(model, without, {}, options, progress);
    double edges = 0.0;
    double edges_of_pairs = 0.0;
    for (std::size_t k = 0; k < sums.edge.size(); ++k) {
      edges += sums.edge.data()[k];
      edges_of_pairs += of_pairs.edge.data()[k];
    }
    if (edges != edges_of_pairs) ++with_whole_squares;
    const Difference difference(model, proof, sums);
    const double tolerance = 1e-9 * (1.0 + sums.weight);
    for (int start = 0; start < 24; ++start) {
      // One label for all; one for every block; two in turn within some blocks, which all their edges pay for.
      std::vector<int> x(n, random.Integer(0, labels - 1));
      int first = 0;
      int second = 0;
      for (std::size_t p = 0; p < n && start > 0; ++p) {
        if (p % kSide == 0) {
          first = random.Integer(0, labels - 1);
          second = start > 3 && random.Integer(0, 1) == 0 ? random.Integer(0, labels - 1) : first;
        }
        x[p] = p % 2 == 0 ? first : second;
      }
      const double least = difference.LeastNear(std::move(x));
      ASSERT_GE(least, -tolerance) << round;
    }
  }
  EXPECT_GT(with_whole_squares, 100);
}

// An edge between two blocks of a model whose variables are all in the same place, and flows that carry all they can
// towards one of its ends.
class CrossingEdge {
 public:
  static constexpr std::size_t kFirst = kSide - 1;
  static constexpr std::size_t kVariables = 4 * kSide;

  // `length` of either cut between the two labels.
  static DenseCrf Model(double length) {
    GaussianKernel kernel{"same place", Matrix<double>(kVariables, 1), 1.0};
    for (std::size_t a = 0; a < kVariables; ++a)
      kernel.features(a, 0) = 1e-6 * static_cast<double>(a % 7);
    LabelSpace labels = PottsLabels(2);
    for (double& of_cut : labels.metrics.front().length) of_cut = length;
    return {Matrix<float>(kVariables, 2), {kernel}, std::move(labels)};
  }

  CrossingEdge(RandomModels* random, int round, double threshold)
      : flipped_(round % 2 == 0 ? kFirst : kFirst + 1) {
    Routing& routing = proof_.routing;
    routing.paths.order.resize(kVariables);
    std::iota(routing.paths.order.begin(), routing.paths.order.end(), 0U);
    routing.paths.begin = {0};
    routing.by_square = round % 3 != 0;
    routing.product_limit = round % 3 == 1 ? 0.0 : 1.0;
    routing.z = Matrix<float>(kVariables, 2);
    for (std::size_t k = 0; k < routing.z.size(); ++k)
      routing.z.data()[k] = static_cast<float>(random->Real(0.0, 1.0));
    routing.threshold = Matrix<float>(kVariables, 1, -1.0F);
    routing.threshold(kFirst, 0) = static_cast<float>(threshold);
    FlowTerm term;
    term.v = Matrix<float>(kVariables, 2);
    const float sign = round % 4 < 2 ? 1.0F : -1.0F;
    for (std::size_t a = 0; a < kVariables; ++a) {
      const float v = a == flipped_ ? 40.0F : a / kSide == flipped_ / kSide ? 10.0F : 0.0F;
      term.v(a, 0) = sign * v;
      term.v(a, 1) = -sign * v;
    }
    proof_.flows.push_back(term);
  }

  // The weight of the edge; what it gains is paid for by the pairs of both ends. Edges and flows are in units of the
  // labels' distance: those of a model hold for any other lengths.
  double CheckIsPaidFor(const DenseCrf& routed, const DenseCrf& model) const {
    const PairOptions options{.cutoff = 0.0};
    const dense_verifier::Progress progress(options, 1);
    const RoutedSums sums = SumRoutedPairs(routed, proof_, {}, options, progress);
    const Difference difference(model, proof_, sums);
    for (const int label : {0, 1}) {
      std::vector<int> x(kVariables, 1 - label);
      x[flipped_] = label;
      EXPECT_GE(difference.LeastNear(std::move(x)), -1e-9 * (1.0 + sums.weight));
    }
    return sums.edge(kFirst, 0);
  }

 private:
  std::size_t flipped_;
  RoutedProof proof_;
};

// The two ends of an edge between two blocks have pairs in two squares. Whatever z they have: where the edge gains, both pay,
// which shows where only one variable has another label, and flows carry all that is left towards it.
TEST(RoutedProductsTest, EdgesBetweenBlocksArePaidForInBothSquares) {
  const DenseCrf model = CrossingEdge::Model(0.5);
  RandomModels random(55);
  int gaining = 0;
  for (int round = 0; round < 200 && !HasFailure(); ++round) {
    const CrossingEdge edge(&random, round, random.Real(0.0, 3.0));
    if (edge.CheckIsPaidFor(model, model) > 2.0 * model.PairWeight(0, 2)) ++gaining;
  }
  EXPECT_GT(gaining, 20);
  EXPECT_LT(gaining, 180);
}

// Labels so far apart that the distance of two variables overflows where that to the mean of a block does not.
TEST(RoutedProductsTest, EdgesBetweenBlocksArePaidForWhereDistancesOverflow) {
  const DenseCrf far = CrossingEdge::Model(0.9e308);
  const DenseCrf model = CrossingEdge::Model(0.5);
  RandomModels random(56);
  for (int round = 0; round < 50 && !HasFailure(); ++round) {
    const CrossingEdge edge(&random, round, std::numeric_limits<double>::infinity());
    EXPECT_GT(edge.CheckIsPaidFor(far, model), 10.0 * model.PairWeight(0, 2));
  }
}

TEST(RoutedProductsTest, BoundsTakeLittleMoreThanThoseOfAllPairs) {
  RandomModels random(52);
  double of_products = 0.0;
  double of_pairs = 0.0;
  for (int round = 0; round < 20; ++round) {
    const std::size_t n = 200;
    GaussianKernel kernel{"wide", Matrix<double>(n, 2), 4.0 / static_cast<double>(n)};
    for (std::size_t a = 0; a < n; ++a) {
      kernel.features(a, 0) = static_cast<double>(a / kSide % 3) * 0.8 + random.Real(-0.25, 0.25);
      kernel.features(a, 1) = random.Real(-0.25, 0.25);
    }
    Matrix<float> unary(n, 2);
    for (std::size_t a = 0; a < n; ++a) unary(a, 0) = static_cast<float>(random.Real(-0.3, 0.3));
    const DenseCrf model(std::move(unary), {kernel}, PottsLabels(2));
    RoutedProof proof;
    proof.routing.paths.order.resize(n);
    std::iota(proof.routing.paths.order.begin(), proof.routing.paths.order.end(), 0U);
    proof.routing.paths.begin = {0};
    proof.routing.product_cutoff = 1e-6;
    const double pairs = VerifiedRoutedUpper(model, proof, {.cutoff = 0.0});
    proof.routing.product_limit = 1.0;
    const double products = VerifiedRoutedUpper(model, proof, {.cutoff = 0.0});
    // Without flows, and all pairs routed, products can only be looser.
    ASSERT_GE(products, pairs - 1e-9 * std::abs(pairs));
    of_pairs += pairs;
    of_products += products;
  }
  EXPECT_NE(of_products, of_pairs);
  EXPECT_NEAR(of_products, of_pairs, 0.02 * std::abs(of_pairs));
}

TEST(RoutedProductsTest, DualValuesAreBelowTheirBounds) {
  RandomModels random(53);
  for (int round = 0; round < 20; ++round) {
    const int labels = random.Integer(2, 3);
    const DenseCrf model = BlockModel(&random, 150, labels);
    RoutedProof proof = BlockProof(&random, model);
    proof.routing.paths.bandwidth = 1;
    if (!proof.routing.everywhere())
      proof.routing.threshold = Matrix<float>(150, 1, static_cast<float>(random.Real(0.0, 2.0)));
    proof.dual_point.costs = Matrix<float>(150, static_cast<std::size_t>(labels));
    for (std::size_t k = 0; k < proof.dual_point.costs.size(); ++k)
      proof.dual_point.costs.data()[k] = static_cast<float>(random.Real(-1.0, 1.0));
    proof.dual_point.edge_weights =
        Matrix<float>(150, 1, static_cast<float>(random.Real(0.0, 2.0)));
    const RoutedBounds bounds = VerifiedRoutedBounds(model, proof, {.cutoff = 0.0});
    ASSERT_TRUE(bounds.dual.has_value());
    ASSERT_LE(bounds.dual->value(), bounds.upper.value());
  }
}

// Edge by edge, no more than the exact kernels of both ends have in common, by sums in long double.
TEST(RoutedProductsTest, GainsAreAtMostWhatBothEndsHaveInCommon) {
  RandomModels random(56);
  for (int round = 0; round < 400; ++round) {
    const std::size_t n = 4 * kSide;
    const auto dimension = static_cast<std::size_t>(random.Integer(1, 3));
    GaussianKernel kernel{"blocks", Matrix<double>(n, dimension),
                          std::pow(10.0, random.Real(-9.0, 9.0))};
    // Some far from the origin; some with all mass of a block at one place, which is as far from either end of an edge.
    const double origin = random.Integer(0, 2) == 0 ? 1e6 : 0.0;
    const bool cancels = random.Integer(0, 1) == 0;
    const double u = random.Real(0.5, 2.0);
    for (std::size_t a = 0; a < n; ++a) {
      const std::size_t block = a / kSide;
      double scale = 1.0;
      for (std::size_t d = 0; d < dimension; ++d) {
        double f = (block == 0 ? 0.0 : 2.0 * u) + random.Real(-0.3, 0.3);
        if (block == 3) f = u + random.Real(-0.3, 0.3);
        if (cancels && d == 0) {
          if (block == 0) f = a == kSide - 1 ? 0.0 : a % 2 == 0 ? 0.05 : -0.05;
          if (a == kSide) f = 2.0 * u;
          if (block == 3) f = u + 5e-8 * random.Real(-1.0, 1.0);
          if (a == n - 1) f = u + random.Real(0.5, 3.0);
        } else if (cancels) {
          f = 0.0;
        }
        kernel.features(a, d) = origin + f;
      }
      if (cancels && (a == n - 1 || a + 1 < kSide)) scale = 0.0;
      kernel.scale.push_back(scale);
    }
    const DenseCrf model(Matrix<float>(n, 2), {kernel}, PottsLabels(2), PairCounting::kOnce);
    RoutedProof proof;
    proof.routing.paths.order.resize(n);
    std::iota(proof.routing.paths.order.begin(), proof.routing.paths.order.end(), 0U);
    proof.routing.paths.begin = {0};
    proof.routing.product_limit = 1.0;
    proof.routing.product_cutoff = 1e-12;
    const PairOptions options{.cutoff = 0.999999};  // nothing but products and neighbours
    const dense_verifier::Progress progress(options, 1);
    const RoutedSums sums = SumRoutedPairs(model, proof, {}, options, progress);
    const auto weight = [&](std::size_t a, std::size_t b) -> long double {
      long double squared = 0.0L;
      for (std::size_t d = 0; d < dimension; ++d) {
        const long double apart =
            static_cast<long double>(kernel.features(a, d)) - kernel.features(b, d);
        squared += apart * apart;
      }
      return kernel.weight * kernel.scale[a] * kernel.scale[b] * std::exp(-0.5L * squared);
    };
    for (std::size_t a = 0; a + 1 < n; ++a) {
      // What is left of the edge's own pair is part of its weight.
      long double most = weight(a, a + 1);
      for (std::size_t h = 0; h < n; ++h) {
        if (h != a && h != a + 1) most += 0.25L * std::min(weight(a, h), weight(a + 1, h));
      }
      ASSERT_LE(sums.edge(a, 0), static_cast<double>(most) + sums.error * dense_verifier::kUlp)
          << round << " edge " << a;
    }
  }
}

// The centre between two numbers may be none: x.y is then larger than half the extents say.
TEST(RoutedProductsTest, RoundedCentresDoNotHideFarVariables) {
  const double far = std::ldexp(1.0, 52);
  const std::size_t n = 3 * kSide;
  GaussianKernel kernel{"far", Matrix<double>(n, 3), 1.0};
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t d = 0; d < 3; ++d)
      kernel.features(a, d) =
          far + static_cast<double>((a >> d) % 2) + (a / kSide == 2 ? 1.0 : 0.0);
  }
  for (std::size_t a = 0; a < n; ++a)
    kernel.scale.push_back(0.5 + static_cast<double>(a * 7 % 11) / 11.0);
  const DenseCrf model(Matrix<float>(n, 2), {kernel}, PottsLabels(2), PairCounting::kOnce);
  RoutedProof proof;
  proof.routing.paths.order.resize(n);
  std::iota(proof.routing.paths.order.begin(), proof.routing.paths.order.end(), 0U);
  proof.routing.paths.begin = {0};
  proof.routing.share = 0.0;
  proof.routing.product_limit = 1.0;
  FlowTerm term;
  term.v = Matrix<float>(n, 2);
  for (std::size_t a = 0; a < n; ++a) {
    term.v(a, 0) = a / kSide == 2 ? -10.0F : 10.0F;
    term.v(a, 1) = -term.v(a, 0);
  }
  proof.flows.push_back(term);
  const PairOptions options{.cutoff = 0.0};
  const dense_verifier::Progress progress(options, 1);
  const Difference difference(model, proof, SumRoutedPairs(model, proof, {}, options, progress));
  for (const int label : {0, 1}) EXPECT_GE(difference.LeastNear(std::vector<int>(n, label)), -1e-9);
}

TEST(RoutedProductsTest, RefusesInvalidLimits) {
  RandomModels random(54);
  const DenseCrf model = BlockModel(&random, 100, 2);
  RoutedProof proof = BlockProof(&random, model);
  for (const double limit : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    proof.routing.product_limit = limit;
    EXPECT_THROW(VerifiedRoutedUpper(model, proof, {.cutoff = 0.0}), InvalidInput);
  }
  proof.routing.product_limit = 1.0;
  for (const double cutoff : {-1.0, 0.0, 1e-320, 1.5}) {
    proof.routing.product_cutoff = cutoff;
    EXPECT_THROW(VerifiedRoutedUpper(model, proof, {.cutoff = 0.0}), InvalidInput);
  }
}

}  // namespace
}  // namespace submarine::internal
