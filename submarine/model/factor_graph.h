// A discrete factor graph as read from files: P(x) = exp(-E(x)) / Z, E(x) = sum_f
// energy_f(x_scope). Exact inference works on it directly; SparseCrf is the subset that has a
// submodular extension.
#pragma once

#include <vector>

namespace submarine {

struct Factor {
  std::vector<int> scope;  // distinct variables
  std::vector<double>
      energy;  // -log potential, last variable of the scope fastest; +inf where the potential is 0
};

struct FactorGraph {
  std::vector<int> cardinality;  // of every variable, >= 1
  std::vector<Factor> factors;
};

// Throws InvalidInput naming the first factor whose scope or table does not fit the cardinalities,
// or whose energies contain NaN or -inf.
void Validate(const FactorGraph& graph);

double Energy(const FactorGraph& graph, const std::vector<int>& labeling);

}  // namespace submarine
