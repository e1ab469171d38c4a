// Mean field as in pydensecrf and similar packages: defined by a filter rather than by a model,
//
//   s_a = phi_a + sum over terms of M sum_b k_ab q_b,   q_a <- softmax(-s_a),
//
// with k_aa in the sum, kernels normalised by the filter's own row sums on either side or both, and
// any symmetric compatibility M of labels, of any sign. For reproducing the results of that
// package. It is not the mean field of any energy, so nothing here is a bound; for models with
// bounds see DenseCrf.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/gaussian_kernel.h"

namespace submarine {

namespace internal {
class LatticeStream;
}

class PydensecrfMeanField {
 public:
  // Throws InvalidInput unless both numbers are positive. AddTerm refuses lattices that would hold
  // more than max_bytes.
  PydensecrfMeanField(std::size_t num_variables, std::size_t num_labels,
                      std::size_t max_bytes = std::size_t{8} << 30);
  ~PydensecrfMeanField();
  PydensecrfMeanField(PydensecrfMeanField&&) noexcept;

  // Upper limit on the threads of the calls below; 0 means all cores.
  void set_threads(int threads) { threads_ = threads; }

  std::size_t num_variables() const { return num_variables_; }
  std::size_t num_labels() const { return num_labels_; }

  // One row of finite costs per variable; without this call all costs are 0. Throws InvalidInput.
  void SetUnary(Matrix<float> unary);
  // The same from costs stored label by label, num_labels() x num_variables(); copies them.
  void SetUnaryByLabel(std::span<const float> costs);
  const Matrix<float>& unary() const { return unary_; }

  // `features`: one row per variable, already divided by the sigmas, at most kMaxFeatureDimension
  // columns. `compatibility`: one number m for m times the identity, L numbers for a diagonal, or L
  // x L numbers. Throws InvalidInput and TooLarge.
  void AddTerm(const Matrix<float>& features, KernelNormalisation normalisation,
               std::vector<float> compatibility);
  std::size_t num_terms() const { return terms_.size(); }

  // softmax(-phi), one row per variable.
  Matrix<float> Start() const;
  // One update of all rows at once. `workspace` may hold anything; its memory is reused by the next
  // step.
  struct Workspace {
    Matrix<float> costs;
    Matrix<float> filtered;
    Matrix<float> scaled;
  };
  void Step(Workspace* workspace, Matrix<float>* q) const;
  Matrix<float> Infer(int iterations) const;
  // The same, and takes the terms out: their tables are freed while the result is filled, so that
  // both are never held at a time.
  Matrix<float> InferLast(int iterations);

  // sum q log q + <phi, q> + sum over terms of q^T M K q, which that package calls the KL
  // divergence. It counts every pair twice, contains self terms and lacks log Z.
  double Divergence(const Matrix<float>& q) const;

 private:
  struct Term;
  // Null unless all terms are multiples of the product of a lattice of few vertices.
  std::unique_ptr<internal::LatticeStream> MakeStream() const;
  // Where lattices are streamed, calls after_blur() when they are only sliced any more, and
  // after_rows(first, last) when a range of rows of the result is done.
  Matrix<float> InferWith(
      int iterations, std::function<void()> after_blur,
      std::function<void(std::size_t first, std::size_t last)> after_rows) const;
  void CheckShape(const Matrix<float>& q) const;
  // Adds M K q of a term to *out.
  void AddCosts(const Term& term, const Matrix<float>& q, Workspace* workspace,
                Matrix<float>* out) const;

  std::size_t num_variables_;
  std::size_t num_labels_;
  std::size_t max_bytes_;
  int threads_ = 0;
  Matrix<float> unary_;  // empty: all 0
  std::vector<std::unique_ptr<Term>> terms_;
};

}  // namespace submarine
