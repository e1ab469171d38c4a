// Robust P^n Potts terms over any number of variables (docs/math.md, "Cliques"):
//
//   psi_c(x) = min(gamma, theta min_l sum_{a in c} u_a [x_a != l]),   theta = gamma / Q,
//
// which cost nothing where all of the clique agrees, and gamma once the weight that disagrees reaches Q. Q at most the
// least weight: P^n Potts. A model with cliques is a type of its own, so that nothing made for models of pairs takes one
// and leaves its cliques out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "submarine/model/dense_crf.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"

namespace submarine {

struct Clique {
  std::vector<int> members;          // distinct variables
  std::vector<double> weights = {};  // u, one per member; empty: 1
  double gamma = 1.0;
  double truncation = 1.0;  // Q, at most half the sum of the weights

  double weight(std::size_t k) const { return weights.empty() ? 1.0 : weights[k]; }
  double theta() const { return gamma / truncation; }
  double Energy(std::span<const int> labeling, std::size_t num_labels) const;
};

// Throws InvalidInput, naming the clique, unless its members are distinct variables, at least one, and its numbers are
// as described, finite, gamma >= 0, the others > 0.
void CheckCliques(std::span<const Clique> cliques, std::size_t num_variables);

// A sparse or dense model, and cliques beside its pairs.
template <class Pairs>
class CliqueCrf {
 public:
  // A truncation below all weights is raised to the least of them, which changes no energy. Throws what CheckCliques does, and
  // InvalidInput for energies beyond single precision where the pairs are dense.
  CliqueCrf(Pairs pairs, std::vector<Clique> cliques);

  const Pairs& pairs() const { return pairs_; }
  const std::vector<Clique>& cliques() const { return cliques_; }
  std::size_t num_variables() const { return pairs_.num_variables(); }
  int num_labels() const { return pairs_.num_labels(); }

  double Energy(std::span<const int> labeling) const;
  // That of the pairs and "12 cliques of up to 20 variables".
  std::string Description() const { return Described(pairs_.Description()); }
  // The same after another description of the pairs.
  std::string Described(std::string pairs) const;

 private:
  Pairs pairs_;
  std::vector<Clique> cliques_;
};

extern template class CliqueCrf<SparseCrf>;
extern template class CliqueCrf<DenseCrf>;

// The entries of all cliques' tables; infinite where they overflow.
double CliqueTableEntries(std::span<const Clique> cliques, int num_labels);
// As tables, for exact inference on small models; `error` is by how much the energy of a labeling may differ by rounding.
// Throws TooLarge where a clique's table has more than 2^24 entries.
FactorGraph ToFactorGraph(const CliqueCrf<SparseCrf>& model, double* error);

}  // namespace submarine
