// What mean field makes of cliques (docs/math.md, "Cliques"). By Jensen's inequality the expectation of a clique is
//
//   E psi <= gamma - theta sum_l (Q - E N_l)^+,    E N_l = sum_a u_a (1 - y_al),
//
// where at most one label, the holder, has E N_l < Q. For that holder the right side is linear in y: an update of mean
// field is one of pairs, with theta u_a off the unary of the holder.
#pragma once

#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/model/clique.h"

namespace submarine::internal {

// The label of every clique for which the bound on its expectation is least; -1 for none, which costs gamma.
template <class Real>
std::vector<int> HoldersAt(std::span<const Clique> cliques, const Matrix<Real>& marginals);
std::vector<int> HoldersOf(std::span<const Clique> cliques, std::span<const int> labels,
                           std::size_t num_labels);

// The unaries phi, with theta u_a off those of holders.
class HeldUnaries {
 public:
  // Keeps references.
  HeldUnaries(std::span<const Clique> cliques, const Matrix<float>& phi)
      : cliques_(cliques), phi_(phi), unary_(phi), holders_(cliques.size(), -1) {}

  const Matrix<float>& unary() const { return unary_; }
  const std::vector<int>& holders() const { return holders_; }
  // Takes the holders at these marginals.
  void Update(const Matrix<float>& marginals);

 private:
  std::span<const Clique> cliques_;
  const Matrix<float>& phi_;
  Matrix<float> unary_;
  std::vector<int> holders_;
};

}  // namespace submarine::internal
