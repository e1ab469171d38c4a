#include "submarine/solver/forest/routed/triangles.h"

#include <algorithm>
#include <utility>

namespace submarine::internal {
namespace {

// Smaller weights are too small for fractions of them to have a relative error.
constexpr double kLeastWeight = 1e-200;

// Fitted or normalised distances satisfy the triangle inequality up to rounding; the verifier
// corrects for the rest.
constexpr double kTolerance = 1e-12;

bool SatisfiesTriangleInequality(const Matrix<double>& distance) {
  const std::size_t labels = distance.rows();
  for (std::size_t i = 0; i < labels; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double* from_i = distance.row(i).data();
      const double* from_j = distance.row(j).data();
      double least = from_i[j];
      for (std::size_t k = 0; k < labels; ++k) least = std::min(least, from_i[k] + from_j[k]);
      if (least < from_i[j] * (1.0 - kTolerance)) return false;
    }
  }
  return true;
}

}  // namespace

TriangleFinder::TriangleFinder(const SparseCrf& model)
    : model_(model), usable_(model.num_edges(), 0), begin_(model.num_variables() + 1, 0) {
  std::vector<char> routable;
  for (const LabelMetric& metric : model.labels().metrics)
    routable.push_back(SatisfiesTriangleInequality(metric.distance) ? 1 : 0);
  const std::vector<Edge>& edges = model.edges();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    usable_[e] =
        edges[e].weight >= kLeastWeight ? routable[static_cast<std::size_t>(edges[e].metric)] : 0;
    if (!usable_[e]) continue;
    ++begin_[static_cast<std::size_t>(edges[e].a) + 1];
    ++begin_[static_cast<std::size_t>(edges[e].b) + 1];
  }
  for (std::size_t a = 0; a + 1 < begin_.size(); ++a) begin_[a + 1] += begin_[a];
  neighbours_.resize(begin_.back());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (!usable_[e]) continue;
    neighbours_[next[static_cast<std::size_t>(edges[e].a)]++] = {edges[e].b, e};
    neighbours_[next[static_cast<std::size_t>(edges[e].b)]++] = {edges[e].a, e};
  }
  for (std::size_t a = 0; a + 1 < begin_.size(); ++a) {
    std::sort(neighbours_.begin() + static_cast<std::ptrdiff_t>(begin_[a]),
              neighbours_.begin() + static_cast<std::ptrdiff_t>(begin_[a + 1]),
              [](const Neighbour& x, const Neighbour& y) {
                return std::pair(x.variable, x.edge) < std::pair(y.variable, y.edge);
              });
  }
}

void TriangleFinder::Append(std::size_t e, std::vector<Triangle>* triangles) const {
  const Edge& edge = model_.edges()[e];
  const int metric = edge.metric;
  std::span<const Neighbour> few = NeighboursOf(edge.a);
  std::span<const Neighbour> many = NeighboursOf(edge.b);
  const bool swapped = few.size() > many.size();
  if (swapped) std::swap(few, many);
  for (const Neighbour& third : few) {
    if (third.variable == edge.a || third.variable == edge.b ||
        model_.edges()[third.edge].metric != metric)
      continue;
    auto at =
        std::lower_bound(many.begin(), many.end(), third.variable,
                         [](const Neighbour& n, int variable) { return n.variable < variable; });
    for (; at != many.end() && at->variable == third.variable; ++at) {
      if (model_.edges()[at->edge].metric != metric) continue;
      triangles->push_back(swapped ? Triangle{e, at->edge, third.edge}
                                   : Triangle{e, third.edge, at->edge});
    }
  }
}

std::vector<Triangle> TriangleFinder::Of(std::span<const std::size_t> edges) const {
  std::vector<Triangle> triangles;
  for (const std::size_t e : edges) Append(e, &triangles);
  return triangles;
}

bool TriangleFinder::Any() const {
  std::vector<Triangle> triangles;
  for (std::size_t e = 0; e < model_.num_edges() && triangles.empty(); ++e)
    if (usable_[e]) Append(e, &triangles);
  return !triangles.empty();
}

std::vector<double> TriangleFinder::RoutedWeights() const {
  std::vector<double> weights;
  std::vector<Triangle> triangles;
  for (std::size_t e = 0; e < model_.num_edges(); ++e) {
    triangles.clear();
    Append(e, &triangles);
    double weight = model_.edges()[e].weight;
    for (const Triangle& triangle : triangles) {
      weight += 0.5 * std::min(model_.edges()[triangle.first].weight,
                               model_.edges()[triangle.second].weight);
    }
    weights.push_back(weight);
  }
  return weights;
}

bool HasTriangles(const SparseCrf& model) {
  std::vector<Edge> edges;
  for (const Edge& e : model.edges()) edges.push_back({e.a, e.b});
  const SparseCrf graph(Matrix<double>(model.num_variables(), 2), std::move(edges), PottsLabels(2));
  return TriangleFinder(graph).Any();
}

}  // namespace submarine::internal
