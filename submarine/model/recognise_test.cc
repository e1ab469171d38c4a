#include "submarine/model/recognise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/long_sum_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::LongSum;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string RefusalOf(const FactorGraph& graph) {
  try {
    RecogniseSparseCrf(graph);
  } catch (const NotExpressible& error) {
    return error.what();
  }
  return "accepted";
}

FactorGraph TwoVariables(int labels, std::vector<double> table) {
  return {{labels, labels}, {{{0, 1}, std::move(table)}}};
}

// A metric: shortest paths between random points.
Matrix<double> RandomMetric(int labels, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.1, 3.0);
  Matrix<double> d(labels, labels);
  for (int i = 0; i < labels; ++i) {
    for (int j = 0; j < i; ++j) d(i, j) = d(j, i) = uniform(random);
  }
  for (int k = 0; k < labels; ++k) {
    for (int i = 0; i < labels; ++i) {
      for (int j = 0; j < labels; ++j) d(i, j) = std::min(d(i, j), d(i, k) + d(k, j));
    }
  }
  return d;
}

// u_i + v_j + w d(i,j), written in either order of the variables.
Factor PairFactor(int a, int b, const Matrix<double>& d, double weight, std::mt19937_64& random) {
  const std::size_t labels = d.rows();
  std::normal_distribution<double> normal(0.0, 2.0);
  std::vector<double> u(labels), v(labels);
  for (double& x : u) x = normal(random);
  for (double& x : v) x = normal(random);
  const bool swapped = random() % 2 == 1;
  Factor factor{swapped ? std::vector<int>{b, a} : std::vector<int>{a, b},
                std::vector<double>(labels * labels)};
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = 0; j < labels; ++j) {
      factor.energy[swapped ? j * labels + i : i * labels + j] = u[i] + v[j] + weight * d(i, j);
    }
  }
  return factor;
}

// Constants, several unaries on one variable, several factors on one pair, free variables.
FactorGraph RandomGraph(int labels, bool one_metric, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> weight(0.0, 4.0);
  const int variables = 5;
  FactorGraph graph{std::vector<int>(variables, labels), {{{}, {normal(random)}}}};
  for (int k = 0; k < 6; ++k) {
    Factor unary{{static_cast<int>(random() % variables)}, std::vector<double>(labels)};
    for (double& e : unary.energy) e = normal(random);
    graph.factors.push_back(unary);
  }
  const Matrix<double> shared = RandomMetric(labels, random);
  for (int k = 0; k < 7; ++k) {
    const int a = static_cast<int>(random() % variables);
    const int b = (a + 1 + static_cast<int>(random() % (variables - 1))) % variables;
    const Matrix<double> d = one_metric ? shared : RandomMetric(labels, random);
    graph.factors.push_back(PairFactor(a, b, d, weight(random), random));
  }
  return graph;
}

void ExpectSameEnergy(const FactorGraph& graph, const SparseCrf& model, std::mt19937_64& random) {
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<int> x;
    for (int labels : graph.cardinality) x.push_back(static_cast<int>(random() % labels));
    EXPECT_NEAR(Energy(graph, x), model.Energy(x), 1e-9);
  }
}

TEST(RecogniseTest, KeepsTheEnergyOfRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    const int labels = 2 + static_cast<int>(seed % 6);
    const FactorGraph graph = RandomGraph(labels, seed % 2 == 0, random);
    const SparseCrf model = RecogniseSparseCrf(graph).model;
    ExpectSameEnergy(graph, model, random);
    if (seed % 2 == 0) {
      EXPECT_EQ(model.labels().metrics.size(), 1u);
    }
  }
}

TEST(RecogniseTest, RoundTripThroughTablesKeepsEdgesAndWeights) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Matrix<double> unary(12, 5);
  for (std::size_t k = 0; k < unary.size(); ++k) unary.data()[k] = normal(random);
  const SparseCrf original(unary, GridEdges(4, 3, 8, 0.7), PottsLabels(5), 2.5);
  const FactorGraph graph = ToFactorGraph(original);
  const SparseCrf model = RecogniseSparseCrf(graph).model;
  EXPECT_EQ(model.num_edges(), original.num_edges());
  ASSERT_EQ(model.labels().metrics.size(), 1u);
  EXPECT_EQ(model.labels().metrics[0].name, "potts");
  for (const Edge& e : model.edges()) EXPECT_NEAR(e.weight, 0.7, 1e-15);
  ExpectSameEnergy(graph, model, random);
}

TEST(RecogniseTest, EveryAttractiveBinaryTableIsPotts) {
  // d = (e01 + e10 - e00 - e11) / 2.
  const SparseCrf model = RecogniseSparseCrf(TwoVariables(2, {1.0, 7.0, -2.0, 0.5})).model;
  ASSERT_EQ(model.num_edges(), 1u);
  EXPECT_NEAR(model.edges()[0].weight, (7.0 - 2.0 - 1.0 - 0.5) / 2, 1e-12);
  EXPECT_EQ(model.labels().metrics[0].name, "potts");
}

TEST(RecogniseTest, ProportionalTablesShareAMetric) {
  std::mt19937_64 random(4);
  const Matrix<double> d = RandomMetric(4, random);
  FactorGraph graph{{4, 4, 4}, {}};
  graph.factors.push_back(PairFactor(0, 1, d, 1.0, random));
  graph.factors.push_back(PairFactor(1, 2, d, 17.3, random));
  const SparseCrf model = RecogniseSparseCrf(graph).model;
  EXPECT_EQ(model.labels().metrics.size(), 1u);
  EXPECT_NEAR(model.edges()[1].weight / model.edges()[0].weight, 17.3, 1e-9);
}

TEST(RecogniseTest, FactorsOnOnePairAreAddedBeforeTheyAreJudged) {
  // Each table alone is repulsive or asymmetric; their sum is Potts.
  FactorGraph graph{{2, 2}, {}};
  graph.factors.push_back({{0, 1}, {0.0, -1.0, -1.0, 0.0}});
  graph.factors.push_back({{1, 0}, {0.0, 3.0, 3.0, 0.0}});
  const SparseCrf model = RecogniseSparseCrf(graph).model;
  ASSERT_EQ(model.num_edges(), 1u);
  EXPECT_NEAR(model.edges()[0].weight, 2.0, 1e-12);
}

TEST(RecogniseTest, ModularTablesAreNoEdges) {
  std::mt19937_64 random(5);
  FactorGraph graph{{3, 3}, {PairFactor(0, 1, Matrix<double>(3, 3), 1.0, random)}};
  const SparseCrf model = RecogniseSparseCrf(graph).model;
  EXPECT_EQ(model.num_edges(), 0u);
  ExpectSameEnergy(graph, model, random);
}

TEST(RecogniseTest, RoundingBelowZeroIsForgiven) {
  const SparseCrf model =
      RecogniseSparseCrf(TwoVariables(3, {0, -1e-10, 1, -1e-10, 0, 1, 1, 1, 0})).model;
  EXPECT_EQ(model.labels().metrics[0].distance(0, 1), 0.0);
}

bool NextLabeling(const FactorGraph& graph, std::vector<int>* x) {
  for (std::size_t a = 0; a < x->size(); ++a) {
    if (++(*x)[a] < graph.cardinality[a]) return true;
    (*x)[a] = 0;
  }
  return false;
}

// max over all labelings of |E_model(x) - E_graph(x)|.
long double WorstChange(const FactorGraph& graph, const SparseCrf& model) {
  long double worst = 0.0L;
  std::vector<int> x(graph.cardinality.size(), 0);
  do {
    LongSum difference;
    difference.Add(model.constant());
    for (std::size_t a = 0; a < x.size(); ++a) difference.Add(model.unary()(a, x[a]));
    for (const Edge& e : model.edges())
      difference.AddProduct(e.weight, model.metric(e).distance(x[e.a], x[e.b]));
    for (const Factor& factor : graph.factors) {
      std::size_t index = 0;
      for (int a : factor.scope) index = index * graph.cardinality[a] + x[a];
      difference.Add(-static_cast<long double>(factor.energy[index]));
    }
    worst = std::max(worst, std::abs(difference.Minus(0.0L)));
  } while (NextLabeling(graph, &x));
  return worst;
}

// Tables that are attractive metrics but for errors within the tolerance, of any size, with large
// modular parts that the unaries may cancel.
FactorGraph NastyGraph(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const int labels = 2 + static_cast<int>(random() % 3);
  const int variables = 2 + static_cast<int>(random() % 3);
  const double size = std::pow(10.0, static_cast<double>(random() % 13) - 4.0);
  const double error = std::pow(10.0, -9.5 - static_cast<double>(random() % 8));
  FactorGraph graph{std::vector<int>(variables, labels), {}};
  const Matrix<double> shared = RandomMetric(labels, random);
  for (int a = 0; a < variables; ++a) {
    Factor unary{{a}, std::vector<double>(labels)};
    for (double& e : unary.energy) e = (random() % 2 == 0 ? size : 1.0) * uniform(random);
    graph.factors.push_back(unary);
  }
  for (int k = 0; k < variables + 1; ++k) {
    const int a = static_cast<int>(random() % variables);
    const int b = (a + 1 + static_cast<int>(random() % (variables - 1))) % variables;
    Matrix<double> d = random() % 2 == 0 ? shared : RandomMetric(labels, random);
    if (random() % 4 == 0) d = Matrix<double>(labels, labels);  // no more than the errors
    Factor factor = PairFactor(a, b, d, random() % 2 == 0 ? size : 0.5, random);
    const double offset = random() % 2 == 0 ? size * uniform(random) : 0.0;
    double largest = 1.0;
    for (double& e : factor.energy) largest = std::max(largest, std::abs(e += offset));
    for (double& e : factor.energy) e += error * largest * uniform(random);
    if (offset != 0.0) graph.factors.push_back({{}, {-offset}});
    graph.factors.push_back(factor);
  }
  return graph;
}

TEST(RecogniseTest, TheDefectBoundsTheChangeOfEveryLabeling) {
  int recognised = 0;
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const FactorGraph graph = NastyGraph(random);
    try {
      const RecognisedCrf result = RecogniseSparseCrf(graph);
      const long double worst = WorstChange(graph, result.model);
      EXPECT_LE(worst, result.defect) << "seed " << seed;
      // The labelings of the worst entries need not be one and the same.
      EXPECT_LE(result.defect, 16.0L * worst + 1e-14L) << "seed " << seed;
      ++recognised;
      changed += worst > 1e-9L ? 1 : 0;
    } catch (const NotExpressible&) {  // beyond the tolerance, which some are
    }
  }
  EXPECT_GT(recognised, 1000);
  EXPECT_GT(changed, 100);
}

TEST(RecogniseTest, ExactTablesHaveNoDefect) {
  const FactorGraph graph{{2, 2},
                          {{{}, {0.5}}, {{0}, {1.0, -3.0}}, {{0, 1}, {0.25, 2.0, 1.0, 0.25}}}};
  EXPECT_LE(RecogniseSparseCrf(graph).defect, 1e-27);  // the squared epsilon of a few terms
}

// Two edges that cost 1e-10 less with unequal labels: below the table's precision, but not 0.
TEST(RecogniseTest, RepulsionBelowTheToleranceIsADefect) {
  FactorGraph graph{{2, 2, 2, 2}, {}};
  graph.factors.push_back({{0, 1}, {1e-10, 0.0, 0.0, 1e-10}});
  graph.factors.push_back({{2, 3}, {1e-10, 0.0, 0.0, 1e-10}});
  const RecognisedCrf result = RecogniseSparseCrf(graph);
  EXPECT_EQ(result.model.num_edges(), 0u);
  EXPECT_GE(result.defect, 2e-10);
  EXPECT_LE(result.defect, 2.0000001e-10);
}

TEST(RecogniseTest, MetricsThatAreOnlyNearlyProportionalAreADefect) {
  FactorGraph graph{{3, 3, 3}, {}};
  graph.factors.push_back({{0, 1}, {0, 5000, 5000, 5000, 0, 5000, 5000, 5000, 0}});
  const double near = 5000 - 4e-6;
  graph.factors.push_back({{1, 2}, {0, 5000, near, 5000, 0, 5000, near, 5000, 0}});
  graph.factors.push_back({{0}, {-5000, 0, 0}});
  const RecognisedCrf result = RecogniseSparseCrf(graph);
  EXPECT_EQ(result.model.labels().metrics.size(), 1u);
  EXPECT_NEAR(result.defect, 4e-6, 1e-11);
  // With unaries that leave log Z near 0 it would be too much: then they are two metrics.
  graph.factors.back().energy = {0, 0, 0};
  const RecognisedCrf apart = RecogniseSparseCrf(graph);
  EXPECT_EQ(apart.model.labels().metrics.size(), 2u);
  EXPECT_LE(apart.defect, 1e-11);
}

// Unaries of -5500 cancel the table's entries of about 11000: log Z is 1.39, and a change of 1e-5
// would dominate an interval around it.
TEST(RecogniseTest, RefusesADefectThatIsLargeBesideTheAnswer) {
  FactorGraph graph{{2, 2}, {}};
  graph.factors.push_back({{0}, {-5500, -5500}});
  graph.factors.push_back({{1}, {-5500, -5500}});
  graph.factors.push_back({{0, 1}, {11000, 11000 - 1e-5, 11000 - 1e-5, 11000}});
  EXPECT_THAT(RefusalOf(graph),
              HasSubstr("differ from attractive metrics by up to 1e-05 in energy"));
}

TEST(RecogniseTest, CutsStayBelowMetricsThatAreNoSumOfCuts) {
  // Distances of the graph K_{2,3}.
  std::vector<double> table;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) table.push_back(i == j ? 0.0 : (i < 2) != (j < 2) ? 1.0 : 2.0);
  }
  const FactorGraph graph = TwoVariables(5, table);
  const SparseCrf model = RecogniseSparseCrf(graph).model;
  EXPECT_GT(model.labels().metrics[0].distortion, 1.3);
  EXPECT_EQ(model.Energy(std::vector<int>{2, 3}), 2.0);
}

TEST(RecogniseTest, RefusesRepulsivePairs) {
  EXPECT_THAT(RefusalOf(TwoVariables(2, {1.2, 0.0, 0.0, 1.2})),
              AllOf(HasSubstr("the pair (0,1) is repulsive"), HasSubstr("labels 0 and 1"),
                    HasSubstr("1.2"), HasSubstr("attractive")));
}

TEST(RecogniseTest, RefusesAsymmetryBeyondUnaries) {
  EXPECT_THAT(RefusalOf(TwoVariables(3, {0, 1, 1, 1, 0, 2, 1, 1, 0})),
              AllOf(HasSubstr("the pair (0,1) is asymmetric"), HasSubstr("(1,2)")));
}

TEST(RecogniseTest, RefusesWhatViolatesTheTriangleInequality) {
  FactorGraph graph{{3, 3, 3}, {{{1, 2}, {0, 1, 5, 1, 0, 1, 5, 1, 0}}}};
  EXPECT_THAT(RefusalOf(graph), AllOf(HasSubstr("the pair (1,2) is not a metric"),
                                      HasSubstr("d(0,2) = 5 exceeds"), HasSubstr("= 2")));
}

TEST(RecogniseTest, RefusesInfiniteEnergies) {
  EXPECT_THAT(
      RefusalOf(TwoVariables(2, {0, 1, kInfinity, 0})),
      AllOf(HasSubstr("factor 0 forbids variable 0 = 1, variable 1 = 0"), HasSubstr("infinite")));
  EXPECT_THAT(RefusalOf({{2, 2}, {{{1}, {0.0, kInfinity}}}}), HasSubstr("variable 1 = 1"));
  EXPECT_THAT(RefusalOf({{2, 2}, {{{}, {kInfinity}}}}), HasSubstr("factor 0"));
}

TEST(RecogniseTest, RefusesOtherShapes) {
  EXPECT_THAT(RefusalOf({{2, 2, 2}, {{{0, 1, 2}, std::vector<double>(8, 0.0)}}}),
              HasSubstr("factor 0 has 3 variables"));
  EXPECT_THAT(RefusalOf({{2, 2, 3}, {}}),
              HasSubstr("variable 0 has 2 labels and variable 2 has 3"));
  EXPECT_THAT(RefusalOf({{1, 1}, {}}), HasSubstr("the variables have 1 label each"));
  EXPECT_THAT(RefusalOf({{5000}, {}}), HasSubstr("the variables have 5000 labels each"));
  EXPECT_THAT(RefusalOf({{}, {}}), HasSubstr("no variables"));
}

TEST(RecogniseTest, InvalidGraphsAreNotMerelyInexpressible) {
  EXPECT_THROW(RecogniseSparseCrf(TwoVariables(2, {0, 1, 1})), InvalidInput);
  EXPECT_THROW(RecogniseSparseCrf(TwoVariables(2, {0, std::nan(""), 1, 0})), InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
