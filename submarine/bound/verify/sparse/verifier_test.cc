#include "submarine/bound/verify/sparse/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/error_test_util.h"
#include "submarine/base/long_sum_test_util.h"
#include "submarine/extension/set_function_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::LongSum;
using testing::NextLabeling;
using testing::RandomModels;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr ExtensionKind kKinds[] = {ExtensionKind::kOptimal, ExtensionKind::kAlternate};
constexpr double kTemperatures[] = {0.0, 0.3, 1.0, 4.0};

// T log sum exp(x / T), the maximum at T = 0.
long double SoftMaximum(const std::vector<long double>& x, double T) {
  const long double largest = *std::max_element(x.begin(), x.end());
  if (T == 0.0) return largest;
  long double sum = 0.0L;
  for (long double value : x) sum += std::exp((value - largest) / T);
  return largest + T * std::log(sum);
}

// T log Z_T over all labelings.
long double Enumerate(const SparseCrf& model, double T) {
  std::vector<long double> energies;
  std::vector<int> labeling(model.unary().rows(), 0);
  do {
    long double energy = model.constant();
    for (std::size_t a = 0; a < labeling.size(); ++a) energy += model.unary()(a, labeling[a]);
    for (const Edge& e : model.edges()) {
      energy += static_cast<long double>(e.weight) *
                model.metric(e).distance(labeling[e.a], labeling[e.b]);
    }
    energies.push_back(-energy);
  } while (NextLabeling(&labeling, model.num_labels()));
  return SoftMaximum(energies, T);
}

long double LowestUnary(const SparseCrf& model, std::size_t a) {
  const auto phi = model.unary().row(a);
  return std::min(0.0, *std::min_element(phi.begin(), phi.end()));
}

// The bound of a flow, from docs/math.md.
long double UpperByDefinition(const SparseCrf& model, ExtensionKind kind, const Flow& flow,
                              double T) {
  const std::size_t labels = model.unary().cols();
  Matrix<long double> s(model.unary().rows(), labels, 0.0L);
  long double bound = -model.constant();
  for (std::size_t a = 0; a < s.rows(); ++a) {
    for (std::size_t i = 0; i < labels; ++i) {
      if (kind == ExtensionKind::kOptimal) {
        s(a, i) += model.unary()(a, i);
      } else {
        const long double sent = flow.cycle(a, i) * (model.unary()(a, i) - LowestUnary(model, a));
        s(a, i) += sent;
        s(a, (i + 1) % labels) -= sent;
      }
    }
    if (kind == ExtensionKind::kAlternate) bound -= LowestUnary(model, a);
  }
  for (std::size_t k = 0; k < model.num_edges(); ++k) {
    const Edge& e = model.edges()[k];
    for (int c = 0; c < model.num_cuts(); ++c) {
      const long double sent =
          static_cast<long double>(e.weight) * model.metric(e).length[c] * flow.edge(k, c);
      for (int i : model.labels().cuts->set(c)) {
        s(e.a, i) += sent;
        s(e.b, i) -= sent;
      }
    }
  }
  for (std::size_t a = 0; a < s.rows(); ++a) {
    std::vector<long double> costs;
    for (long double value : s.row(a)) costs.push_back(-value);
    bound += SoftMaximum(costs, T);
  }
  return bound;
}

Flow RandomFlow(const SparseExtension& extension, RandomModels* random) {
  Flow flow = extension.NeutralFlow();
  for (std::size_t k = 0; k < flow.edge.size(); ++k) flow.edge.data()[k] = random->Real(-1, 1);
  for (std::size_t k = 0; k < flow.cycle.size(); ++k) flow.cycle.data()[k] = random->Real(0, 1);
  return flow;
}

// Rows that are distributions up to a factor, with zeros among them.
Matrix<double> RandomMarginals(const SparseCrf& model, RandomModels* random) {
  Matrix<double> y = random->Points(model.unary().rows(), model.unary().cols(), -0.2, 1.0);
  for (std::size_t a = 0; a < y.rows(); ++a) {
    for (double& p : y.row(a)) p = std::max(0.0, p);
    y(a, a % y.cols()) += 0.1;
  }
  return y;
}

Matrix<double> Normalised(Matrix<double> y) {
  for (std::size_t a = 0; a < y.rows(); ++a) {
    double sum = 0.0;
    for (double p : y.row(a)) sum += p;
    for (double& p : y.row(a)) p /= sum;
  }
  return y;
}

double Entropy(const Matrix<double>& y) {
  double entropy = 0.0;
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (y.data()[k] > 0.0) entropy -= y.data()[k] * std::log(y.data()[k]);
  }
  return entropy;
}

TEST(VerifierTest, UpperFollowsTheDefinition) {
  RandomModels random(1);
  for (int trial = 0; trial < 100; ++trial) {
    const SparseCrf model = random.Model(random.Integer(1, 8), random.Integer(2, 6));
    for (ExtensionKind kind : kKinds) {
      const Flow flow = RandomFlow(SparseExtension(model, kind), &random);
      for (double T : kTemperatures) {
        const long double expected = UpperByDefinition(model, kind, flow, T);
        const long double upper = VerifiedUpper(model, kind, flow, T);
        EXPECT_GE(upper, expected) << "not rounded to the safe side";
        EXPECT_LE(upper, expected + 1e-11L * (1.0L + std::abs(expected)));
      }
    }
  }
}

TEST(VerifierTest, DualFollowsTheDefinition) {
  RandomModels random(2);
  for (int trial = 0; trial < 100; ++trial) {
    const SparseCrf model = random.Model(random.Integer(1, 5), random.Integer(2, 4));
    const Matrix<double> marginals = RandomMarginals(model, &random);
    const Matrix<double> y = Normalised(marginals);
    std::vector<double> z;
    for (std::size_t a = 0; a < y.rows(); ++a) {
      for (int c = 0; c < model.num_cuts(); ++c) {
        z.push_back(0.0);
        for (int i : model.labels().cuts->set(c)) z.back() += y(a, i);
      }
    }
    for (ExtensionKind kind : kKinds) {
      const SparseExtension extension(model, kind);
      const double lovasz =
          LovaszValue([&](std::span<const char> in_set) { return extension.Value(in_set); }, z);
      for (double T : kTemperatures) {
        const double expected = T * Entropy(y) - lovasz - extension.offset();
        EXPECT_NEAR(VerifiedDual(model, kind, marginals, T), expected,
                    1e-11 * (1.0 + std::abs(lovasz)));
      }
    }
  }
}

TEST(VerifierTest, LowerIsEntropyMinusExpectedEnergy) {
  RandomModels random(3);
  for (int trial = 0; trial < 60; ++trial) {
    const SparseCrf model = random.Model(random.Integer(1, 5), random.Integer(2, 4));
    const Matrix<double> marginals = RandomMarginals(model, &random);
    const Matrix<double> y = Normalised(marginals);
    double expected_energy = 0.0;
    std::vector<int> labeling(y.rows(), 0);
    do {
      double probability = 1.0;
      for (std::size_t a = 0; a < y.rows(); ++a) probability *= y(a, labeling[a]);
      expected_energy += probability * model.Energy(labeling);
    } while (NextLabeling(&labeling, model.num_labels()));
    for (double T : kTemperatures) {
      EXPECT_NEAR(VerifiedLower(model, marginals, T), T * Entropy(y) - expected_energy,
                  1e-11 * (1.0 + std::abs(expected_energy)));
    }
  }
}

// No tolerance anywhere: the verifier rounds to the safe side.
TEST(VerifierTest, BracketsTheExactValue) {
  RandomModels random(4);
  for (int trial = 0; trial < 400; ++trial) {
    const SparseCrf model = random.Model(random.Integer(1, 5), random.Integer(2, 4));
    const double T = kTemperatures[trial % 4];
    SCOPED_TRACE(::testing::Message() << model.Description() << ", T = " << T);
    const long double exact = Enumerate(model, T);
    const Matrix<double> y = RandomMarginals(model, &random);
    EXPECT_LE(VerifiedLower(model, y, T), exact);
    for (ExtensionKind kind : kKinds) {
      const double upper =
          VerifiedUpper(model, kind, RandomFlow(SparseExtension(model, kind), &random), T);
      EXPECT_GE(upper, exact);
      EXPECT_LE(VerifiedDual(model, kind, y, T), upper) << "weak duality";
    }
    EXPECT_LE(VerifiedLower(model, y, T), VerifiedDual(model, ExtensionKind::kOptimal, y, T) + 1e-9)
        << "the product distribution separates at least as often as the Lovasz extension counts";
  }
}

TEST(VerifierTest, UnariesProveWhatFlowZeroProves) {
  RandomModels random(41);
  for (int trial = 0; trial < 200; ++trial) {
    const SparseCrf model = random.Model(random.Integer(1, 5), random.Integer(2, 4));
    const double T = kTemperatures[trial % 4];
    SCOPED_TRACE(::testing::Message() << model.Description() << ", T = " << T);
    const double upper = VerifiedUnaryUpper(model, T);
    EXPECT_GE(upper, Enumerate(model, T));
    const Flow zero{Matrix<double>(model.num_edges(), model.num_cuts(), 0.0), {}};
    const double by_flow = VerifiedUpper(model, ExtensionKind::kOptimal, zero, T);
    EXPECT_NEAR(upper, by_flow,
                1e-12 * (1.0 + std::abs(by_flow)) * static_cast<double>(model.num_variables()));
  }
  const SparseCrf model = random.Model(2, 2);
  for (const double T : {-1.0, kInfinity, std::nan("")})
    EXPECT_THROW(VerifiedUnaryUpper(model, T), InvalidInput);
}

TEST(VerifierTest, IsTightWithoutEdges) {
  RandomModels random(5);
  for (int trial = 0; trial < 100; ++trial) {
    const int labels = random.Integer(2, 5);
    const SparseCrf model(random.Points(4, labels, -5.0, 5.0), {}, PottsLabels(labels), 1.25);
    for (double T : kTemperatures) {
      const long double exact = Enumerate(model, T);
      Matrix<double> y(4, labels);
      for (int a = 0; a < 4; ++a) {
        const auto phi = model.unary().row(a);
        const auto least = std::min_element(phi.begin(), phi.end());
        for (int i = 0; i < labels; ++i) {
          y(a, i) = T > 0.0 ? std::exp((*least - phi[i]) / T)
                            : static_cast<double>(phi.begin() + i == least);
        }
      }
      const Flow no_flow{Matrix<double>(0, labels), {}};
      const long double upper = VerifiedUpper(model, ExtensionKind::kOptimal, no_flow, T);
      const long double dual = VerifiedDual(model, ExtensionKind::kOptimal, y, T);
      const long double lower = VerifiedLower(model, y, T);
      EXPECT_GE(upper, exact);
      EXPECT_LE(dual, exact);
      EXPECT_LE(lower, exact);
      EXPECT_LE(upper - exact, 1e-12L);
      EXPECT_LE(exact - dual, 1e-12L);
      EXPECT_LE(exact - lower, 1e-12L);
    }
  }
}

// Cuts that fall short of the metric still bound log Z of the model with the metric.
TEST(VerifierTest, ContractedMetricsBoundTheTrueModel) {
  RandomModels random(6);
  LabelSpace labels = LinearLabels(4);
  for (double& length : labels.metrics[0].length) length *= 0.7;
  labels.metrics[0].distortion = 1.0 / 0.7;
  for (int trial = 0; trial < 50; ++trial) {
    const SparseCrf model = random.Model(4, labels, -3.0, 3.0);
    const Flow flow = RandomFlow(SparseExtension(model, ExtensionKind::kOptimal), &random);
    const long double exact = Enumerate(model, 1.0);
    EXPECT_GE(VerifiedUpper(model, ExtensionKind::kOptimal, flow, 1.0), exact);
    EXPECT_LE(VerifiedLower(model, RandomMarginals(model, &random), 1.0), exact);
  }
}

// Adding a constant to a growing sum errs in the same direction every time, so the error at a hub
// grows with its degree.
TEST(VerifierTest, IsSafeAtVariablesOfHighDegree) {
  const int spokes = 100000;
  std::vector<Edge> edges;
  for (int b = 1; b <= spokes; ++b) edges.push_back({0, b, 0.1});
  for (double weight : {0.1, 0.3, 0.7}) {
    for (Edge& e : edges) e.weight = weight;
    const SparseCrf model(Matrix<double>(spokes + 1, 2), edges, PottsLabels(2));
    for (double q : {1.0, -1.0, 1.0 / 3.0}) {
      const Flow flow{Matrix<double>(model.num_edges(), 2, q), {}};
      for (double T : {0.0, 1e-3}) {
        const long double expected = UpperByDefinition(model, ExtensionKind::kOptimal, flow, T);
        const long double upper = VerifiedUpper(model, ExtensionKind::kOptimal, flow, T);
        EXPECT_GE(upper, expected) << "weight " << weight << ", flow " << q << ", T " << T;
        EXPECT_LE(upper, expected + 1e-9L * spokes);
      }
    }
  }
}

TEST(VerifierTest, IsSafeWithManyLabels) {
  RandomModels random(7);
  const std::vector<LabelSpace> spaces{PottsLabels(1000), LinearLabels(400)};
  for (int trial = 0; trial < 20; ++trial) {
    const LabelSpace& labels = spaces[trial % 2];
    Matrix<double> unary(2, labels.num_labels(), 0.0);
    for (double& value : unary.row(1)) value = random.Real(0.0, 1e-3);
    const SparseCrf model(unary, {{0, 1, 1e-3}}, labels);
    const Flow flow = RandomFlow(SparseExtension(model, ExtensionKind::kOptimal), &random);
    const long double expected = UpperByDefinition(model, ExtensionKind::kOptimal, flow, 1.0);
    EXPECT_GE(VerifiedUpper(model, ExtensionKind::kOptimal, flow, 1.0), expected);
    EXPECT_LE(VerifiedUpper(model, ExtensionKind::kOptimal, flow, 1.0), expected + 1e-10L);
  }
}

// Rows of doubles miss 1 by an ulp here and there, which matters on an edge of weight 1e9: the
// value is that of the rows with the missing mass added to their most probable label.
TEST(VerifierTest, DualIsSafeWhereMarginalsAreAlmostEqual) {
  const double w = 1e9;
  const SparseCrf model(Matrix<double>(2, 3), {{0, 1, w}}, PottsLabels(3));
  Matrix<double> y(2, 3, 1.0);
  y(1, 2) = 1.0 + std::numeric_limits<double>::epsilon();
  const Matrix<double> rounded = Normalised(y);
  long double entropy = 0.0L;
  std::vector<std::vector<long double>> rows;
  for (std::size_t a = 0; a < 2; ++a) {
    const auto row = rounded.row(a);
    std::vector<long double> exact(row.begin(), row.end());
    const auto largest = std::max_element(row.begin(), row.end()) - row.begin();
    exact[largest] = 1.0L - exact[(largest + 1) % 3] - exact[(largest + 2) % 3];
    for (long double p : exact) entropy -= p * std::log(p);
    rows.push_back(exact);
  }
  long double variation = 0.0L;
  for (std::size_t i = 0; i < 3; ++i) variation += 0.5L * w * std::abs(rows[0][i] - rows[1][i]);
  const double dual = VerifiedDual(model, ExtensionKind::kOptimal, y, 1.0);
  EXPECT_LE(dual, entropy - variation);
  EXPECT_GE(dual, entropy - variation - 1e-12);
}

long double EnergyByDefinition(const FactorGraph& graph, const std::vector<int>& x) {
  LongSum energy;
  for (const Factor& factor : graph.factors) {
    std::size_t index = 0;
    for (int a : factor.scope) index = index * graph.cardinality[a] + x[a];
    energy.Add(factor.energy[index]);
  }
  return energy.Minus(0.0L);
}

TEST(VerifiedEnergyTest, IsAboveTheEnergyByUlpsOnly) {
  RandomModels random(11);
  for (int trial = 0; trial < 500; ++trial) {
    const int variables = random.Integer(1, 6);
    const int labels = random.Integer(2, 4);
    Matrix<double> unary(variables, labels);
    for (std::size_t k = 0; k < unary.size(); ++k)
      unary.data()[k] = std::ldexp(random.Real(-1.0, 1.0), random.Integer(-60, 60));
    const int e = random.Integer(-20, 20);
    SparseCrf pattern = random.Model(variables, labels);
    std::vector<Edge> edges = pattern.edges();
    for (Edge& edge : edges) edge.weight *= std::ldexp(1.0 / 3.0, e);
    // The constant takes back most of one labeling's energy.
    std::vector<int> x(variables, random.Integer(0, labels - 1));
    const SparseCrf shifted(unary, edges, pattern.labels());
    const SparseCrf model(unary, edges, pattern.labels(), -shifted.Energy(x));
    LongSum energy;
    energy.Add(model.constant());
    double magnitude = std::abs(model.constant());
    for (int a = 0; a < variables; ++a) {
      energy.Add(unary(a, x[a]));
      magnitude += std::abs(unary(a, x[a]));
    }
    for (const Edge& edge : edges)
      energy.AddProduct(edge.weight, model.metric(edge).distance(x[edge.a], x[edge.b]));
    const double verified = VerifiedEnergy(model, x);
    EXPECT_LE(energy.Minus(verified), 0.0L) << "trial " << trial;
    EXPECT_NEAR(verified, static_cast<double>(energy.high + energy.low),
                1e-15 * std::abs(verified) + 1e-27 * magnitude)
        << "trial " << trial;
  }
}

// 1e16 + 1 - 1e16 is 0 where doubles are added in this order, which would be below the energy.
TEST(VerifiedEnergyTest, SurvivesCancellation) {
  Matrix<double> unary(3, 2, 3e16);
  unary(0, 0) = 1e16;
  unary(1, 0) = 1.0;
  unary(2, 0) = -1e16;
  const SparseCrf model(unary, {}, PottsLabels(2));
  const std::vector<int> x(3, 0);
  ASSERT_LT(model.Energy(x), 1.0);
  EXPECT_GE(VerifiedEnergy(model, x), 1.0);
  EXPECT_LE(VerifiedEnergy(model, x), 1.0 + 1e-12);
  const FactorGraph graph = ToFactorGraph(model);
  EXPECT_EQ(EnergyByDefinition(graph, x), 1.0L);
  EXPECT_GE(VerifiedEnergy(graph, x), 1.0);
  EXPECT_LE(VerifiedEnergy(graph, x), 1.0 + 1e-12);
}

TEST(VerifiedEnergyTest, KnowsForbiddenLabelingsAndWhatIsNone) {
  const FactorGraph graph{{2, 3}, {{{0, 1}, {0, 1, 2, kInfinity, 4, 5}}, {{}, {0.5}}}};
  EXPECT_EQ(VerifiedEnergy(graph, std::vector<int>{1, 0}), kInfinity);
  EXPECT_NEAR(VerifiedEnergy(graph, std::vector<int>{1, 2}), 5.5, 1e-14);
  ExpectInvalid([&] { VerifiedEnergy(graph, std::vector<int>{1}); }, "the labeling has 1 labels");
  ExpectInvalid([&] { VerifiedEnergy(graph, std::vector<int>{2, 0}); }, "expected one of 0..1");
  const SparseCrf model(Matrix<double>(2, 2), {}, PottsLabels(2));
  ExpectInvalid([&] { VerifiedEnergy(model, std::vector<int>{0, -1}); }, "has the label -1");
  // A sum that overflows on the way is above every energy.
  const FactorGraph huge{{2}, {{{}, {-1.5e308}}, {{}, {-1.5e308}}, {{0}, {1.5e308, 0.0}}}};
  EXPECT_EQ(VerifiedEnergy(huge, std::vector<int>{0}), kInfinity);
}

class EvidenceTest : public ::testing::Test {
 protected:
  const SparseCrf model_{Matrix<double>(3, 2, 1.0), {{0, 1, 1.0}, {1, 2, 2.0}}, LinearLabels(2)};
  const Flow flow_ = SparseExtension(model_, ExtensionKind::kAlternate).NeutralFlow();
  const Matrix<double> y_{3, 2, 0.5};
};

TEST_F(EvidenceTest, FlowsMustFitTheModel) {
  for (ExtensionKind kind : kKinds) {
    const auto verify = [&](const Flow& flow) {
      return [this, kind, flow] { VerifiedUpper(model_, kind, flow, 1.0); };
    };
    EXPECT_NO_THROW(verify(flow_)());
    for (const auto& [rows, cols] : {std::pair(1, 2), {3, 2}, {2, 1}, {2, 3}, {0, 0}}) {
      Flow flow = flow_;
      flow.edge = Matrix<double>(rows, cols);
      ExpectInvalid(verify(flow), "the model has 2 edges and 2 cuts");
    }
    for (double bad : {1.5, -1.0 - 1e-15, std::nan(""), kInfinity, -kInfinity}) {
      Flow flow = flow_;
      flow.edge(1, 0) = bad;
      ExpectInvalid(verify(flow), "edge 1 carries the flow");
    }
    for (double good : {1.0, -1.0}) {
      Flow flow = flow_;
      flow.edge(1, 0) = good;
      EXPECT_NO_THROW(verify(flow)());
    }
  }
}

TEST_F(EvidenceTest, CyclesMustFitTheModel) {
  const auto verify = [&](const Flow& flow) {
    return [this, flow] { VerifiedUpper(model_, ExtensionKind::kAlternate, flow, 1.0); };
  };
  for (const auto& [rows, cols] : {std::pair(0, 0), {3, 1}, {2, 2}, {3, 3}}) {
    Flow flow = flow_;
    flow.cycle = Matrix<double>(rows, cols);
    ExpectInvalid(verify(flow), "the cycle flow does not have one entry per variable and label");
    EXPECT_NO_THROW(VerifiedUpper(model_, ExtensionKind::kOptimal, flow, 1.0));
  }
  for (double bad : {-1e-15, 1.0 + 1e-15, std::nan(""), kInfinity}) {
    Flow flow = flow_;
    flow.cycle(2, 1) = bad;
    ExpectInvalid(verify(flow), "variable 2 carries the cycle flow");
  }
}

TEST_F(EvidenceTest, MarginalsMustBeDistributions) {
  const auto expect_refused = [&](const Matrix<double>& y, const std::string& complaint) {
    for (ExtensionKind kind : kKinds) {
      ExpectInvalid([&] { VerifiedDual(model_, kind, y, 1.0); }, complaint);
    }
    ExpectInvalid([&] { VerifiedLower(model_, y, 1.0); }, complaint);
  };
  for (const auto& [rows, cols] : {std::pair(2, 2), {3, 1}, {4, 2}, {0, 0}}) {
    expect_refused(Matrix<double>(rows, cols, 0.5), "the model has 3 variables and 2 labels");
  }
  for (double bad : {-1e-9, -0.5, std::nan(""), kInfinity}) {
    Matrix<double> y = y_;
    y(1, 1) = bad;
    expect_refused(y, "the marginals of variable 1 are not a distribution");
  }
  Matrix<double> y = y_;
  y(2, 0) = y(2, 1) = 0.0;
  expect_refused(y, "the marginals of variable 2 are not a distribution");
}

TEST_F(EvidenceTest, MarginalsAreNormalised) {
  Matrix<double> y = y_;
  y(1, 0) = 5.0;
  y(1, 1) = 15.0;
  Matrix<double> normalised = y_;
  normalised(1, 0) = 0.25;
  normalised(1, 1) = 0.75;
  EXPECT_EQ(VerifiedLower(model_, y, 1.0), VerifiedLower(model_, normalised, 1.0));
  for (ExtensionKind kind : kKinds) {
    EXPECT_EQ(VerifiedDual(model_, kind, y, 1.0), VerifiedDual(model_, kind, normalised, 1.0));
  }
}

TEST_F(EvidenceTest, TemperaturesMustBeFiniteAndNotNegative) {
  for (double bad : {-1.0, -1e-300, std::nan(""), kInfinity}) {
    for (ExtensionKind kind : kKinds) {
      ExpectInvalid([&] { VerifiedUpper(model_, kind, flow_, bad); }, "the temperature is");
      ExpectInvalid([&] { VerifiedDual(model_, kind, y_, bad); }, "the temperature is");
    }
    ExpectInvalid([&] { VerifiedLower(model_, y_, bad); }, "the temperature is");
  }
  for (double tiny : {5e-324, 1e-310, 1e-300}) {
    EXPECT_NEAR(VerifiedUpper(model_, ExtensionKind::kOptimal, flow_, tiny), -3.0, 1e-12);
    EXPECT_NEAR(VerifiedLower(model_, y_, tiny), -3.0 - 1.5, 1e-12);
  }
}

}  // namespace
}  // namespace submarine::internal
