// What mean field makes of cliques (docs/math.md, "Cliques"). The expectation of a clique is
//
//   E psi = gamma - theta sum_l E (Q - N_l)^+,    N_l = sum_a u_a [x_a != l],
//
// whose derivative by y_al is about -theta u_a P(N_l < Q): at most one label, the holder, has N_l < Q, and P says how likely it
// is each one. An update of mean field is one of pairs, with theta u_a P(N_l < Q) off the unaries.
#pragma once

#include <cstddef>
#include <span>

#include "submarine/base/matrix.h"
#include "submarine/model/clique.h"

namespace submarine::internal {

// P(N_l < Q) for every clique and label by the normal approximation, of the clique without an average member; rows sum to at
// most 1, the rest being that no label holds the clique.
template <class Real>
Matrix<double> HoldersAt(std::span<const Clique> cliques, const Matrix<Real>& marginals);
// 1 for the holder, if any.
Matrix<double> HoldersOf(std::span<const Clique> cliques, std::span<const int> labels,
                         std::size_t num_labels);

// The unaries phi, with theta u_a P off those of holders.
class HeldUnaries {
 public:
  // Keeps references.
  HeldUnaries(std::span<const Clique> cliques, const Matrix<float>& phi)
      : cliques_(cliques), phi_(phi), unary_(phi) {}

  const Matrix<float>& unary() const { return unary_; }
  // Takes the holders at these marginals.
  void Update(const Matrix<float>& marginals);

 private:
  std::span<const Clique> cliques_;
  const Matrix<float>& phi_;
  Matrix<float> unary_;
};

}  // namespace submarine::internal
