// What routing on sparse graphs promises, over thousands of random models of up to 14 variables: the exact
// value below, no edge spending more than it has, share 0 the hybrid bound, and never looser than it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "submarine/bound/verify/sparse/routed_forest_verifier.h"
#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/model/forest.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/forest/routed/routed_hybrid.h"
#include "submarine/solver/forest/routed/triangles.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

double Rounding(double value) { return 1e-9 * (1.0 + std::abs(value)); }

// Up to 14 variables where there are two labels, some weights large and some graphs complete.
SparseCrf RandomModel(RandomModels* random) {
  const int labels = random->Integer(2, 4);
  const int most = labels == 2 ? 14 : labels == 3 ? 9 : 7;
  const double strength = std::pow(10.0, random->Real(-1.5, 0.5));
  SparseCrf model = random->Model(random->Integer(2, most), random->Labels(labels),
                                  -random->Real(0.1, 5.0), random->Real(0.1, 5.0));
  std::vector<Edge> edges = model.edges();
  for (Edge& e : edges) e.weight *= strength;
  return {model.unary(), std::move(edges), model.labels(), model.constant()};
}

// Edges in a random order, each with this probability, where they close no cycle.
std::vector<std::size_t> RandomForest(const SparseCrf& model, double density,
                                      RandomModels* random) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t e = 0; e < model.num_edges(); ++e) order.emplace_back(random->Real(0.0, 1.0), e);
  std::sort(order.begin(), order.end());
  DisjointSets together(model.num_variables());
  std::vector<std::size_t> forest;
  for (const auto& [at, e] : order) {
    const Edge& edge = model.edges()[e];
    if (random->Real(0.0, 1.0) < density &&
        together.Join(static_cast<std::size_t>(edge.a), static_cast<std::size_t>(edge.b)))
      forest.push_back(e);
  }
  return forest;
}

// Any routes of any amounts, scaled down until no edge spends more than `share` of what it has.
std::vector<EdgeRoute> RandomRoutes(const SparseCrf& model, const std::vector<std::size_t>& forest,
                                    double share, RandomModels* random) {
  std::vector<EdgeRoute> routes;
  std::vector<double> spent(model.num_edges(), 0.0);
  for (const Triangle& t : TriangleFinder(model).Of(forest)) {
    if (random->Integer(0, 2) == 0) continue;
    routes.push_back({t.edge, t.first, t.second, random->Real(0.0, 1.0)});
    spent[t.first] += routes.back().amount;
    spent[t.second] += routes.back().amount;
  }
  double scale = 1e300;
  for (std::size_t e = 0; e < spent.size(); ++e)
    if (spent[e] > 0.0) scale = std::min(scale, model.edges()[e].weight / spent[e]);
  for (EdgeRoute& route : routes) route.amount *= share * scale * (1.0 - 1e-12);
  return routes;
}

// 3000 models, random forests, routes, flows and temperatures: nothing about a solver enters.
TEST(RoutedForest, EveryEvidenceBoundsTheExactValue) {
  RandomModels random(601);
  int routed = 0;
  for (int trial = 0; trial < 3000 && !HasFailure(); ++trial) {
    const SparseCrf model = RandomModel(&random);
    const double T = trial % 3 == 0 ? random.Real(0.3, 3.0) : 1.0;
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const double exact = SolveExact(ToFactorGraph(model), {T}).log_partition;
    HybridPart part;
    part.forest = RandomForest(model, random.Real(0.0, 1.3), &random);
    part.routes = RandomRoutes(model, part.forest, random.Real(0.0, 1.0), &random);
    part.flow =
        random.Points(model.num_edges(), static_cast<std::size_t>(model.num_cuts()), -1.0, 1.0);
    part.costs = random.Points(model.num_variables(), model.unary().cols(), -3.0, 3.0);
    const double upper = VerifiedRoutedUpper(model, part, T);
    EXPECT_GE(upper, exact - 1e-12 * (1.0 + std::abs(exact)));
    EXPECT_LE(VerifiedRoutedDual(model, part, T), upper);
    if (!part.routes.empty()) ++routed;
    part.routes.clear();
    EXPECT_EQ(VerifiedRoutedUpper(model, part, T).value(),
              VerifiedHybridUpper(model, part.forest, part.flow, T).value());
  }
  EXPECT_GT(routed, 1500);
}

// 2000 models: the solver's own routes, with shares from 0 to 1.
TEST(RoutedForest, TheSolverKeepsItsPromises) {
  RandomModels random(602);
  double gained = 0.0;
  for (int trial = 0; trial < 2000 && !HasFailure(); ++trial) {
    const SparseCrf model = RandomModel(&random);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    RoutedHybridOptions options;
    options.temperature = trial % 3 == 0 ? random.Real(0.3, 3.0) : 1.0;
    options.relative_gap = 1e-3;
    options.max_iterations = 2000;
    options.share = trial % 4 == 0 ? 0.0 : trial % 4 == 1 ? 1.0 : random.Real(0.0, 1.0);
    options.edges = RandomForest(model, random.Real(0.5, 1.3), &random);
    const double exact = SolveExact(ToFactorGraph(model), {options.temperature}).log_partition;
    const HybridResult plain = SolveHybrid(model, options);
    const HybridResult routed = SolveRoutedHybrid(model, options);
    const HybridPart& part = routed.parts.front();
    const double verified = VerifiedRoutedUpper(model, part, options.temperature);
    EXPECT_GE(verified, exact - 1e-12 * (1.0 + std::abs(exact)));
    EXPECT_NEAR(verified, routed.upper, Rounding(verified) + 1e-7 * std::abs(verified));
    // u <= share w, by adding up.
    std::vector<double> spent(model.num_edges(), 0.0);
    for (const EdgeRoute& route : part.routes) {
      spent[route.first] += route.amount;
      spent[route.second] += route.amount;
    }
    for (std::size_t e = 0; e < spent.size(); ++e)
      EXPECT_LE(spent[e], options.share * model.edges()[e].weight);
    if (options.share == 0.0) {
      EXPECT_EQ(routed.upper, plain.upper);
    } else if (routed.termination == Termination::kGapReached &&
               plain.termination == Termination::kGapReached) {
      // No looser than hybrid, but for the gap that both were solved to.
      EXPECT_LE(routed.upper, plain.upper + 1e-3 * std::max(1.0, std::abs(plain.upper)));
    }
    gained += std::max(0.0, plain.dual - routed.upper);
  }
  EXPECT_GT(gained, 100.0);
}

}  // namespace
}  // namespace submarine::internal
