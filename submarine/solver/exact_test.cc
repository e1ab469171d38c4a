#include "submarine/solver/exact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "submarine/base/error.h"

namespace submarine {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kTemperatures[] = {0.3, 1.0, 2.5, 0.0};

std::size_t TableSize(const FactorGraph& graph, const std::vector<int>& scope) {
  std::size_t size = 1;
  for (int a : scope) size *= static_cast<std::size_t>(graph.cardinality[a]);
  return size;
}

struct RandomShape {
  int variables = 8;
  int max_cardinality = 4;
  int factors = 14;
  int max_order = 3;
  double zero_probability = 0.0;
};

FactorGraph RandomGraph(const RandomShape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> energy(0.0, 2.0);
  std::bernoulli_distribution zero(shape.zero_probability);
  FactorGraph graph;
  std::uniform_int_distribution<int> cardinality(1, shape.max_cardinality);
  for (int a = 0; a < shape.variables; ++a) graph.cardinality.push_back(cardinality(random));
  std::uniform_int_distribution<int> order(0, shape.max_order);
  for (int f = 0; f < shape.factors; ++f) {
    std::vector<int> all(shape.variables);
    for (int a = 0; a < shape.variables; ++a) all[a] = a;
    std::shuffle(all.begin(), all.end(), random);
    all.resize(std::min(order(random), shape.variables));
    Factor factor{all, std::vector<double>(TableSize(graph, all))};
    // Labeling 0 keeps positive probability.
    for (double& e : factor.energy) {
      e = zero(random) && &e != &factor.energy[0] ? kInfinity : energy(random);
    }
    graph.factors.push_back(factor);
  }
  return graph;
}

FactorGraph Chain(int length, int labels, double scale, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> energy(-scale, scale);
  FactorGraph graph;
  graph.cardinality.assign(length, labels);
  for (int a = 0; a < length; ++a) {
    Factor unary{{a}, std::vector<double>(labels)};
    for (double& e : unary.energy) e = energy(random);
    graph.factors.push_back(unary);
    if (a == 0) continue;
    Factor pair{{a - 1, a}, std::vector<double>(labels * labels)};
    for (double& e : pair.energy) e = energy(random);
    graph.factors.push_back(pair);
  }
  return graph;
}

FactorGraph Grid(int width, int height, int labels, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> energy(0.0, 1.0);
  FactorGraph graph;
  graph.cardinality.assign(width * height, labels);
  const auto add = [&](int a, int b) {
    Factor pair{{a, b}, std::vector<double>(labels * labels)};
    for (double& e : pair.energy) e = energy(random);
    graph.factors.push_back(pair);
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (x + 1 < width) add(y * width + x, y * width + x + 1);
      if (y + 1 < height) add(y * width + x, y * width + x + width);
    }
  }
  return graph;
}

void ExpectSameAsEnumeration(const FactorGraph& graph, double temperature) {
  const ExactResult slow = EnumerateExact(graph, temperature);
  const ExactResult fast = SolveExact(graph, {.temperature = temperature});
  EXPECT_NEAR(fast.log_partition, slow.log_partition, 1e-10);
  ASSERT_EQ(fast.map_labeling.size(), graph.cardinality.size());
  if (temperature == 0.0) {
    // Several labelings may attain the minimum.
    EXPECT_NEAR(Energy(graph, fast.map_labeling), -slow.log_partition, 1e-10);
  }
  for (std::size_t a = 0; a < graph.cardinality.size(); ++a) {
    ASSERT_EQ(fast.marginals[a].size(), static_cast<std::size_t>(graph.cardinality[a]));
    for (int x = 0; x < graph.cardinality[a]; ++x) {
      const double expected =
          temperature == 0.0 ? (fast.map_labeling[a] == x ? 1.0 : 0.0) : slow.marginals[a][x];
      EXPECT_NEAR(fast.marginals[a][x], expected, 1e-10) << "variable " << a << " label " << x;
    }
  }
}

double Seconds(const std::chrono::steady_clock::time_point& start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(EnumerateExactTest, KnowsTwoVariablesByHand) {
  const FactorGraph graph{{2, 2}, {{{0}, {0.0, 1.0}}, {{0, 1}, {0.0, 2.0, 3.0, kInfinity}}}};
  const ExactResult result = EnumerateExact(graph, 1.0);
  const double z = 1.0 + std::exp(-2.0) + std::exp(-4.0);
  EXPECT_NEAR(result.log_partition, std::log(z), 1e-14);
  EXPECT_NEAR(result.marginals[0][1], std::exp(-4.0) / z, 1e-14);
  EXPECT_NEAR(result.marginals[1][1], std::exp(-2.0) / z, 1e-14);
}

TEST(SolveExactTest, AgreesWithEnumerationOnLoopyGraphs) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    for (double temperature : kTemperatures) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", T " << temperature);
      ExpectSameAsEnumeration(RandomGraph({}, seed), temperature);
    }
  }
}

TEST(SolveExactTest, AgreesWithEnumerationWithZeroPotentials) {
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    for (double temperature : kTemperatures) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", T " << temperature);
      ExpectSameAsEnumeration(RandomGraph({.zero_probability = 0.4}, seed), temperature);
    }
  }
}

TEST(SolveExactTest, AgreesWithEnumerationOnDisconnectedGraphs) {
  for (std::uint64_t seed = 200; seed < 230; ++seed) {
    for (double temperature : kTemperatures) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", T " << temperature);
      ExpectSameAsEnumeration(RandomGraph({.factors = 4, .max_order = 2}, seed), temperature);
    }
  }
}

TEST(SolveExactTest, AgreesWithEnumerationOnTrees) {
  for (std::uint64_t seed = 300; seed < 320; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> energy;
    FactorGraph graph;
    graph.cardinality.assign(9, 3);
    for (int a = 1; a < 9; ++a) {
      const int parent = std::uniform_int_distribution<int>(0, a - 1)(random);
      Factor pair{{a, parent}, std::vector<double>(9)};
      for (double& e : pair.energy) e = energy(random);
      graph.factors.push_back(pair);
    }
    EXPECT_EQ(PlanExact(graph).induced_width, 1);
    for (double temperature : kTemperatures) ExpectSameAsEnumeration(graph, temperature);
  }
}

// Tables longer than one block, so that sources inside, outside and across blocks all occur.
TEST(SolveExactTest, AgreesWithEnumerationOnWideTables) {
  FactorGraph binary;
  binary.cardinality.assign(14, 2);
  std::mt19937_64 random(7);
  std::normal_distribution<double> energy;
  for (int a = 0; a < 14; ++a) {
    for (int b = a + 1; b < 14; ++b) {
      Factor pair{{b, a}, std::vector<double>(4)};
      for (double& e : pair.energy) e = energy(random);
      binary.factors.push_back(pair);
    }
  }
  ASSERT_EQ(PlanExact(binary).induced_width, 13);
  for (double temperature : kTemperatures) ExpectSameAsEnumeration(binary, temperature);
  for (double temperature : kTemperatures) ExpectSameAsEnumeration(Grid(4, 4, 2, 3), temperature);
  const FactorGraph ladder = Grid(6, 2, 3, 4);
  for (double temperature : kTemperatures) ExpectSameAsEnumeration(ladder, temperature);
}

TEST(SolveExactTest, CountsRepeatedAndEmptyScopes) {
  const FactorGraph graph{
      {2, 1, 3},
      {{{}, {1.5}}, {{1}, {0.25}}, {{0, 1}, {0.5, 1.0}}, {{1, 0}, {0.5, 1.0}}, {{}, {-0.5}}}};
  const ExactResult result = SolveExact(graph, {});
  EXPECT_NEAR(result.log_partition,
              -1.25 + std::log(3.0) + std::log(std::exp(-1.0) + std::exp(-2.0)), 1e-14);
  EXPECT_NEAR(result.marginals[2][1], 1.0 / 3.0, 1e-15);
  EXPECT_EQ(result.marginals[1], std::vector<double>{1.0});
}

TEST(SolveExactTest, HandlesNoVariables) {
  EXPECT_EQ(SolveExact({{}, {{{}, {2.0}}}}, {}).log_partition, -2.0);
  EXPECT_EQ(EnumerateExact({{}, {{{}, {2.0}}}}).log_partition, -2.0);
}

TEST(SolveExactTest, RefusesModelsWithoutLabeling) {
  const FactorGraph contradiction{
      {2, 2},
      {{{0, 1}, {kInfinity, 0.0, 0.0, kInfinity}}, {{1, 0}, {0.0, kInfinity, kInfinity, 0.0}}}};
  const FactorGraph constant{{2}, {{{}, {kInfinity}}}};
  for (double temperature : {0.0, 1.0}) {
    EXPECT_THROW(SolveExact(contradiction, {.temperature = temperature}), InvalidInput);
    EXPECT_THROW(EnumerateExact(contradiction, temperature), InvalidInput);
    EXPECT_THROW(SolveExact(constant, {.temperature = temperature}), InvalidInput);
  }
}

TEST(SolveExactTest, RefusesBadTemperaturesAndOverflowingEnergies) {
  const FactorGraph graph{{2}, {{{0}, {-1e308, 0.0}}, {{0}, {-1e308, 0.0}}}};
  EXPECT_THROW(SolveExact(graph, {}), InvalidInput);
  for (double temperature : {-1.0, std::nan(""), kInfinity, 1e-310}) {
    EXPECT_THROW(SolveExact({{2}, {}}, {.temperature = temperature}), InvalidInput);
    EXPECT_THROW(EnumerateExact({{2}, {}}, temperature), InvalidInput);
  }
}

TEST(SolveExactTest, RefusesHopelessGraphsQuickly) {
  const FactorGraph grid = Grid(100, 100, 20, 1);
  const auto start = std::chrono::steady_clock::now();
  try {
    SolveExact(grid, {});
    FAIL() << "a 100 x 100 grid of 20 labels was not refused";
  } catch (const TooLarge& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("induced width"), HasSubstr("limit of 4 GiB")));
  }
  EXPECT_LT(Seconds(start), 20.0);
}

TEST(SolveExactTest, ProvesThatCompleteGraphsDoNotFit) {
  FactorGraph graph;
  graph.cardinality.assign(200, 3);
  for (int a = 0; a < 200; ++a) {
    for (int b = a + 1; b < 200; ++b)
      graph.factors.push_back({{a, b}, std::vector<double>(9, 1.0)});
  }
  const ExactPlan plan = PlanExact(graph, 1e9);
  EXPECT_FALSE(plan.complete);
  EXPECT_TRUE(plan.proven_too_large);
}

TEST(SolveExactTest, RefusesByTheLimitItIsGiven) {
  const FactorGraph graph = Grid(8, 8, 2, 5);
  const ExactPlan plan = PlanExact(graph);
  ASSERT_TRUE(plan.complete);
  const auto bytes = static_cast<std::int64_t>(plan.bytes);
  EXPECT_EQ(SolveExact(graph, {.max_bytes = bytes}).bytes, bytes);
  EXPECT_THROW(SolveExact(graph, {.max_bytes = bytes / 4}), TooLarge);
}

TEST(PlanExactTest, SweepsGridsAtTheirTreewidth) {
  const ExactPlan plan = PlanExact(Grid(20, 20, 2, 1));
  EXPECT_EQ(plan.induced_width, 20);
  EXPECT_LT(plan.bytes, 1e9);
}

TEST(PlanExactTest, EliminatesEveryVariableOnceWithLaterSeparators) {
  for (std::uint64_t seed = 400; seed < 420; ++seed) {
    const FactorGraph graph = RandomGraph({.variables = 20, .factors = 30}, seed);
    const ExactPlan plan = PlanExact(graph);
    std::vector<int> position(20, -1);
    for (int k = 0; k < 20; ++k) position[plan.order[k]] = k;
    EXPECT_EQ(std::count(position.begin(), position.end(), -1), 0);
    for (int a = 0; a < 20; ++a) {
      int before = position[a];
      for (int b : plan.separator[a]) {
        EXPECT_GT(position[b], before);
        before = position[b];
      }
    }
    // Every factor lies within the table of its first variable.
    for (const Factor& factor : graph.factors) {
      std::vector<int> scope;
      for (int a : factor.scope) {
        if (graph.cardinality[a] > 1) scope.push_back(a);
      }
      if (scope.empty()) continue;
      const int first = *std::min_element(scope.begin(), scope.end(),
                                          [&](int a, int b) { return position[a] < position[b]; });
      for (int a : scope) {
        if (a == first) continue;
        EXPECT_THAT(plan.separator[first], Contains(a));
      }
    }
  }
}

TEST(SolveExactTest, SolvesAChainOfManyVariables) {
  const FactorGraph graph = Chain(100000, 3, 1.0, 11);
  const auto start = std::chrono::steady_clock::now();
  const ExactResult result = SolveExact(graph, {});
  EXPECT_LT(Seconds(start), 20.0);  // quadratic work would take many minutes
  EXPECT_EQ(result.induced_width, 1);

  // The forward recursion, with its own scaling.
  double log_z = 0.0;
  std::vector<double> forward(3, 1.0);
  for (int a = 0; a < 100000; ++a) {
    const std::vector<double>& unary = graph.factors[a == 0 ? 0 : 2 * a - 1].energy;
    std::vector<double> next(3, 0.0);
    double total = 0.0;
    for (int x = 0; x < 3; ++x) {
      for (int y = 0; y < 3; ++y) {
        if (a == 0 && y > 0) break;
        const double pair = a == 0 ? 0.0 : graph.factors[2 * a].energy[3 * y + x];
        next[x] += forward[y] * std::exp(-pair - unary[x]);
      }
      total += next[x];
    }
    for (double& f : next) f /= total;
    log_z += std::log(total);
    forward = next;
  }
  EXPECT_NEAR(result.log_partition, log_z, 1e-10 * std::abs(log_z));
  for (int x = 0; x < 3; ++x) EXPECT_NEAR(result.marginals[99999][x], forward[x], 1e-12);
}

TEST(SolveExactTest, SurvivesHugeEnergies) {
  const FactorGraph graph = Chain(1000, 3, 1e5, 12);
  const ExactResult map = SolveExact(graph, {.temperature = 0.0});
  for (double temperature : {1e-3, 1.0}) {
    const ExactResult result = SolveExact(graph, {.temperature = temperature});
    // The minimum is almost surely isolated by far more than T.
    EXPECT_NEAR(result.log_partition, map.log_partition, 1e-3 * std::abs(map.log_partition));
    EXPECT_GE(result.log_partition, map.log_partition * (1.0 - 1e-14));
    for (const std::vector<double>& marginal : result.marginals) {
      double total = 0.0;
      for (double p : marginal) total += p;
      EXPECT_NEAR(total, 1.0, 1e-12);
    }
  }
  EXPECT_NEAR(-Energy(graph, map.map_labeling), map.log_partition, 1e-6);

  // Energies whose rounding errors are far larger than T: the marginals stay distributions.
  const ExactResult enormous = SolveExact(Chain(50, 3, 1e300, 14), {});
  for (const std::vector<double>& marginal : enormous.marginals) {
    EXPECT_NEAR(marginal[0] + marginal[1] + marginal[2], 1.0, 1e-12);
  }

  for (double temperature : kTemperatures) {
    const FactorGraph small = Chain(9, 3, 1e5, 13);
    const ExactResult fast = SolveExact(small, {.temperature = temperature});
    const ExactResult slow = EnumerateExact(small, temperature);
    EXPECT_NEAR(fast.log_partition, slow.log_partition, 1e-14 * std::abs(slow.log_partition));
    EXPECT_EQ(fast.map_labeling, slow.map_labeling);
  }
}

TEST(EnumerateExactTest, RefusesTooManyLabelings) {
  FactorGraph graph;
  graph.cardinality.assign(27, 2);
  EXPECT_THROW(EnumerateExact(graph), TooLarge);
}

}  // namespace
}  // namespace submarine
