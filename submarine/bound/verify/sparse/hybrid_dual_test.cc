#include "submarine/bound/verify/sparse/hybrid_dual.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::NextLabeling;
using testing::RandomModels;

const std::vector<std::size_t> kForest = {0, 1, 2};

// A path 0 - 1 - 2 - 3 and two edges more.
SparseCrf Loopy(double size, double weight, RandomModels* random) {
  std::vector<Edge> edges = {{0, 1, 1.5}, {2, 1, 0.5}, {2, 3, 2.0}, {3, 0, 0.75}, {1, 3, 1.25}};
  for (Edge& e : edges) e.weight *= size * weight;
  Matrix<double> unary = random->Points(4, 3, -3.0 * size, 3.0 * size);
  return {unary, edges, random->Labels(3), 0.5 * size};
}

// D(P) for P proportional to exp(-(costs + E_forest) / T), over all labelings.
long double DualByDefinition(const SparseCrf& model, const Matrix<double>& costs, double T) {
  std::vector<int> x(4, 0);
  std::vector<std::vector<int>> labelings;
  std::vector<long double> minus;
  std::vector<long double> forest_energy;
  do {
    long double energy = 0.0L;
    for (std::size_t e : kForest) {
      const Edge& edge = model.edges()[e];
      energy +=
          static_cast<long double>(edge.weight) * model.metric(edge).distance(x[edge.a], x[edge.b]);
    }
    forest_energy.push_back(energy);
    for (std::size_t a = 0; a < 4; ++a) energy += costs(a, x[a]);
    minus.push_back(-energy);
    labelings.push_back(x);
  } while (NextLabeling(&x, model.num_labels()));
  const long double largest = *std::max_element(minus.begin(), minus.end());
  long double sum = 0.0L;
  for (long double v : minus) sum += std::exp((v - largest) / T);
  Matrix<long double> y(4, model.unary().cols(), 0.0L);
  long double value = -model.constant();
  for (std::size_t k = 0; k < labelings.size(); ++k) {
    const long double p = std::exp((minus[k] - largest) / T) / sum;
    value -= p * forest_energy[k];
    if (p > 0.0L) value -= T * p * std::log(p);
    for (std::size_t a = 0; a < 4; ++a) {
      y(a, labelings[k][a]) += p;
      value -= p * model.unary()(a, labelings[k][a]);
    }
  }
  for (std::size_t e = kForest.size(); e < model.num_edges(); ++e) {
    const Edge& edge = model.edges()[e];
    for (int c = 0; c < model.num_cuts(); ++c) {
      long double difference = 0.0L;
      for (int i : model.labels().cuts->set(c)) difference += y(edge.a, i) - y(edge.b, i);
      value -= edge.weight * model.metric(edge).length[c] * std::abs(difference);
    }
  }
  return value;
}

TEST(HybridDualTest, FollowsTheDefinitionFromBelow) {
  RandomModels random(1);
  for (double size : {1e-12, 1.0, 1e12}) {
    for (double T : {1e-12, 0.5, 1.0, 1e12}) {
      for (int trial = 0; trial < 20; ++trial) {
        SCOPED_TRACE(::testing::Message() << "size " << size << ", T " << T);
        // Weak enough for the forest's distribution to be better than constant labels.
        const SparseCrf model = Loopy(size, 0.1, &random);
        Matrix<double> costs = model.unary();
        for (std::size_t n = 0; n < costs.size(); ++n)
          costs.data()[n] += size * random.Real(-0.2, 0.2);
        const long double expected = DualByDefinition(model, costs, T);
        const double dual = VerifiedHybridDual(model, kForest, costs, T);
        EXPECT_GE(dual, expected - 1e-11L * (size + T));
        // Where constant labels are worse, the value is that of the costs.
        const Matrix<double> flow(model.num_edges(), model.num_cuts());
        EXPECT_LE(dual, VerifiedHybridUpper(model, kForest, flow, T));
        if (size == 1.0 && T == 1.0) {
          EXPECT_LE(dual, expected);
        }
      }
    }
  }
}

// On a forest without other edges the bound is log Z, and so is its dual.
TEST(HybridDualTest, IsTightOnATree) {
  RandomModels random(2);
  for (double T : {0.0, 1e-12, 0.3, 1.0, 7.0, 1e12}) {
    for (int trial = 0; trial < 30; ++trial) {
      const SparseCrf loopy = Loopy(1.0, 1.0, &random);
      const SparseCrf tree(loopy.unary(), {loopy.edges().begin(), loopy.edges().begin() + 3},
                           loopy.labels(), loopy.constant());
      const double upper =
          VerifiedHybridUpper(tree, kForest, Matrix<double>(3, tree.num_cuts()), T);
      const double dual = VerifiedHybridDual(tree, kForest, tree.unary(), T);
      EXPECT_LE(dual, upper);
      EXPECT_NEAR(dual, upper, 1e-11 * (10.0 + T)) << "T " << T;
    }
  }
}

// No flow can bring the bound below it, whatever the costs.
TEST(HybridDualTest, IsBelowEveryUpperBound) {
  RandomModels random(3);
  for (int trial = 0; trial < 400; ++trial) {
    const double size = std::pow(10.0, random.Integer(-3, 3));
    const double T = trial % 4 == 0 ? 0.0 : std::pow(10.0, random.Integer(-3, 3));
    const SparseCrf model = Loopy(size, random.Real(0.0, 3.0), &random);
    const Matrix<double> costs = random.Points(4, 3, -5.0 * size, 5.0 * size);
    const double dual = VerifiedHybridDual(model, kForest, costs, T);
    for (int k = 0; k < 5; ++k) {
      const Matrix<double> flow =
          random.Points(model.num_edges(), static_cast<std::size_t>(model.num_cuts()), -1.0, 1.0);
      EXPECT_LE(dual, VerifiedHybridUpper(model, kForest, flow, T));
    }
  }
}

// With infinitely strong edges all variables share a label: log Z -> log sum_i exp(-sum_a phi_a(i)),
// where costs would have to be infinitely exact.
TEST(HybridDualTest, KnowsConstantLabels) {
  RandomModels random(4);
  const SparseCrf model = Loopy(1.0, 1e6, &random);
  double sum = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    double energy = model.constant();
    for (std::size_t a = 0; a < 4; ++a) energy += model.unary()(a, i);
    sum += std::exp(-energy);
  }
  const double dual = VerifiedHybridDual(model, kForest, random.Points(4, 3, -5.0, 5.0), 1.0);
  EXPECT_NEAR(dual, std::log(sum), 1e-11);
  EXPECT_LE(dual, std::log(sum) + 1e-15);
  // Without a forest there are four trees, each with its own choice of the same probabilities.
  const double apart = VerifiedHybridDual(model, {}, model.unary(), 1.0);
  EXPECT_GT(apart, dual);
}

TEST(HybridDualTest, RefusesWhatIsNoEvidence) {
  RandomModels random(5);
  const SparseCrf model = Loopy(1.0, 1.0, &random);
  const auto verify = [&](const std::vector<std::size_t>& forest, const Matrix<double>& costs,
                          double T) {
    return [&model, forest, costs, T] { VerifiedHybridDual(model, forest, costs, T); };
  };
  EXPECT_NO_THROW(verify(kForest, model.unary(), 1.0)());
  ExpectInvalid(verify(kForest, Matrix<double>(4, 2), 1.0), "the node costs are 4 x 2");
  ExpectInvalid(verify(kForest, Matrix<double>(4, 3, std::nan("")), 1.0), "the node cost");
  ExpectInvalid(verify(kForest, model.unary(), -1.0), "the temperature is");
  EXPECT_THROW(verify({0, 1, 2, 3}, model.unary(), 1.0)(), InvalidInput);
  // Costs whose sums overflow give a bad distribution, but a valid one.
  const Matrix<double> zero_flow(model.num_edges(), model.num_cuts());
  EXPECT_LE(VerifiedHybridDual(model, kForest, Matrix<double>(4, 3, 1.7e308), 1.0),
            VerifiedHybridUpper(model, kForest, zero_flow, 1.0));
}

}  // namespace
}  // namespace submarine::internal
