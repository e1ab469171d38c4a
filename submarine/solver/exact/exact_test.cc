#include "submarine/solver/exact/exact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/long_sum_test_util.h"
#include "submarine/solver/exact/enumerate_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::EnumerateExact;
using ::testing::HasSubstr;
using testing::LongSum;

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
    EXPECT_EQ(FindEliminationOrder(graph).induced_width, 1);
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
  ASSERT_EQ(FindEliminationOrder(binary).induced_width, 13);
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
    EXPECT_THROW(SolveExact(constant, {.temperature = temperature}), InvalidInput);
  }
}

TEST(SolveExactTest, RefusesBadTemperaturesAndOverflowingEnergies) {
  const FactorGraph graph{{2}, {{{0}, {-1e308, 0.0}}, {{0}, {-1e308, 0.0}}}};
  EXPECT_THROW(SolveExact(graph, {}), InvalidInput);
  for (double temperature : {-1.0, std::nan(""), kInfinity, 1e-310}) {
    EXPECT_THROW(SolveExact({{2}, {}}, {.temperature = temperature}), InvalidInput);
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
  const EliminationOrder plan = FindEliminationOrder(graph, 1e9);
  EXPECT_FALSE(plan.complete);
  EXPECT_TRUE(plan.proven_too_large);
}

TEST(SolveExactTest, RefusesByTheLimitItIsGiven) {
  const FactorGraph graph = Grid(8, 8, 2, 5);
  const EliminationOrder plan = FindEliminationOrder(graph);
  ASSERT_TRUE(plan.complete);
  const auto bytes = static_cast<std::int64_t>(plan.bytes);
  EXPECT_EQ(SolveExact(graph, {.max_bytes = bytes}).bytes, bytes);
  EXPECT_THROW(SolveExact(graph, {.max_bytes = bytes / 4}), TooLarge);
}

TEST(PlanExactTest, SweepsGridsAtTheirTreewidth) {
  const EliminationOrder plan = FindEliminationOrder(Grid(20, 20, 2, 1));
  EXPECT_EQ(plan.induced_width, 20);
  EXPECT_LT(plan.bytes, 1e9);
}

TEST(PlanExactTest, EliminatesEveryVariableOnceWithLaterSeparators) {
  for (std::uint64_t seed = 400; seed < 420; ++seed) {
    const FactorGraph graph = RandomGraph({.variables = 20, .factors = 30}, seed);
    const EliminationOrder plan = FindEliminationOrder(graph);
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

LongSum PreciseEnergy(const FactorGraph& graph, const std::vector<int>& x) {
  LongSum energy;
  for (const Factor& factor : graph.factors) {
    std::size_t index = 0;
    for (int a : factor.scope) index = index * graph.cardinality[a] + x[a];
    energy.Add(factor.energy[index]);
  }
  return energy;
}

// The difference of T log Z_T and `claimed`, in about twice the digits of a long double.
long double MissedBy(const FactorGraph& graph, double temperature, double claimed,
                     LongSum* least_energy) {
  std::vector<LongSum> energies;
  std::vector<int> x(graph.cardinality.size(), 0);
  const auto next = [&] {
    for (std::size_t a = 0; a < x.size(); ++a) {
      if (++x[a] < graph.cardinality[a]) return true;
      x[a] = 0;
    }
    return false;
  };
  do {
    const LongSum energy = PreciseEnergy(graph, x);
    if (std::isfinite(energy.high)) energies.push_back(energy);
  } while (next());
  LongSum least = energies.front();
  for (const LongSum& energy : energies) {
    if (energy.Minus(least) < 0.0L) least = energy;
  }
  *least_energy = least;
  long double excess = 0.0L;
  if (temperature > 0.0) {
    long double sum = 0.0L;
    for (const LongSum& energy : energies) sum += std::exp(-energy.Minus(least) / temperature);
    excess = temperature * std::log(sum);
  }
  return std::abs(least.Minus(-static_cast<long double>(claimed)) - excess);
}

// The error is within its bound, which is at most `tight`.
void ExpectWithinError(const FactorGraph& graph, double temperature, double tight) {
  const ExactResult result = SolveExact(graph, {.temperature = temperature});
  LongSum least;
  EXPECT_LE(MissedBy(graph, temperature, result.log_partition, &least), result.error);
  EXPECT_LE(result.error, tight);
  if (temperature == 0.0) {
    EXPECT_LE(PreciseEnergy(graph, result.map_labeling).Minus(least), result.error);
  }
  const ExactResult slow = EnumerateExact(graph, temperature);
  EXPECT_LE(MissedBy(graph, temperature, slow.log_partition, &least), slow.error);
}

double LargestEnergies(const FactorGraph& graph) {
  double total = 0.0;
  for (const Factor& factor : graph.factors) {
    double largest = 0.0;
    for (double e : factor.energy) {
      if (std::isfinite(e)) largest = std::max(largest, std::abs(e));
    }
    total += largest;
  }
  return total;
}

const double kAnyTemperature[] = {0.0, 1e-300, 1e-12, 0.3, 1.0, 1e3, 1e12, 1e200};

// Terms of all sizes that cancel: the same table added and subtracted, and a small remainder.
FactorGraph NastyGraph(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const double zeros = seed % 3 == 0 ? 0.3 : 0.0;
  FactorGraph graph = RandomGraph(
      {.variables = 6, .max_cardinality = 3, .factors = 10, .zero_probability = zeros}, seed);
  const auto factors = graph.factors.size();
  for (std::size_t f = 0; f < factors; ++f) {
    const int size = static_cast<int>(random() % 120) - 60;
    for (double& e : graph.factors[f].energy) e = std::ldexp(e, size);
    if (random() % 2 == 0) {
      Factor opposite = graph.factors[f];
      for (double& e : opposite.energy) {
        if (std::isfinite(e)) e = -e * (1.0 + 1e-14 * static_cast<double>(random() % 100));
        if (!std::isfinite(e)) e = 0.0;
      }
      graph.factors.push_back(opposite);
    }
  }
  return graph;
}

TEST(SolveExactTest, TheErrorBoundsAllRounding) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const FactorGraph graph = NastyGraph(seed);
    for (double temperature : kAnyTemperature) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", T " << temperature);
      ExpectWithinError(graph, temperature, 1e-11 * (LargestEnergies(graph) + temperature));
    }
  }
}

TEST(SolveExactTest, TheErrorOfOrdinaryModelsIsSmall) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const FactorGraph graph = RandomGraph({}, seed);
    for (double temperature : {0.0, 0.3, 1.0, 2.5})
      ExpectWithinError(graph, temperature, 2e-13 * (1.0 + LargestEnergies(graph)));
  }
  const FactorGraph chain = Chain(3000, 3, 1.0, 5);
  const ExactResult result = SolveExact(chain, {});
  EXPECT_LE(result.error, 1e-13 * std::abs(result.log_partition) * 10.0);
  const ExactResult grid = SolveExact(Grid(10, 10, 3, 5), {});
  EXPECT_LE(grid.error, 3e-13 * std::abs(grid.log_partition));
}

// Labelings that are next to impossible cost no digits, however large their energies.
TEST(SolveExactTest, HugeEnergiesOfRareLabelingsDoNotCount) {
  FactorGraph graph = Chain(6, 3, 1.0, 6);
  for (Factor& factor : graph.factors) factor.energy.back() = 1e15;
  for (double temperature : {0.0, 1.0}) ExpectWithinError(graph, temperature, 1e-12);
}

// 1e16 + 1 is 1e16 in double precision, and the constant takes 1e16 away again.
TEST(SolveExactTest, KnowsThatDigitsAreGone) {
  const FactorGraph graph{{2, 2, 2},
                          {{{0}, {1e16, 3e16}}, {{1}, {1.0, 50.0}}, {{2}, {-1e16, 3e16}}}};
  for (double temperature : kAnyTemperature)
    ExpectWithinError(graph, temperature, 100.0 + 1e-13 * temperature);
  const FactorGraph metric{{3, 3},
                           {{{}, {-1e16}},
                            {{0}, {1.0, 0.03, 1e16}},
                            {{1}, {1e16, 1e16, 0.3}},
                            {{1, 0}, {0, 1e100, 1e100, 1e100, 0, 1e100, 1e100, 1e100, 0}}}};
  for (double temperature : {0.0, 1.0}) ExpectWithinError(metric, temperature, 200.0);
}

TEST(SolveExactTest, TheErrorOfAModelIncludesItsProducts) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    Matrix<double> unary(4, 3);
    for (std::size_t n = 0; n < unary.size(); ++n) unary.data()[n] = 1e-17 * uniform(random);
    LabelSpace labels = LinearLabels(3);
    const double unit = uniform(random);
    for (double& l : labels.metrics[0].length) l *= unit;
    labels.metrics[0].distance = CutDistance(*labels.cuts, labels.metrics[0].length);
    std::vector<Edge> edges = GridEdges(2, 2, 4, 1.0);
    for (Edge& e : edges) e.weight = uniform(random);
    // Constants cancel what the labeling 0, 1, 1, 1 costs but for the rounding of its products.
    const std::vector<int> x = {0, 1, 1, 1};
    const SparseCrf without(unary, edges, labels);
    const SparseCrf model(unary, edges, labels, -without.Energy(x));
    LongSum energy;
    energy.Add(model.constant());
    for (std::size_t a = 0; a < 4; ++a) energy.Add(unary(a, x[a]));
    for (const Edge& e : edges)
      energy.AddProduct(e.weight, labels.metrics[0].distance(x[e.a], x[e.b]));
    // Every other labeling is made impossible, in tables; the model itself is compared by its parts.
    FactorGraph graph = ToFactorGraph(model);
    const LongSum of_tables = PreciseEnergy(graph, x);
    const ExactResult of_model = SolveExact(model, {.temperature = 0.0});
    const ExactResult of_graph = SolveExact(graph, {.temperature = 0.0});
    EXPECT_GE(of_model.error - of_graph.error, std::abs(of_tables.Minus(energy)));
    EXPECT_LE(of_model.error, 1e-13);
  }
}

TEST(SolveExactTest, RefusesEnergiesAndTemperaturesThatOverflow) {
  EXPECT_THROW(SolveExact({{2}, {{{0}, {1e308, 0.0}}, {{0}, {1e308, 0.0}}}}), InvalidInput);
  EXPECT_THROW(SolveExact({{2}, {{{0}, {1.0, 0.0}}}}, {.temperature = 1.7e308}), InvalidInput);
}

TEST(SolveExactTest, GivesUpWhenToldTo) {
  const FactorGraph grid = Grid(14, 14, 3, 8);  // some seconds
  EXPECT_THROW(SolveExact(grid, {.time_limit_seconds = 0.0}), TimeLimit);
  int asked = 0;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(SolveExact(grid, {.interrupted = [&] { return ++asked == 100; }}), Interrupted);
  EXPECT_EQ(asked, 100);
  EXPECT_THROW(SolveExact(grid, {.time_limit_seconds = 0.2}), TimeLimit);
  EXPECT_LT(Seconds(start), 30.0);
  EXPECT_NO_THROW(SolveExact(Grid(3, 3, 3, 8),
                             {.time_limit_seconds = 1e6, .interrupted = [] { return false; }}));
}

}  // namespace
}  // namespace submarine::internal
