#include "submarine/model/sparse_crf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "submarine/base/error.h"

namespace submarine {
namespace {

void CheckUnary(const Matrix<double>& unary, int num_labels) {
  if (unary.rows() == 0) throw InvalidInput("the model has no variables, expected at least 1");
  if (unary.rows() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw InvalidInput(
        fmt::format("the model has {} variables, at most 2^31 - 1 are supported", unary.rows()));
  }
  if (unary.cols() != static_cast<std::size_t>(num_labels)) {
    throw InvalidInput(fmt::format("the unaries have {} labels, the label metric has {}",
                                   unary.cols(), num_labels));
  }
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    for (std::size_t i = 0; i < unary.cols(); ++i) {
      if (!std::isfinite(unary(a, i))) {
        throw InvalidInput(
            fmt::format("the unary of variable {}, label {} is {}, expected a finite number", a, i,
                        unary(a, i)));
      }
    }
  }
}

void CheckEdge(std::size_t index, const Edge& e, std::size_t variables, std::size_t metrics) {
  const auto in_range = [&](int a) { return a >= 0 && static_cast<std::size_t>(a) < variables; };
  if (!in_range(e.a) || !in_range(e.b)) {
    throw InvalidInput(fmt::format("edge {} joins variables {} and {}, but the variables are 0..{}",
                                   index, e.a, e.b, variables - 1));
  }
  if (e.a == e.b)
    throw InvalidInput(fmt::format("edge {} joins variable {} to itself", index, e.a));
  if (!std::isfinite(e.weight) || e.weight < 0.0) {
    throw InvalidInput(fmt::format(
        "edge {} between variables {} and {} has weight {}, expected a finite number >= 0", index,
        e.a, e.b, e.weight));
  }
  if (e.metric < 0 || static_cast<std::size_t>(e.metric) >= metrics) {
    throw InvalidInput(
        fmt::format("edge {} names label metric {}, but there are {}", index, e.metric, metrics));
  }
}

// Every sum formed by a solver or a certificate is at most a few times the sum of the largest
// terms.
void CheckTotal(const Matrix<double>& unary, const std::vector<Edge>& edges,
                const LabelSpace& labels, double constant) {
  constexpr double kLargestTotal = 1e300;
  double total = std::abs(constant);
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    double largest = 0.0;
    for (double phi : unary.row(a)) largest = std::max(largest, std::abs(phi));
    total += largest;
  }
  std::vector<double> diameter;
  for (const LabelMetric& metric : labels.metrics) {
    const Matrix<double>& d = metric.distance;
    diameter.push_back(*std::max_element(d.data(), d.data() + d.size()));
  }
  for (const Edge& e : edges) total += e.weight * diameter[static_cast<std::size_t>(e.metric)];
  if (!(total <= kLargestTotal)) {
    throw InvalidInput(
        fmt::format("the energies are too large to add up: their largest terms sum to {:g}, "
                    "expected at most {:g}",
                    total, kLargestTotal));
  }
}

}  // namespace

SparseCrf::SparseCrf(Matrix<double> unary, std::vector<Edge> edges, LabelSpace labels,
                     double constant)
    : unary_(std::move(unary)),
      edges_(std::move(edges)),
      labels_(std::move(labels)),
      constant_(constant) {
  CheckLabelSpace(labels_);
  CheckUnary(unary_, labels_.num_labels());
  if (!std::isfinite(constant_)) {
    throw InvalidInput(
        fmt::format("the constant energy is {}, expected a finite number", constant_));
  }
  const std::size_t variables = unary_.rows();
  incidence_begin_.assign(variables + 1, 0);
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    CheckEdge(e, edges_[e], variables, labels_.metrics.size());
    ++incidence_begin_[static_cast<std::size_t>(edges_[e].a) + 1];
    ++incidence_begin_[static_cast<std::size_t>(edges_[e].b) + 1];
  }
  CheckTotal(unary_, edges_, labels_, constant_);
  for (std::size_t a = 0; a < variables; ++a) incidence_begin_[a + 1] += incidence_begin_[a];
  incidence_.resize(2 * edges_.size());
  std::vector<std::size_t> next(incidence_begin_.begin(), incidence_begin_.end() - 1);
  for (std::size_t e = 0; e < edges_.size(); ++e) {
    incidence_[next[static_cast<std::size_t>(edges_[e].a)]++] = {static_cast<std::uint32_t>(e), +1};
    incidence_[next[static_cast<std::size_t>(edges_[e].b)]++] = {static_cast<std::uint32_t>(e), -1};
  }
}

double SparseCrf::Energy(std::span<const int> labeling) const {
  double energy = constant_;
  for (std::size_t a = 0; a < unary_.rows(); ++a)
    energy += unary_(a, static_cast<std::size_t>(labeling[a]));
  for (const Edge& e : edges_) {
    const auto i = static_cast<std::size_t>(labeling[static_cast<std::size_t>(e.a)]);
    const auto j = static_cast<std::size_t>(labeling[static_cast<std::size_t>(e.b)]);
    energy += e.weight * metric(e).distance(i, j);
  }
  return energy;
}

std::string SparseCrf::Description() const {
  return fmt::format("sparse CRF with {} variables, {} edges, {} labels, metric {}",
                     num_variables(), num_edges(), num_labels(), MetricText(labels_));
}

std::vector<Edge> GridEdges(int width, int height, int connectivity, double weight) {
  if (width < 1 || height < 1) {
    throw InvalidInput(fmt::format("a grid of {} x {} has no variables", width, height));
  }
  if (static_cast<std::int64_t>(width) * height > std::numeric_limits<int>::max()) {
    throw InvalidInput(
        fmt::format("a grid of {} x {} has more than 2^31 - 1 variables", width, height));
  }
  if (connectivity != 4 && connectivity != 8) {
    throw InvalidInput(fmt::format("a grid is 4- or 8-connected, not {}", connectivity));
  }
  std::vector<Edge> edges;
  edges.reserve(static_cast<std::size_t>(connectivity / 2) * static_cast<std::size_t>(width) *
                static_cast<std::size_t>(height));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int a = y * width + x;
      if (x + 1 < width) edges.push_back({a, a + 1, weight});
      if (y + 1 < height) edges.push_back({a, a + width, weight});
      if (connectivity == 8 && y + 1 < height) {
        if (x > 0) edges.push_back({a, a + width - 1, weight});
        if (x + 1 < width) edges.push_back({a, a + width + 1, weight});
      }
    }
  }
  return edges;
}

FactorGraph ToFactorGraph(const SparseCrf& model) {
  FactorGraph graph;
  graph.cardinality.assign(model.num_variables(), model.num_labels());
  if (model.constant() != 0.0) graph.factors.push_back({{}, {model.constant()}});
  for (std::size_t a = 0; a < model.num_variables(); ++a) {
    const auto row = model.unary().row(a);
    graph.factors.push_back({{static_cast<int>(a)}, {row.begin(), row.end()}});
  }
  for (const Edge& e : model.edges()) {
    const Matrix<double>& d = model.metric(e).distance;
    Factor factor{{e.a, e.b}, {d.data(), d.data() + d.size()}};
    for (double& energy : factor.energy) energy *= e.weight;
    graph.factors.push_back(std::move(factor));
  }
  return graph;
}

}  // namespace submarine
