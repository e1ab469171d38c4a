#include "submarine/bound/verify/sparse/routed_forest_verifier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/bound/verify/sparse/hybrid_dual.h"
#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::RandomModels;

// Two triangles, 0-1-2 and 1-2-3, and an edge that belongs to none.
//   edge 0: 0-1, 1: 1-2, 2: 0-2, 3: 2-3, 4: 3-1, 5: 3-4
SparseCrf TwoTriangles(RandomModels* random, LabelSpace labels) {
  Matrix<double> unary =
      random->Points(5, static_cast<std::size_t>(labels.num_labels()), -2.0, 2.0);
  return {std::move(unary),
          {{0, 1, 1.0}, {1, 2, 0.5}, {2, 0, 2.0}, {2, 3, 1.5}, {3, 1, 0.75}, {3, 4, 1.0}},
          std::move(labels),
          0.25};
}

HybridPart Evidence(const SparseCrf& model) {
  HybridPart part;
  part.forest = {0, 3, 1, 5};
  part.flow = Matrix<double>(model.num_edges(), static_cast<std::size_t>(model.num_cuts()), 0.5);
  part.costs = model.unary();
  part.routes = {{1, 0, 2, 0.25}, {1, 3, 4, 0.5}, {3, 1, 4, 0.125}};
  return part;
}

// The derived model by hand: weights that are exact in binary, so that nothing but the last ulps differ.
TEST(RoutedForestVerifierTest, IsTheHybridBoundOfWhatIsLeft) {
  RandomModels random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const SparseCrf model = TwoTriangles(&random, random.Labels(3));
    const HybridPart part = Evidence(model);
    std::vector<Edge> edges = model.edges();
    const std::vector<double> left = {0.75, 0.5 - 0.125 + 0.75, 1.75, 1.0 + 0.125, 0.125, 1.0};
    for (std::size_t e = 0; e < edges.size(); ++e) edges[e].weight = left[e];
    const SparseCrf routed(model.unary(), edges, model.labels(), model.constant());
    const double upper = VerifiedRoutedUpper(model, part, 1.0);
    EXPECT_NEAR(upper, VerifiedHybridUpper(routed, part.forest, part.flow, 1.0), 1e-11);
    EXPECT_NEAR(VerifiedRoutedDual(model, part, 1.0),
                VerifiedHybridDual(routed, part.forest, part.costs, 1.0), 1e-11);
    HybridPart plain = part;
    plain.routes.clear();
    EXPECT_EQ(VerifiedRoutedUpper(model, plain, 1.0).value(),
              VerifiedHybridUpper(model, plain.forest, plain.flow, 1.0).value());
  }
}

TEST(RoutedForestVerifierTest, RefusesWhatIsNoProof) {
  RandomModels random(2);
  const SparseCrf model = TwoTriangles(&random, PottsLabels(3));
  const auto with = [&](auto change) {
    HybridPart part = Evidence(model);
    change(&part);
    return [&model, part] { VerifiedRoutedUpper(model, part, 1.0); };
  };
  EXPECT_NO_THROW(with([](HybridPart*) {})());
  ExpectInvalid(with([](HybridPart* p) { p->routes[1].amount = 0.7; }), "the routes spend");
  // One ulp too much is too much: 0.625 + 0.125 is all that edge 4 has.
  EXPECT_NO_THROW(with([](HybridPart* p) { p->routes[1].amount = 0.625 * (1.0 - 1e-12); })());
  ExpectInvalid(with([](HybridPart* p) { p->routes[1].amount = std::nextafter(0.625, 1.0); }),
                "the routes spend");
  ExpectInvalid(with([](HybridPart* p) { p->forest.push_back(4); }), "closes a cycle");
  ExpectInvalid(with([](HybridPart* p) { p->routes[0].amount = -0.25; }), "has the amount -0.25");
  ExpectInvalid(with([](HybridPart* p) { p->routes[0].amount = std::nan(""); }), "has the amount");
  ExpectInvalid(
      with([](HybridPart* p) { p->routes[0].amount = std::numeric_limits<double>::infinity(); }),
      "has the amount");
  // A third variable that is not next to both ends; edges that are no triangle; the edge itself.
  ExpectInvalid(with([](HybridPart* p) { p->routes[0].second = 5; }), "route 0 is over the edges");
  ExpectInvalid(with([](HybridPart* p) { p->routes[0].first = 3; }), "route 0 is over the edges");
  ExpectInvalid(with([](HybridPart* p) { p->routes[0].first = 1; }), "route 0 is over the edges");
  ExpectInvalid(with([](HybridPart* p) { p->routes[0].second = 0; }), "route 0 is over the edges");
  ExpectInvalid(with([](HybridPart* p) { p->routes[0].first = 6; }), "names edge 6");
  ExpectInvalid(with([](HybridPart* p) { p->routes[0].edge = 4; }), "not in the forest");
  ExpectInvalid(with([](HybridPart* p) { p->flow(2, 0) = 1.5; }), "carries the flow 1.5");
  ExpectInvalid(with([](HybridPart* p) { p->flow = Matrix<double>(2, 2); }), "the flow is 2 x 2");
}

TEST(RoutedForestVerifierTest, RefusesOtherMetrics) {
  RandomModels random(3);
  LabelSpace labels = PottsLabels(3);
  labels.metrics.push_back(labels.metrics.front());
  SparseCrf model = TwoTriangles(&random, labels);
  std::vector<Edge> edges = model.edges();
  edges[2].metric = 1;
  const SparseCrf mixed(model.unary(), edges, labels, model.constant());
  const HybridPart part = Evidence(mixed);
  ExpectInvalid([&] { VerifiedRoutedUpper(mixed, part, 1.0); }, "metrics differ");
}

TEST(RoutedForestVerifierTest, CountsWhatTheTriangleInequalityMisses) {
  EXPECT_NEAR(TriangleFactor(LinearLabels(5).metrics.front().distance), 1.0, 1e-14);
  EXPECT_LE(TriangleFactor(PottsLabels(4).metrics.front().distance), 1.0);
  Matrix<double> squared(3, 3);  // (i - j)^2: 1 + 1 is half of 4
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j)
      squared(i, j) = (static_cast<double>(i) - static_cast<double>(j)) *
                      (static_cast<double>(i) - static_cast<double>(j));
  }
  EXPECT_NEAR(TriangleFactor(squared), 0.5, 1e-14);
  EXPECT_LE(TriangleFactor(squared), 0.5);
  Matrix<double> one_way(2, 2);
  one_way(0, 1) = 2.0;
  one_way(1, 0) = 1.0;
  EXPECT_NEAR(TriangleFactor(one_way), 0.5, 1e-14);
}

// The energy of what is left is nowhere above the model's, for every labeling, metrics or not: a bound
// with no flows at all and a forest of all edges with routes is compared by enumeration.
TEST(RoutedForestVerifierTest, HoldsForDistancesThatAreNoMetric) {
  RandomModels random(4);
  for (int trial = 0; trial < 200; ++trial) {
    LabelSpace labels = PottsLabels(3);
    LabelMetric& metric = labels.metrics.front();
    // Distances of at least Potts': flows, which know the cuts only, stay valid.
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < i; ++j)
        metric.distance(i, j) = metric.distance(j, i) = random.Real(1.0, 6.0);
    }
    metric.distortion = 6.0;
    const SparseCrf model = TwoTriangles(&random, labels);
    const HybridPart part = Evidence(model);
    double sum = 0.0;
    std::vector<int> x(5, 0);
    do {
      sum += std::exp(-model.Energy(x));
    } while (testing::NextLabeling(&x, 3));
    EXPECT_GE(VerifiedRoutedUpper(model, part, 1.0), std::log(sum) - 1e-12);
  }
}

// One triangle whose unaries force the labels 0, 2 and 1, with distances (i - j)^2: the model's
// energy is 4 + 1 + 1, but routing everything to the edge, ignoring that d is not a metric, would
// make it 2 x 4.
TEST(RoutedForestVerifierTest, DoesNotTrustDistancesToBeAMetric) {
  LabelSpace labels = PottsLabels(3);
  LabelMetric& metric = labels.metrics.front();
  metric.distance(0, 2) = metric.distance(2, 0) = 4.0;
  metric.distortion = 4.0;
  Matrix<double> unary(3, 3, 100.0);
  unary(0, 0) = unary(1, 2) = unary(2, 1) = 0.0;
  const SparseCrf model(unary, {{0, 1, 1.0}, {0, 2, 1.0}, {2, 1, 1.0}}, labels);
  double sum = 0.0;
  std::vector<int> x(3, 0);
  do {
    sum += std::exp(-model.Energy(x));
  } while (testing::NextLabeling(&x, 3));
  ASSERT_NEAR(std::log(sum), -6.0, 1e-12);
  HybridPart part;
  part.forest = {0};
  part.routes = {{0, 1, 2, 1.0 - 1e-12}};
  part.flow = Matrix<double>(3, static_cast<std::size_t>(model.num_cuts()));
  const double upper = VerifiedRoutedUpper(model, part, 1.0);
  EXPECT_GE(upper, std::log(sum));
  EXPECT_NEAR(upper, -6.0, 1e-9);  // 1 + 1/2, times 4
}

}  // namespace
}  // namespace submarine::internal
