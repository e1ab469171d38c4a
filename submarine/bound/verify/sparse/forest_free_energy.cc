#include "submarine/bound/verify/sparse/forest_free_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/model/forest.h"

namespace submarine::internal {
namespace {

constexpr double kForestUlp = std::numeric_limits<double>::epsilon();

// Far more than the loss of probabilities that are too small to have a relative error.
constexpr double kTooSmall = 1e-300;

constexpr std::size_t kTreeGrain = 8;

double LargestMagnitude(std::span<const double> values) {
  double largest = 0.0;
  for (double v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

// Entropy and energy within the trees, and their marginals. Trees run in parallel.
class ForestRun {
 public:
  ForestRun(const SparseCrf& model, std::span<const std::size_t> edges, const Matrix<double>& costs,
            double temperature)
      : model_(model),
        temperature_(temperature),
        forest_(Rooted(edges, Links(model), model.num_variables())),
        below_(costs),
        result_{Matrix<double>(costs.rows(), costs.cols()),
                std::vector<double>(costs.rows(), 0.0)} {
    for (std::size_t n = 0; n < below_.size(); ++n) below_.data()[n] = -below_.data()[n];
  }

  RoundedMarginals Run(SafeSum* value) {
    const std::size_t trees = forest_.component.size() - 1;
    std::vector<SafeSum> parts(trees);
    ParallelFor(trees, kTreeGrain, [&](std::size_t first, std::size_t last) {
      for (std::size_t t = first; t < last; ++t) {
        const std::span nodes =
            std::span(forest_.nodes)
                .subspan(forest_.component[t], forest_.component[t + 1] - forest_.component[t]);
        Collect(nodes);
        Distribute(nodes, &parts[t]);
      }
    });
    for (const SafeSum& part : parts) value->Add(part);
    return std::move(result_);
  }

 private:
  using Nodes = std::span<const RootedForest::Node>;

  double Energy(const RootedForest::Node& node, std::size_t i, std::size_t j) const {
    const Edge& edge = model_.edges()[node.edge];
    const Matrix<double>& d = model_.metric(edge).distance;
    return edge.weight * (node.parent_is_a ? d(j, i) : d(i, j));
  }

  // Adds -T q p log p.
  void AddEntropy(double q, double p, double roundings, SafeSum* value) const {
    const double joint = temperature_ * q * p;
    if (p > 0.0) value->Add(-joint * std::log(p), joint, roundings);
  }

  // Messages towards the root, without error bounds.
  void Collect(Nodes nodes) {
    const std::size_t labels = below_.cols();
    std::vector<double> terms(labels);
    std::vector<double> message(labels);
    for (std::size_t k = nodes.size(); k-- > 1;) {
      const RootedForest::Node& node = nodes[k];
      const auto below = below_.row(static_cast<std::size_t>(node.variable));
      for (std::size_t j = 0; j < labels; ++j) {
        for (std::size_t i = 0; i < labels; ++i) terms[i] = below[i] - Energy(node, i, j);
        const double largest = *std::max_element(terms.begin(), terms.end());
        message[j] = largest;
        if (temperature_ == 0.0) continue;
        double sum = 0.0;
        for (double term : terms) sum += std::exp((term - largest) / temperature_);
        message[j] += temperature_ * std::log(sum);
      }
      const double shift = *std::max_element(message.begin(), message.end());
      const auto above = below_.row(static_cast<std::size_t>(node.parent));
      for (std::size_t j = 0; j < labels; ++j) above[j] += message[j] - shift;
    }
  }

  void Distribute(Nodes nodes, SafeSum* value) {
    const std::size_t labels = below_.cols();
    std::vector<double> p;
    std::vector<double> terms(labels);
    const double own = 4.0 + static_cast<double>(labels);  // roundings of a conditional probability
    for (const RootedForest::Node& node : nodes) {
      const auto a = static_cast<std::size_t>(node.variable);
      const auto below = below_.row(a);
      const auto y = result_.y.row(a);
      if (node.parent < 0) {
        SetProbabilities({below.begin(), below.end()}, temperature_, &p);
        std::copy(p.begin(), p.end(), y.begin());
        result_.roundings[a] = own;
        for (double share : p) AddEntropy(1.0, share, own, value);
        continue;
      }
      const auto above = result_.y.row(static_cast<std::size_t>(node.parent));
      const double inherited = result_.roundings[static_cast<std::size_t>(node.parent)];
      for (std::size_t j = 0; j < labels; ++j) {
        if (above[j] == 0.0) continue;
        for (std::size_t i = 0; i < labels; ++i) terms[i] = below[i] - Energy(node, i, j);
        SetProbabilities(terms, temperature_, &p);
        for (std::size_t i = 0; i < labels; ++i) {
          if (p[i] == 0.0) continue;
          const double joint = above[j] * p[i];
          y[i] += joint;
          AddEntropy(above[j], p[i], inherited + own, value);
          value->Add(-Energy(node, i, j) * joint, 0.0, inherited + own);
        }
      }
      result_.roundings[a] = inherited + own + static_cast<double>(labels);
    }
  }

  const SparseCrf& model_;
  double temperature_;
  RootedForest forest_;
  Matrix<double> below_;  // costs and messages from the children, negated
  RoundedMarginals result_;
};

}  // namespace

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

void CheckForestDistribution(const SparseCrf& model, std::span<const std::size_t> forest,
                             const Matrix<double>& costs) {
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
}

RoundedMarginals AddForestFreeEnergy(const SparseCrf& model, std::span<const std::size_t> forest,
                                     const Matrix<double>& costs, double temperature,
                                     SafeSum* value) {
  value->Add(-model.constant());
  RoundedMarginals marginals = ForestRun(model, forest, costs, temperature).Run(value);
  for (std::size_t a = 0; a < marginals.y.rows(); ++a) {
    const auto phi = model.unary().row(a);
    for (std::size_t i = 0; i < phi.size(); ++i)
      value->Add(-phi[i] * marginals.y(a, i), 0.0, marginals.roundings[a]);
  }
  WidenForUnderflow(model, temperature, value);
  return marginals;
}

void WidenForUnderflow(const SparseCrf& model, double temperature, SafeSum* value) {
  double underflow = kTooSmall;
  for (std::size_t a = 0; a < model.unary().rows(); ++a)
    underflow += kTooSmall * (temperature + LargestMagnitude(model.unary().row(a)));
  std::vector<double> farthest;
  for (const LabelMetric& metric : model.labels().metrics)
    farthest.push_back(LargestMagnitude(std::span(metric.distance.data(), metric.distance.size())));
  for (const Edge& edge : model.edges())
    underflow += kTooSmall * edge.weight * (1.0 + farthest[static_cast<std::size_t>(edge.metric)]);
  value->Widen(underflow / kForestUlp);
}

}  // namespace submarine::internal
