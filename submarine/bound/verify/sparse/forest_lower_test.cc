#include "submarine/bound/verify/sparse/forest_lower.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::NextLabeling;
using testing::RandomModels;

// The trees 0 - 1 - 2 and 3 - 4, and edges between them.
const std::vector<std::size_t> kForest = {0, 1, 2};
SparseCrf TwoTrees(double size, RandomModels* random) {
  std::vector<Edge> edges = {{0, 1, 1.5},  {2, 1, 0.5},  {3, 4, 2.0},
                             {3, 0, 0.75}, {1, 4, 1.25}, {4, 2, 0.25}};
  for (Edge& e : edges) e.weight *= size;
  return {random->Points(5, 3, -2.0 * size, 2.0 * size), edges, random->Labels(3), 0.5 * size};
}

struct Enumerated {
  long double
      free_energy;  // T H(P) - <E>_P, P by enumeration, all edges under the joint distribution
  long double log_partition;
};

Enumerated ByDefinition(const SparseCrf& model, const Matrix<double>& costs, double T) {
  std::vector<int> x(5, 0);
  std::vector<long double> minus_costs;
  std::vector<long double> minus_energy;
  do {
    long double energy = model.constant();
    long double cost = 0.0L;
    for (std::size_t a = 0; a < 5; ++a) {
      energy += model.unary()(a, x[a]);
      cost += costs(a, x[a]);
    }
    for (std::size_t e = 0; e < model.num_edges(); ++e) {
      const Edge& edge = model.edges()[e];
      const long double term =
          static_cast<long double>(edge.weight) * model.metric(edge).distance(x[edge.a], x[edge.b]);
      energy += term;
      if (e < kForest.size()) cost += term;
    }
    minus_costs.push_back(-cost);
    minus_energy.push_back(-energy);
  } while (NextLabeling(&x, 3));
  const auto log_sum = [&](const std::vector<long double>& v) {
    const long double largest = *std::max_element(v.begin(), v.end());
    long double sum = 0.0L;
    for (long double value : v) sum += std::exp((value - largest) / T);
    return largest + T * std::log(sum);
  };
  const long double normalisation = log_sum(minus_costs);
  long double value = 0.0L;
  for (std::size_t k = 0; k < minus_costs.size(); ++k) {
    const long double log_p = (minus_costs[k] - normalisation) / T;
    const long double p = std::exp(log_p);
    if (p > 0.0L) value += p * (minus_energy[k] - T * log_p);
  }
  return {value, log_sum(minus_energy)};
}

TEST(ForestLowerTest, FollowsTheDefinitionFromBelow) {
  RandomModels random(1);
  for (double size : {1e-9, 1.0, 1e9}) {
    for (double T : {1e-9, 0.5, 1.0, 1e9}) {
      for (int trial = 0; trial < 20; ++trial) {
        SCOPED_TRACE(::testing::Message() << "size " << size << ", T " << T);
        const SparseCrf model = TwoTrees(size, &random);
        const Matrix<double> costs = random.Points(5, 3, -2.0 * size, 2.0 * size);
        const Enumerated expected = ByDefinition(model, costs, T);
        const double lower = VerifiedForestLower(model, {kForest, costs}, T);
        EXPECT_NEAR(lower, static_cast<double>(expected.free_energy), 2e-11 * (size + T));
        EXPECT_LE(lower, expected.log_partition);
        if (size == 1.0 && T >= 0.5) {
          EXPECT_LE(lower, expected.free_energy);
        }
      }
    }
  }
}

// At T = 0 the distribution is on labelings of least cost: minus the energy of some.
TEST(ForestLowerTest, IsMinusAnEnergyAtZeroTemperature) {
  RandomModels random(2);
  for (int trial = 0; trial < 50; ++trial) {
    const SparseCrf model = TwoTrees(1.0, &random);
    double least = std::numeric_limits<double>::infinity();
    std::vector<int> x(5, 0);
    do {
      least = std::min(least, model.Energy(x));
    } while (NextLabeling(&x, 3));
    EXPECT_LE(VerifiedForestLower(model, {kForest, model.unary()}, 0.0), -least + 1e-12);
  }
}

TEST(ForestLowerTest, RefusesWhatIsNoEvidence) {
  RandomModels random(3);
  const SparseCrf model = TwoTrees(1.0, &random);
  const auto verify = [&](const std::vector<std::size_t>& forest, const Matrix<double>& costs,
                          double T) {
    return [&model, forest, costs, T] { VerifiedForestLower(model, {forest, costs}, T); };
  };
  EXPECT_NO_THROW(verify(kForest, model.unary(), 1.0)());
  EXPECT_NO_THROW(verify({}, model.unary(), 1.0)());
  ExpectInvalid(verify(kForest, Matrix<double>(4, 2), 1.0), "the node costs are 4 x 2");
  ExpectInvalid(verify(kForest, Matrix<double>(5, 3, std::nan("")), 1.0), "the node cost");
  ExpectInvalid(verify(kForest, model.unary(), -1.0), "the temperature is");
  ExpectInvalid(verify({9}, model.unary(), 1.0), "a forest names edge 9");
  // Joined by edge 3, the trees are one, and edges 4 and 5 are within it.
  ExpectInvalid(verify({0, 1, 2, 3}, model.unary(), 1.0), "edge 4 joins the variables 1 and 4");
  ExpectInvalid(verify({0, 1, 2, 3, 4}, model.unary(), 1.0), "closes a cycle");
}

}  // namespace
}  // namespace submarine::internal
