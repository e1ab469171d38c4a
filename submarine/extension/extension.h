// The interface between models and solvers: what minimising g_T(s) over s in EP(F) asks of a
// submodular extension F, whichever model it belongs to. Sparse and dense models implement it
// (sparse_extension.h, dense_extension.h); another kind of model does so in a file of its own, with
// its evidence beside the others in evidence.h and a verifier in bound/verify.
//
// A point s of the extended polymatroid EP(F) is represented by its *evidence* (flows, or
// potentials that stand for flows), from which anyone can check that it is in EP(F); solvers look
// at it summed over the cuts of each label, s'(a, i), which is all that the bound depends on:
//
//   T log Z_T  <=  g_T(s) = sum_a T log sum_i exp(-s'_ai / T) - offset.
//
// Its virtual functions work on whole matrices. Solvers that step single flows (PDHG, block
// Frank-Wolfe) use the classes themselves, which offer more.
#pragma once

#include <cstddef>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine::internal {

template <class Real, class EvidenceType>
class Extension {
 public:
  using Evidence = EvidenceType;

  virtual ~Extension() = default;

  virtual std::size_t num_variables() const = 0;
  virtual std::size_t num_labels() const = 0;
  virtual double offset() const = 0;  // E(x) = F(A_x) + offset

  // The point at which solvers start, and s' of given evidence.
  virtual Evidence Start() const = 0;
  virtual void LabelModular(const Evidence& evidence, Matrix<Real>* s) const = 0;

  // Edmonds' greedy vertex at marginals y, which maximises <s, y> over EP(F): s', and
  // evidence += rate (vertex - evidence).
  virtual void VertexAt(const Matrix<Real>& y, Matrix<Real>* s) const = 0;
  virtual void MoveTowardsVertex(const Matrix<Real>& y, double rate, Evidence* evidence) const = 0;

  // The Lovasz extension f(y), unaries included, and the energy of a labeling, offset included.
  virtual double LovaszAt(const Matrix<Real>& y) const = 0;
  virtual double Energy(const std::vector<int>& labels) const = 0;

 protected:
  Extension() = default;
  Extension(const Extension&) = default;
  Extension& operator=(const Extension&) = delete;
};

}  // namespace submarine::internal
