#include "submarine/bound/verify/sparse/forest_lower.h"

#include <fmt/format.h>

#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/temperature.h"
#include "submarine/bound/verify/sparse/forest_free_energy.h"
#include "submarine/model/forest.h"

namespace submarine::internal {
namespace {

// The edges between trees.
std::vector<std::size_t> EdgesBetween(const SparseCrf& model,
                                      const std::vector<std::size_t>& forest) {
  DisjointSets trees(model.num_variables());
  std::vector<char> inside(model.num_edges(), 0);
  for (const std::size_t e : forest) {
    inside[e] = 1;
    trees.Join(static_cast<std::size_t>(model.edges()[e].a),
               static_cast<std::size_t>(model.edges()[e].b));
  }
  std::vector<std::size_t> between;
  for (std::size_t e = 0; e < inside.size(); ++e) {
    if (inside[e]) continue;
    const Edge& edge = model.edges()[e];
    if (trees.Find(static_cast<std::size_t>(edge.a)) ==
        trees.Find(static_cast<std::size_t>(edge.b))) {
      throw InvalidInput(
          fmt::format("edge {} joins the variables {} and {} of one tree without being part of it, "
                      "expected trees that hold all edges between their variables",
                      e, edge.a, edge.b));
    }
    between.push_back(e);
  }
  return between;
}

// Subtracts w sum_ij y_ai y_bj d(i,j).
void SubtractEnergy(const SparseCrf& model, const Edge& e, const RoundedMarginals& marginals,
                    SafeSum* value) {
  const auto a = static_cast<std::size_t>(e.a);
  const auto b = static_cast<std::size_t>(e.b);
  const auto y_a = marginals.y.row(a);
  const auto y_b = marginals.y.row(b);
  const Matrix<double>& d = model.metric(e).distance;
  const double roundings =
      marginals.roundings[a] + marginals.roundings[b] + 2.0 * static_cast<double>(y_a.size());
  for (std::size_t i = 0; i < y_a.size(); ++i) {
    if (y_a[i] == 0.0) continue;
    double expected = 0.0;  // E d(i, x_b)
    for (std::size_t j = 0; j < y_b.size(); ++j) expected += d(i, j) * y_b[j];
    value->Add(-e.weight * y_a[i] * expected, 0.0, roundings);
  }
}

}  // namespace

Bound VerifiedForestLower(const SparseCrf& model, const ForestDistribution& distribution,
                          double temperature) {
  CheckTemperature(temperature);
  CheckForestDistribution(model, distribution.forest, distribution.costs);
  const std::vector<std::size_t> between = EdgesBetween(model, distribution.forest);
  SafeSum value;
  const RoundedMarginals marginals =
      AddForestFreeEnergy(model, distribution.forest, distribution.costs, temperature, &value);
  std::vector<SafeSum> parts((between.size() + kRowGrain - 1) / kRowGrain);
  ParallelFor(between.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      SubtractEnergy(model, model.edges()[between[k]], marginals, &parts[begin / kRowGrain]);
  });
  for (const SafeSum& part : parts) value.Add(part);
  return BoundMaker::Verified(value.Below());
}

}  // namespace submarine::internal
