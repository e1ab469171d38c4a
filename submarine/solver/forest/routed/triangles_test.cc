#include "submarine/solver/forest/routed/triangles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

// Every triple of edges, by definition.
TEST(Triangles, AreThoseOfTheDefinition) {
  RandomModels random(1);
  for (int trial = 0; trial < 100; ++trial) {
    const SparseCrf simple = random.Model(random.Integer(3, 7), 3);
    std::vector<Edge> edges = simple.edges();
    if (!edges.empty() && trial % 2 == 0) {  // parallel edges
      edges.push_back(edges.front());
      std::swap(edges.back().a, edges.back().b);
    }
    const SparseCrf model(simple.unary(), edges, simple.labels());
    std::set<std::tuple<std::size_t, std::size_t, std::size_t>> expected;
    const auto other = [](const Edge& e, int a) { return e.a == a ? e.b : e.b == a ? e.a : -1; };
    for (std::size_t e = 0; e < edges.size(); ++e) {
      for (std::size_t f = 0; f < edges.size(); ++f) {
        for (std::size_t g = 0; g < edges.size(); ++g) {
          const int c = other(edges[f], edges[e].a);
          if (c >= 0 && c != edges[e].b && other(edges[g], edges[e].b) == c &&
              edges[f].weight > 0.0 && edges[g].weight > 0.0)
            expected.emplace(e, f, g);
        }
      }
    }
    std::vector<std::size_t> all(edges.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const TriangleFinder finder(model);
    std::set<std::tuple<std::size_t, std::size_t, std::size_t>> found;
    for (const Triangle& t : finder.Of(all)) found.emplace(t.edge, t.first, t.second);
    EXPECT_EQ(found, expected);
    const bool usable = std::any_of(expected.begin(), expected.end(), [&](const auto& t) {
      return edges[std::get<0>(t)].weight > 0.0;
    });
    EXPECT_EQ(finder.Any(), usable);
  }
}

TEST(Triangles, GridsHaveThemAlongDiagonals) {
  const SparseCrf four(Matrix<double>(20, 2), GridEdges(5, 4, 4, 1.0), PottsLabels(2));
  EXPECT_FALSE(TriangleFinder(four).Any());
  EXPECT_FALSE(HasTriangles(four));
  const SparseCrf eight(Matrix<double>(20, 2), GridEdges(5, 4, 8, 1.0), PottsLabels(2));
  EXPECT_TRUE(TriangleFinder(eight).Any());
  EXPECT_TRUE(HasTriangles(eight));
  // An inner edge of a row has four triangles, a diagonal two: 1 + 4/2 and 1 + 2/2.
  const std::vector<double> weights = TriangleFinder(eight).RoutedWeights();
  for (std::size_t e = 0; e < weights.size(); ++e) {
    const Edge& edge = eight.edges()[e];
    const int step = std::abs(edge.a - edge.b);
    if (step == 1 && edge.a / 5 == 1) {
      EXPECT_EQ(weights[e], 3.0);
    }
    if (step == 4 || step == 6) {
      EXPECT_EQ(weights[e], 2.0);
    }
  }
}

TEST(Triangles, LeavesOutDistancesThatAreNoMetricAndOtherMetrics) {
  LabelSpace labels = PottsLabels(3);
  const std::vector<Edge> triangle = {{0, 1, 1.0}, {1, 2, 1.0}, {2, 0, 1.0}};
  EXPECT_TRUE(TriangleFinder(SparseCrf(Matrix<double>(3, 3), triangle, labels)).Any());
  LabelSpace two = labels;
  two.metrics.push_back(two.metrics.front());
  std::vector<Edge> mixed = triangle;
  mixed[2].metric = 1;
  const SparseCrf mixed_metrics(Matrix<double>(3, 3), mixed, two);
  EXPECT_FALSE(TriangleFinder(mixed_metrics).Any());
  EXPECT_TRUE(HasTriangles(mixed_metrics));
  labels.metrics.front().distance(0, 2) = labels.metrics.front().distance(2, 0) = 3.0;
  EXPECT_FALSE(TriangleFinder(SparseCrf(Matrix<double>(3, 3), triangle, labels)).Any());
}

}  // namespace
}  // namespace submarine::internal
