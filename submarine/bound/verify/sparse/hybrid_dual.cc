#include "submarine/bound/verify/sparse/hybrid_dual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/temperature.h"
#include "submarine/model/forest.h"

namespace submarine::internal {
namespace {

constexpr double kUlp = std::numeric_limits<double>::epsilon();

// Far more than probabilities lose that are too small to have a relative error.
constexpr double kTooSmall = 1e-300;

double LargestMagnitude(std::span<const double> values) {
  double largest = 0.0;
  for (double v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

// The probabilities c_i / sum of c with c_i = exp((v_i - max) / T), which are what they are: nothing is
// said about how well they match v. Where overflow has spoilt v, they are equal.
void SetProbabilities(const std::vector<double>& v, double temperature, std::vector<double>* p) {
  p->resize(v.size());
  const double largest = *std::max_element(v.begin(), v.end());
  double sum = 0.0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double below = v[i] - largest;
    (*p)[i] = below == 0.0 ? 1.0 : temperature == 0.0 ? 0.0 : std::exp(below / temperature);
    sum += (*p)[i];
  }
  if (!(sum > 0.0 && std::isfinite(sum))) {
    std::fill(p->begin(), p->end(), 1.0);
    sum = static_cast<double>(v.size());
  }
  for (double& x : *p) x /= sum;
}

// Marginals with the number of roundings that each row has seen, every one of which is relative to
// the entry: they are sums of products of positive numbers.
struct RoundedMarginals {
  Matrix<double> y;
  std::vector<double> roundings;
};

// What the costs and the edges of the forest contribute to D(P), and the marginals of P on the way.
class ForestDual {
 public:
  ForestDual(const SparseCrf& model, std::span<const std::size_t> edges, double temperature)
      : model_(model),
        temperature_(temperature),
        forest_(Rooted(edges, Links(model), model.num_variables())) {}

  RoundedMarginals Run(const Matrix<double>& costs, SafeSum* value) {
    Collect(costs);
    const std::size_t labels = costs.cols();
    RoundedMarginals result{Matrix<double>(costs.rows(), labels),
                            std::vector<double>(costs.rows(), 0.0)};
    std::vector<double> p;
    std::vector<double> terms(labels);
    const double own = 4.0 + static_cast<double>(labels);  // of a conditional probability
    for (const RootedForest::Node& node : forest_.nodes) {
      const auto a = static_cast<std::size_t>(node.variable);
      const auto y = result.y.row(a);
      if (node.parent < 0) {
        SetProbabilities(below_[a], temperature_, &p);
        std::copy(p.begin(), p.end(), y.begin());
        result.roundings[a] = own;
        for (double share : p) AddEntropy(1.0, share, own, value);
        continue;
      }
      const auto above = result.y.row(static_cast<std::size_t>(node.parent));
      const double inherited = result.roundings[static_cast<std::size_t>(node.parent)];
      const Edge& edge = model_.edges()[node.edge];
      const Matrix<double>& d = model_.metric(edge).distance;
      for (std::size_t j = 0; j < labels; ++j) {
        if (above[j] == 0.0) continue;
        for (std::size_t i = 0; i < labels; ++i) terms[i] = below_[a][i] - Energy(node, i, j);
        SetProbabilities(terms, temperature_, &p);
        for (std::size_t i = 0; i < labels; ++i) {
          if (p[i] == 0.0) continue;
          const double joint = above[j] * p[i];
          y[i] += joint;
          AddEntropy(above[j], p[i], inherited + own, value);
          const double distance = node.parent_is_a ? d(j, i) : d(i, j);
          value->Add(-edge.weight * distance * joint, 0.0, inherited + own);
        }
      }
      result.roundings[a] = inherited + own + static_cast<double>(labels);
    }
    return result;
  }

 private:
  double Energy(const RootedForest::Node& node, std::size_t i, std::size_t j) const {
    const Edge& edge = model_.edges()[node.edge];
    const Matrix<double>& d = model_.metric(edge).distance;
    return edge.weight * (node.parent_is_a ? d(j, i) : d(i, j));
  }

  // - T q p log p.
  void AddEntropy(double q, double p, double roundings, SafeSum* value) const {
    const double joint = temperature_ * q * p;
    if (p > 0.0) value->Add(-joint * std::log(p), joint, roundings);
  }

  // Messages towards the roots, as they come.
  void Collect(const Matrix<double>& costs) {
    for (std::size_t a = 0; a < costs.rows(); ++a) {
      below_.emplace_back(costs.cols());
      for (std::size_t i = 0; i < costs.cols(); ++i) below_[a][i] = -costs(a, i);
    }
    std::vector<double> terms(costs.cols());
    std::vector<double> message(costs.cols());
    for (std::size_t k = forest_.nodes.size(); k-- > 0;) {
      const RootedForest::Node& node = forest_.nodes[k];
      if (node.parent < 0) continue;
      const std::vector<double>& below = below_[static_cast<std::size_t>(node.variable)];
      for (std::size_t j = 0; j < message.size(); ++j) {
        for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = below[i] - Energy(node, i, j);
        const double largest = *std::max_element(terms.begin(), terms.end());
        message[j] = largest;
        if (temperature_ == 0.0) continue;
        double sum = 0.0;
        for (double term : terms) sum += std::exp((term - largest) / temperature_);
        message[j] += temperature_ * std::log(sum);
      }
      const double shift = *std::max_element(message.begin(), message.end());
      std::vector<double>& above = below_[static_cast<std::size_t>(node.parent)];
      for (std::size_t j = 0; j < above.size(); ++j) above[j] += message[j] - shift;
    }
  }

  const SparseCrf& model_;
  double temperature_;
  RootedForest forest_;
  std::vector<std::vector<double>> below_;  // costs and messages from the children, negated
};

// - w sum over cuts of l |z_a - z_b|.
void SubtractVariation(const SparseCrf& model, const Edge& e, const RoundedMarginals& marginals,
                       SafeSum* value) {
  const auto a = static_cast<std::size_t>(e.a);
  const auto b = static_cast<std::size_t>(e.b);
  const LabelCuts& cuts = *model.labels().cuts;
  const double roundings = std::max(marginals.roundings[a], marginals.roundings[b]) +
                           static_cast<double>(marginals.y.cols());
  for (int c = 0; c < cuts.num_cuts(); ++c) {
    const double length = e.weight * model.metric(e).length[static_cast<std::size_t>(c)];
    if (length == 0.0) continue;
    double difference = 0.0;
    double magnitude = 0.0;
    for (int label : cuts.set(c)) {
      const auto i = static_cast<std::size_t>(label);
      difference += marginals.y(a, i) - marginals.y(b, i);
      magnitude += marginals.y(a, i) + marginals.y(b, i);
    }
    value->Add(-length * std::abs(difference), length * magnitude, roundings);
  }
}

// D(P) of the forest with the node costs.
double DualOfCosts(const SparseCrf& model, std::span<const std::size_t> forest,
                   const Matrix<double>& costs, double temperature) {
  SafeSum value;
  value.Add(-model.constant());
  const RoundedMarginals marginals = ForestDual(model, forest, temperature).Run(costs, &value);
  double underflow = kTooSmall;
  for (std::size_t a = 0; a < marginals.y.rows(); ++a) {
    const auto phi = model.unary().row(a);
    for (std::size_t i = 0; i < phi.size(); ++i)
      value.Add(-phi[i] * marginals.y(a, i), 0.0, marginals.roundings[a]);
    underflow += kTooSmall * (temperature + LargestMagnitude(phi));
  }
  std::vector<char> exact(model.num_edges(), 0);
  for (std::size_t e : forest) exact[e] = 1;
  for (std::size_t e = 0; e < exact.size(); ++e) {
    const Edge& edge = model.edges()[e];
    if (!exact[e]) SubtractVariation(model, edge, marginals, &value);
    const Matrix<double>& d = model.metric(edge).distance;
    underflow += kTooSmall * edge.weight * (1.0 + LargestMagnitude(std::span(d.data(), d.size())));
  }
  value.Widen(underflow / kUlp);
  return value.Below();
}

// D(P) where every tree takes one label as a whole, with probabilities common to all trees that the
// model connects: no variation is left.
double DualOfConstants(const SparseCrf& model, std::span<const std::size_t> forest,
                       double temperature) {
  const std::size_t variables = model.unary().rows();
  const std::size_t labels = model.unary().cols();
  DisjointSets connected(variables);
  for (const Edge& e : model.edges())
    connected.Join(static_cast<std::size_t>(e.a), static_cast<std::size_t>(e.b));
  Matrix<double> sum(variables, labels);
  std::vector<double> trees(variables, 0.0);
  for (std::size_t a = 0; a < variables; ++a) {
    const std::size_t root = connected.Find(a);
    trees[root] += 1.0;
    for (std::size_t i = 0; i < labels; ++i) sum(root, i) -= model.unary()(a, i);
  }
  for (std::size_t e : forest)  // a forest has one tree less with every edge
    trees[connected.Find(static_cast<std::size_t>(model.edges()[e].a))] -= 1.0;
  Matrix<double> share(variables, labels);
  SafeSum value;
  value.Add(-model.constant());
  std::vector<double> v;
  std::vector<double> p;
  for (std::size_t a = 0; a < variables; ++a) {
    if (connected.Find(a) != a) continue;
    v.assign(sum.row(a).begin(), sum.row(a).end());
    SetProbabilities(v, trees[a] * temperature, &p);
    std::copy(p.begin(), p.end(), share.row(a).begin());
    const double weight = trees[a] * temperature;
    for (double x : p) {
      if (x > 0.0) value.Add(-weight * x * std::log(x), weight * x, labels + 4);
    }
  }
  double underflow = kTooSmall;
  for (std::size_t a = 0; a < variables; ++a) {
    const auto pi = share.row(connected.Find(a));
    const auto phi = model.unary().row(a);
    for (std::size_t i = 0; i < labels; ++i) value.Add(-phi[i] * pi[i], 0.0, labels + 4);
    underflow += kTooSmall * (temperature + LargestMagnitude(phi));
  }
  for (std::size_t e : forest) {
    const Edge& edge = model.edges()[e];
    const auto pi = share.row(connected.Find(static_cast<std::size_t>(edge.a)));
    for (std::size_t i = 0; i < labels; ++i) {
      const double within = model.metric(edge).distance(i, i);
      if (within != 0.0) value.Add(-edge.weight * within * pi[i], 0.0, labels + 4);
    }
  }
  value.Widen(underflow / kUlp);
  return value.Below();
}

}  // namespace

Bound VerifiedHybridDual(const SparseCrf& model, std::span<const std::size_t> forest,
                         const Matrix<double>& costs, double temperature) {
  CheckTemperature(temperature);
  CheckForest(forest, Links(model), model.num_variables());
  if (costs.rows() != model.unary().rows() || costs.cols() != model.unary().cols()) {
    throw InvalidInput(
        fmt::format("the node costs are {} x {}, the model has {} variables and {} labels",
                    costs.rows(), costs.cols(), model.unary().rows(), model.unary().cols()));
  }
  for (std::size_t a = 0; a < costs.rows(); ++a) {
    for (std::size_t i = 0; i < costs.cols(); ++i) {
      if (!std::isfinite(costs(a, i))) {
        throw InvalidInput(
            fmt::format("the node cost of variable {}, label {} is {}, expected a finite number", a,
                        i, costs(a, i)));
      }
    }
  }
  return BoundMaker::Verified(std::max(DualOfConstants(model, forest, temperature),
                                       DualOfCosts(model, forest, costs, temperature)));
}

}  // namespace submarine::internal
