#include "submarine/solver/forest/trw_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

constexpr double kLargestBytes = 8e9;

// exp(-kNegligible) is negligible beside 1 in double precision.
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

namespace {

bool HasForbidden(const Factor& factor) {
  return std::any_of(factor.energy.begin(), factor.energy.end(),
                     [](double energy) { return std::isinf(energy); });
}

// The labels of every variable that may still have positive probability.
class PossibleLabels {
 public:
  explicit PossibleLabels(const FactorGraph& graph) : at_(graph.cardinality.size()) {
    for (int labels : graph.cardinality)
      possible_.emplace_back(static_cast<std::size_t>(labels), char{1});
    for (const Factor& factor : graph.factors) {
      if (!HasForbidden(factor)) continue;
      if (factor.scope.empty()) none_ = true;
      if (factor.scope.size() == 1) {
        for (std::size_t i = 0; i < factor.energy.size(); ++i)
          if (std::isinf(factor.energy[i])) possible_[Variable(factor, 0)][i] = 0;
      }
      if (factor.scope.size() == 2) {
        at_[Variable(factor, 0)].push_back(&factor);
        at_[Variable(factor, 1)].push_back(&factor);
      }
    }
  }

  // Removes labels until nothing changes (arc consistency); false when a variable has none left.
  bool Propagate() {
    std::vector<std::size_t> changed;
    for (std::size_t a = 0; a < possible_.size(); ++a) {
      if (!Any(a)) return false;
      if (!at_[a].empty()) changed.push_back(a);
    }
    while (!changed.empty() && !none_) {
      const std::size_t a = changed.back();
      changed.pop_back();
      for (const Factor* factor : at_[a]) {
        const int side = Variable(*factor, 0) == a ? 1 : 0;
        if (!StrikeOut(*factor, side)) continue;
        if (!Any(Variable(*factor, side))) return false;
        changed.push_back(Variable(*factor, side));
      }
    }
    return !none_;
  }

 private:
  static std::size_t Variable(const Factor& factor, int side) {
    return static_cast<std::size_t>(factor.scope[static_cast<std::size_t>(side)]);
  }
  bool Any(std::size_t a) const {
    return std::find(possible_[a].begin(), possible_[a].end(), 1) != possible_[a].end();
  }

  // Removes labels of this side's variable that no label of the other allows; true if there were
  // any.
  bool StrikeOut(const Factor& factor, int side) {
    std::vector<char>& mine = possible_[Variable(factor, side)];
    const std::vector<char>& others = possible_[Variable(factor, 1 - side)];
    const std::size_t columns = possible_[Variable(factor, 1)].size();
    bool any = false;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (!mine[i]) continue;
      bool supported = false;
      for (std::size_t j = 0; j < others.size() && !supported; ++j) {
        const std::size_t entry = side == 0 ? i * columns + j : j * columns + i;
        supported = others[j] && std::isfinite(factor.energy[entry]);
      }
      if (supported) continue;
      mine[i] = 0;
      any = true;
    }
    return any;
  }

  std::vector<std::vector<char>> possible_;
  std::vector<std::vector<const Factor*>> at_;  // pairs with forbidden entries
  bool none_ = false;
};

}  // namespace

void RequirePossible(const FactorGraph& graph) {
  Validate(graph);
  if (!PossibleLabels(graph).Propagate())
    throw InvalidInput("no labeling has positive probability");
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

}  // namespace submarine::internal
