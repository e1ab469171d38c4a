#include "submarine/model/factor_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "submarine/base/error.h"

namespace submarine {

void Validate(const FactorGraph& graph) {
  for (std::size_t a = 0; a < graph.cardinality.size(); ++a) {
    if (graph.cardinality[a] < 1) {
      throw InvalidInput(
          fmt::format("variable {} has {} labels, expected at least 1", a, graph.cardinality[a]));
    }
  }
  for (std::size_t f = 0; f < graph.factors.size(); ++f) {
    const Factor& factor = graph.factors[f];
    double size = 1.0;
    std::vector<int> sorted = factor.scope;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      throw InvalidInput(fmt::format("factor {} names a variable twice", f));
    }
    for (int a : factor.scope) {
      if (a < 0 || static_cast<std::size_t>(a) >= graph.cardinality.size()) {
        throw InvalidInput(fmt::format("factor {} names variable {}, but the variables are 0..{}",
                                       f, a, static_cast<int>(graph.cardinality.size()) - 1));
      }
      size *= graph.cardinality[static_cast<std::size_t>(a)];
    }
    if (size != static_cast<double>(factor.energy.size())) {
      throw InvalidInput(
          fmt::format("the table of factor {} has {} entries, its variables need {:.0f}", f,
                      factor.energy.size(), size));
    }
    for (double e : factor.energy) {
      if (std::isnan(e) || e == -std::numeric_limits<double>::infinity()) {
        throw InvalidInput(fmt::format("the table of factor {} contains the energy {}", f, e));
      }
    }
  }
}

double Energy(const FactorGraph& graph, const std::vector<int>& labeling) {
  double energy = 0.0;
  for (const Factor& factor : graph.factors) {
    std::size_t index = 0;
    for (int a : factor.scope) {
      const auto variable = static_cast<std::size_t>(a);
      index = index * static_cast<std::size_t>(graph.cardinality[variable]) +
              static_cast<std::size_t>(labeling[variable]);
    }
    energy += factor.energy[index];
  }
  return energy;
}

}  // namespace submarine
