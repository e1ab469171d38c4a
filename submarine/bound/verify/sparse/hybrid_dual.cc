#include "submarine/bound/verify/sparse/hybrid_dual.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/temperature.h"
#include "submarine/bound/verify/sparse/forest_free_energy.h"
#include "submarine/model/forest.h"

namespace submarine::internal {
namespace {

// Subtracts w times the sum over cuts of l |z_a - z_b|.
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

// D(P) for the distribution on the forest with these node costs.
double DualOfCosts(const SparseCrf& model, std::span<const std::size_t> forest,
                   const Matrix<double>& costs, double temperature) {
  SafeSum value;
  const RoundedMarginals marginals = AddForestFreeEnergy(model, forest, costs, temperature, &value);
  std::vector<char> exact(model.num_edges(), 0);
  for (std::size_t e : forest) exact[e] = 1;
  for (std::size_t e = 0; e < exact.size(); ++e)
    if (!exact[e]) SubtractVariation(model, model.edges()[e], marginals, &value);
  return value.Below();
}

// D(P) where every tree takes one label as a whole, with probabilities common to all trees of a
// connected component of the model, so that the variation vanishes.
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
  for (std::size_t e : forest)  // every edge of a forest reduces the number of trees by one
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
  for (std::size_t a = 0; a < variables; ++a) {
    const auto pi = share.row(connected.Find(a));
    const auto phi = model.unary().row(a);
    for (std::size_t i = 0; i < labels; ++i) value.Add(-phi[i] * pi[i], 0.0, labels + 4);
  }
  for (std::size_t e : forest) {
    const Edge& edge = model.edges()[e];
    const auto pi = share.row(connected.Find(static_cast<std::size_t>(edge.a)));
    for (std::size_t i = 0; i < labels; ++i) {
      const double within = model.metric(edge).distance(i, i);
      if (within != 0.0) value.Add(-edge.weight * within * pi[i], 0.0, labels + 4);
    }
  }
  WidenForUnderflow(model, temperature, &value);
  return value.Below();
}

}  // namespace

Bound VerifiedHybridDual(const SparseCrf& model, std::span<const std::size_t> forest,
                         const Matrix<double>& costs, double temperature) {
  CheckTemperature(temperature);
  CheckForestDistribution(model, forest, costs);
  return BoundMaker::Verified(std::max(DualOfConstants(model, forest, temperature),
                                       DualOfCosts(model, forest, costs, temperature)));
}

}  // namespace submarine::internal
