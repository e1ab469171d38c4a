#include "submarine/bound/verify/sparse/trw_verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::NextLabeling;
using testing::RandomModels;

double LogPartition(const SparseCrf& model, double temperature) {
  std::vector<int> labeling(model.unary().rows(), 0);
  std::vector<double> value;
  do value.push_back(-model.Energy(labeling));
  while (NextLabeling(&labeling, model.num_labels()));
  const double largest = *std::max_element(value.begin(), value.end());
  if (temperature == 0.0) return largest;
  double sum = 0.0;
  for (double v : value) sum += std::exp((v - largest) / temperature);
  return largest + temperature * std::log(sum);
}

// A path 0 - 1 - 2 - 3 and the edge that closes the cycle.
SparseCrf Cycle(RandomModels* random) {
  const std::vector<Edge> edges = {{0, 1, 1.5}, {2, 1, 0.5}, {2, 3, 2.0}, {3, 0, 0.75}};
  return {random->Points(4, 3, -3.0, 3.0), edges, random->Labels(3), 0.5};
}

double Slack(double value) { return 1e-11 * (1.0 + std::abs(value)); }

TEST(TrwVerifier, IsExactAndRoundedUpwardsOnATree) {
  RandomModels random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const SparseCrf cycle = Cycle(&random);
    const SparseCrf path(cycle.unary(), {cycle.edges().begin(), cycle.edges().end() - 1},
                         cycle.labels(), cycle.constant());
    for (double T : {0.0, 0.4, 1.0, 3.0}) {
      const double exact = LogPartition(path, T);
      const double upper = VerifiedTrwUpper(path, {{{1.0, {0, 1, 2}}}, {path.unary()}}, T);
      EXPECT_GE(upper, exact - 1e-15 * std::abs(exact));
      EXPECT_NEAR(upper, exact, Slack(exact));
      EXPECT_NEAR(VerifiedTrwUpper(ToFactorGraph(path), {{{1.0, {0, 1, 2}}}, {path.unary()}}, T),
                  upper, Slack(exact));
    }
  }
}

// sum_f p_f log Z_f by enumeration, for random splits of the unaries.
TEST(TrwVerifier, IsTheMeanOfTheForests) {
  RandomModels random(2);
  for (int trial = 0; trial < 50; ++trial) {
    const SparseCrf model = Cycle(&random);
    const Matrix<double> delta = random.Points(4, 3, -2.0, 2.0);
    const double p = random.Real(0.2, 0.8);
    TrwEvidence evidence{{{p, {0, 1, 2}}, {1.0 - p, {1, 3}}}, {model.unary(), model.unary()}};
    for (std::size_t n = 0; n < delta.size(); ++n) {
      evidence.unary[0].data()[n] += delta.data()[n] * (1.0 - p);
      evidence.unary[1].data()[n] -= delta.data()[n] * p;
    }
    const auto forest = [&](std::size_t f, const std::vector<double>& scale) {
      std::vector<Edge> edges;
      for (std::size_t e : evidence.forests[f].edges) {
        edges.push_back(model.edges()[e]);
        edges.back().weight *= scale[e];
      }
      return LogPartition({evidence.unary[f], edges, model.labels()}, 1.0);
    };
    const std::vector<double> scale = {1.0 / p, 1.0, 1.0 / p, 1.0 / (1.0 - p)};
    const double expected = p * forest(0, scale) + (1.0 - p) * forest(1, scale) - model.constant();
    const double upper = VerifiedTrwUpper(model, evidence, 1.0);
    EXPECT_NEAR(upper, expected, Slack(expected));
    EXPECT_GE(upper, LogPartition(model, 1.0));
  }
}

// Evidence that does not add up to the model proves less, but nothing false.
TEST(TrwVerifier, MakesUpForWhatTheEvidenceMisses) {
  RandomModels random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const SparseCrf model = Cycle(&random);
    const double exact = LogPartition(model, 1.0);
    const TrwEvidence wrong_unaries{
        {{0.5, {0, 1, 2}}, {0.5, {3}}},
        {random.Points(4, 3, -9.0, 9.0), random.Points(4, 3, -9.0, 9.0)}};
    EXPECT_GE(VerifiedTrwUpper(model, wrong_unaries, 1.0), exact);
    const TrwEvidence missing_edge{{{1.0, {0, 2}}}, {model.unary()}};
    EXPECT_GE(VerifiedTrwUpper(model, missing_edge, 1.0), exact);
  }
}

TEST(TrwVerifier, TakesForbiddenPairsAsTheyAre) {
  const double inf = std::numeric_limits<double>::infinity();
  // Two binary variables that must differ, the first of them 0.
  const FactorGraph graph{{2, 2}, {{{0}, {0.25, inf}}, {{0, 1}, {inf, 0.5, 0.5, inf}}}};
  const Matrix<double> zero(2, 2);
  EXPECT_NEAR(VerifiedTrwUpper(graph, {{{1.0, {0}}}, {zero}}, 1.0), std::log(2.0) - 0.5 - 0.25,
              1e-12);
  const FactorGraph impossible{{2, 2}, {{{0, 1}, {inf, inf, inf, inf}}}};
  EXPECT_EQ(VerifiedTrwUpper(impossible, {{{1.0, {0}}}, {zero}}, 1.0), -inf);
}

long double PreciseLogPartition(const SparseCrf& model, double temperature) {
  std::vector<int> x(model.unary().rows(), 0);
  std::vector<long double> value;
  do {
    long double energy = model.constant();
    for (std::size_t a = 0; a < x.size(); ++a) energy += model.unary()(a, x[a]);
    for (const Edge& e : model.edges())
      energy += static_cast<long double>(e.weight) * model.metric(e).distance(x[e.a], x[e.b]);
    value.push_back(-energy);
  } while (NextLabeling(&x, model.num_labels()));
  const long double largest = *std::max_element(value.begin(), value.end());
  if (temperature == 0.0) return largest;
  long double sum = 0.0L;
  for (long double v : value) sum += std::exp((v - largest) / temperature);
  return largest + temperature * std::log(sum);
}

// Energies and temperatures of any size: the bound is rounded up by ulps of its terms.
TEST(TrwVerifier, IsTightAtEveryScale) {
  RandomModels random(6);
  const std::vector<std::size_t> forest = {0, 1, 2};
  for (double size : {1e-290, 1e-12, 1.0, 1e12, 1e290}) {
    for (double T : {0.0, 1e-300, 1e-12, 1.0, 1e12, 1e150, 1e290}) {
      SCOPED_TRACE(::testing::Message() << "energies " << size << ", T " << T);
      Matrix<double> unary = random.Points(4, 3, -3.0, 3.0);
      for (std::size_t n = 0; n < unary.size(); ++n) unary.data()[n] *= size;
      const SparseCrf path(unary, {{0, 1, 1.5 * size}, {2, 1, 0.5 * size}, {2, 3, 2.0 * size}},
                           random.Labels(3), 0.5 * size);
      const long double exact = PreciseLogPartition(path, T);
      const long double slack = 1e-12L * (size + T) + 1e-298L;
      const double trw = VerifiedTrwUpper(path, {{{1.0, forest}}, {path.unary()}}, T);
      EXPECT_GE(trw, exact);
      EXPECT_LE(trw, exact + slack);
      const double tables =
          VerifiedTrwUpper(ToFactorGraph(path), {{{1.0, forest}}, {path.unary()}}, T);
      EXPECT_GE(tables, exact);
      EXPECT_LE(tables, exact + slack);
    }
  }
}

// Divided by a small rho an energy may overflow, and must not forbid anything then.
TEST(TrwVerifier, OverflowProvesNothing) {
  const double inf = std::numeric_limits<double>::infinity();
  const FactorGraph pair{{2, 2}, {{{0, 1}, {1e299, 1e299, 1e299, 1e299}}}};
  const Matrix<double> zero(2, 2);
  const TrwEvidence rare{{{1e-12, {0}}, {1.0 - 1e-12, {}}}, {zero, zero}};
  EXPECT_EQ(VerifiedTrwUpper(pair, rare, 1.0), inf);
  const TrwEvidence never{{{1e-320, {0}}, {1.0, {}}}, {zero, zero}};
  EXPECT_EQ(VerifiedTrwUpper(pair, never, 1.0), inf);
  const FactorGraph huge{{2}, {{{0}, {1e308, 0.0}}, {{0}, {1e308, 0.0}}}};
  EXPECT_THROW(VerifiedTrwUpper(huge, {{{1.0, {}}}, {Matrix<double>(1, 2)}}, 1.0), InvalidInput);
  EXPECT_THROW(VerifiedTrwUpper(pair, {{{1.0, {0}}}, {Matrix<double>(2, 2, 1e308)}}, 1.0),
               InvalidInput);
}

TEST(TrwVerifier, RefusesWhatIsNoEvidence) {
  RandomModels random(5);
  const SparseCrf model = Cycle(&random);
  const TrwEvidence good{{{1.0, {0, 1, 2}}}, {model.unary()}};
  EXPECT_NO_THROW(VerifiedTrwUpper(model, good, 1.0));
  EXPECT_THROW(VerifiedTrwUpper(model, good, -1.0), InvalidInput);
  EXPECT_THROW(VerifiedTrwUpper(model, {good.forests, {}}, 1.0), InvalidInput);
  EXPECT_THROW(VerifiedTrwUpper(model, {good.forests, {Matrix<double>(3, 3)}}, 1.0), InvalidInput);
  EXPECT_THROW(VerifiedTrwUpper(model, {good.forests, {Matrix<double>(4, 2)}}, 1.0), InvalidInput);
  EXPECT_THROW(VerifiedTrwUpper(model, {good.forests, {Matrix<double>(4, 3, NAN)}}, 1.0),
               InvalidInput);
  EXPECT_THROW(VerifiedTrwUpper(model, {{{1.0, {0, 1, 2, 3}}}, good.unary}, 1.0), InvalidInput);
  const FactorGraph triple{{2, 2, 2}, {{{0, 1, 2}, std::vector<double>(8, 0.0)}}};
  EXPECT_THROW(VerifiedTrwUpper(triple, {{{1.0, {}}}, {Matrix<double>(3, 2)}}, 1.0),
               NotExpressible);
}

}  // namespace
}  // namespace submarine::internal
