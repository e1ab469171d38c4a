// The reference for exact inference: loops over all labelings.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/argmax.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/exact/exact_error.h"

namespace submarine::internal::testing {

// Advances to the next labeling, last variable fastest; false after the last one.
inline bool NextLabeling(const std::vector<int>& cardinality, std::vector<int>& labeling) {
  for (std::size_t a = labeling.size(); a-- > 0;) {
    if (++labeling[a] < cardinality[a]) return true;
    labeling[a] = 0;
  }
  return false;
}

inline ExactResult EnumerateExact(const FactorGraph& graph, double temperature = 1.0) {
  double labelings = 1.0;
  ExactResult result;
  for (int cardinality : graph.cardinality) {
    labelings *= cardinality;
    result.marginals.emplace_back(static_cast<std::size_t>(cardinality), 0.0);
  }
  std::vector<int> labeling(graph.cardinality.size(), 0);
  double least = std::numeric_limits<double>::infinity();
  do {
    const double energy = Energy(graph, labeling);
    if (energy < least) {
      least = energy;
      result.map_labeling = labeling;
    }
  } while (NextLabeling(graph.cardinality, labeling));

  // One table over all variables, to which every factor is added.
  TableError error;
  for (const Factor& factor : graph.factors) {
    error.AddExact(-*std::min_element(factor.energy.begin(), factor.energy.end()));
  }
  error.Round(1.0);
  error.LogSumExp(temperature, static_cast<std::size_t>(labelings));
  result.log_partition = -least;
  if (temperature == 0.0) {
    error.Shift(least);
    result.error = 2.0 * error.fixed();
    for (std::size_t a = 0; a < labeling.size(); ++a) {
      result.marginals[a][static_cast<std::size_t>(result.map_labeling[a])] = 1.0;
    }
    return result;
  }
  double total = 0.0;
  do {
    const double weight = std::exp((least - Energy(graph, labeling)) / temperature);
    total += weight;
    for (std::size_t a = 0; a < labeling.size(); ++a)
      result.marginals[a][static_cast<std::size_t>(labeling[a])] += weight;
  } while (NextLabeling(graph.cardinality, labeling));
  result.log_partition += temperature * std::log(total);
  error.Shift(result.log_partition);
  result.error = error.fixed();
  for (std::size_t a = 0; a < labeling.size(); ++a) {
    for (double& p : result.marginals[a]) p /= total;
    result.map_labeling[a] = Argmax(result.marginals[a]);
  }
  return result;
}

}  // namespace submarine::internal::testing
