#include "submarine/bound/verify/sparse/routed_forest_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/verify/sparse/hybrid_dual.h"
#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/model/forest.h"

namespace submarine::internal {
namespace {

// x >= 0, the result of this many roundings, rounded downwards; 0 if it is too small to have a
// relative error.
double RoundedDown(double x, double roundings) {
  constexpr double kLeastWeight = 1e-300;
  const double below = x * (1.0 - (roundings + 2.0) * std::numeric_limits<double>::epsilon());
  return below > kLeastWeight ? below : 0.0;
}

bool Joins(const Edge& e, int a, int b) { return (e.a == a && e.b == b) || (e.a == b && e.b == a); }

// Whether the two edges join the ends of `edge` to a third variable.
bool IsTriangle(const Edge& edge, const Edge& first, const Edge& second) {
  for (const int c : {first.a, first.b}) {
    if (c == edge.a || c == edge.b) continue;
    return (Joins(first, edge.a, c) && Joins(second, edge.b, c)) ||
           (Joins(first, edge.b, c) && Joins(second, edge.a, c));
  }
  return false;
}

void CheckRoute(const SparseCrf& model, const std::vector<char>& in_forest, std::size_t k,
                const EdgeRoute& route) {
  const std::vector<Edge>& edges = model.edges();
  for (const std::size_t e : {route.edge, route.first, route.second}) {
    if (e >= edges.size()) {
      throw InvalidInput(
          fmt::format("route {} names edge {}, but the model has {} edges", k, e, edges.size()));
    }
  }
  if (!in_forest[route.edge]) {
    throw InvalidInput(
        fmt::format("route {} is for edge {}, which is not in the forest", k, route.edge));
  }
  const Edge& edge = edges[route.edge];
  const Edge& first = edges[route.first];
  const Edge& second = edges[route.second];
  if (!IsTriangle(edge, first, second)) {
    throw InvalidInput(
        fmt::format("route {} is over the edges {} and {}, expected edges that join the ends {} "
                    "and {} of edge {} to a common third variable",
                    k, route.first, route.second, edge.a, edge.b, route.edge));
  }
  if (first.metric != edge.metric || second.metric != edge.metric) {
    throw InvalidInput(fmt::format(
        "route {} is over edges whose metrics differ from that of edge {}, expected the same", k,
        route.edge));
  }
  if (!(route.amount >= 0.0) || !std::isfinite(route.amount)) {
    throw InvalidInput(
        fmt::format("route {} has the amount {}, expected a finite number >= 0", k, route.amount));
  }
}

// The model after routing. Its weights are rounded downwards, which can only lower the energy.
SparseCrf RoutedModel(const SparseCrf& model, const HybridPart& evidence) {
  CheckForest(evidence.forest, Links(model), model.num_variables());
  std::vector<char> in_forest(model.num_edges(), 0);
  for (const std::size_t e : evidence.forest) in_forest[e] = 1;
  std::vector<UpwardSum> spent(model.num_edges());
  std::vector<double> gained(model.num_edges(), 0.0);
  std::vector<double> routes_to(model.num_edges(), 0.0);
  for (std::size_t k = 0; k < evidence.routes.size(); ++k) {
    const EdgeRoute& route = evidence.routes[k];
    CheckRoute(model, in_forest, k, route);
    spent[route.first].Add(route.amount);
    spent[route.second].Add(route.amount);
    gained[route.edge] += route.amount;
    routes_to[route.edge] += 1.0;
  }
  std::vector<std::optional<double>> factor(model.labels().metrics.size());
  std::vector<Edge> edges = model.edges();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    Edge& edge = edges[e];
    const double used = spent[e].Above();
    if (!(used <= edge.weight)) {
      throw InvalidInput(
          fmt::format("the routes spend {} of edge {} between variables {} and {}, which weighs {}",
                      used, e, edge.a, edge.b, edge.weight));
    }
    if (used > 0.0) edge.weight = RoundedDown(edge.weight - used, 0.0);
    if (gained[e] == 0.0) continue;
    std::optional<double>& of_metric = factor[static_cast<std::size_t>(edge.metric)];
    if (!of_metric) of_metric = TriangleFactor(model.metric(edge).distance);
    edge.weight = RoundedDown(edge.weight + *of_metric * gained[e], routes_to[e] + 2.0);
  }
  return {model.unary(), std::move(edges), model.labels(), model.constant()};
}

}  // namespace

double TriangleFactor(const Matrix<double>& distance) {
  const std::size_t labels = distance.rows();
  double factor = 1.0;
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = 0; j < labels; ++j) {
      const double direct = std::max(distance(i, j), distance(j, i));
      if (direct == 0.0) continue;
      for (std::size_t k = 0; k < labels; ++k) {
        const double detour =
            std::min(distance(i, k), distance(k, i)) + std::min(distance(k, j), distance(j, k));
        factor = std::min(factor, detour / direct);
      }
    }
  }
  return factor * (1.0 - 4.0 * std::numeric_limits<double>::epsilon());
}

Bound VerifiedRoutedUpper(const SparseCrf& model, const HybridPart& evidence, double temperature) {
  return VerifiedHybridUpper(RoutedModel(model, evidence), evidence.forest, evidence.flow,
                             temperature);
}

Bound VerifiedRoutedDual(const SparseCrf& model, const HybridPart& evidence, double temperature) {
  return VerifiedHybridDual(RoutedModel(model, evidence), evidence.forest, evidence.costs,
                            temperature);
}

}  // namespace submarine::internal
