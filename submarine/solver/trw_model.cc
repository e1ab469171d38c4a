#include "submarine/solver/trw_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "submarine/base/error.h"

namespace submarine {
namespace {

constexpr double kLargestBytes = 8e9;

// exp of minus this is 0 in double precision, compared with 1.
constexpr double kNegligible = 700.0;

double LargestFinite(const std::vector<double>& energies) {
  double largest = 0.0;
  for (double e : energies) {
    if (std::isfinite(e)) largest = std::max(largest, std::abs(e));
  }
  return largest;
}

}  // namespace

PairwiseModel ToPairwise(const SparseCrf& model) {
  PairwiseModel pairwise;
  pairwise.labels.assign(model.unary().rows(), model.unary().cols());
  pairwise.unary = model.unary();
  pairwise.links = Links(model);
  pairwise.constant = model.constant();
  for (const LabelMetric& metric : model.labels().metrics) {
    pairwise.shapes.push_back(std::make_shared<MetricShape>(ShapeOf(*model.labels().cuts, metric)));
  }
  for (const Edge& e : model.edges()) pairwise.pairs.push_back({e.metric, e.weight, -1});
  return pairwise;
}

PairwiseModel ToPairwise(const FactorGraph& graph, double temperature) {
  Validate(graph);
  if (graph.cardinality.empty())
    throw InvalidInput("the model has no variables, expected at least 1");
  PairwiseModel pairwise;
  std::size_t most = 0;
  for (int labels : graph.cardinality) {
    pairwise.labels.push_back(static_cast<std::size_t>(labels));
    most = std::max(most, static_cast<std::size_t>(labels));
  }
  const double bytes =
      8.0 * static_cast<double>(most) * static_cast<double>(pairwise.labels.size());
  if (bytes > kLargestBytes) {
    throw TooLarge(fmt::format("{} variables with up to {} labels need {:.3g} GB for their unaries",
                               pairwise.labels.size(), most, 1e-9 * bytes));
  }
  pairwise.unary = Matrix<double>(pairwise.labels.size(), most);
  pairwise.links = Links(graph);
  for (std::size_t f = 0; f < graph.factors.size(); ++f) {
    const Factor& factor = graph.factors[f];
    if (factor.scope.size() > 2) {
      throw NotExpressible(
          fmt::format("factor {} has {} variables, but tree-reweighted bounds need at most 2", f,
                      factor.scope.size()));
    }
    const double forbidden = LargestFinite(factor.energy) + kNegligible * temperature;
    const auto finite = [&](double e) { return std::isfinite(e) ? e : forbidden; };
    if (factor.scope.empty()) {
      pairwise.constant += finite(factor.energy[0]);
    } else if (factor.scope.size() == 1) {
      const auto a = static_cast<std::size_t>(factor.scope[0]);
      for (std::size_t i = 0; i < factor.energy.size(); ++i)
        pairwise.unary(a, i) += finite(factor.energy[i]);
    } else {
      Matrix<double> table(pairwise.labels[static_cast<std::size_t>(factor.scope[0])],
                           pairwise.labels[static_cast<std::size_t>(factor.scope[1])]);
      for (std::size_t k = 0; k < table.size(); ++k) table.data()[k] = finite(factor.energy[k]);
      pairwise.pairs.push_back({-1, 1.0, static_cast<int>(pairwise.tables.size())});
      pairwise.tables.push_back(std::move(table));
    }
  }
  return pairwise;
}

EdgeKernels KernelsOf(const PairwiseModel& model, std::span<const double> scale) {
  EdgeKernels edges;
  std::map<std::tuple<int, int, double>, std::size_t> known;
  double bytes = 0.0;
  for (std::size_t e = 0; e < model.pairs.size(); ++e) {
    const PairwiseModel::Pair& pair = model.pairs[e];
    const double strength = pair.weight * scale[e];
    const auto [at, is_new] =
        known.try_emplace({pair.shape, pair.table, strength}, edges.kernels.size());
    edges.of_edge.push_back(at->second);
    if (!is_new) continue;
    if (pair.shape >= 0) {
      const auto& shape = model.shapes[static_cast<std::size_t>(pair.shape)];
      if (shape->kind == MetricShape::Kind::kTable)
        bytes += 24.0 * static_cast<double>(shape->distance.size());
      if (bytes > kLargestBytes) {
        throw TooLarge(
            fmt::format("the tables of the first {} edges of a general label metric need "
                        "{:.3g} GB, give the edges equal weights or fewer labels",
                        e + 1, 1e-9 * bytes));
      }
      edges.kernels.push_back(PairKernel::Metric(shape, strength));
    } else {
      edges.kernels.push_back(
          PairKernel::Table(model.tables[static_cast<std::size_t>(pair.table)], strength));
    }
  }
  return edges;
}

}  // namespace submarine
