// The submodular extension of a dense model (docs/math.md, "Dense models"), whose pair weights are
// applied by an operator: what all dense solvers are made of. Maps: potentials or marginals to s',
// and marginals to the costs of mean field. Values: upper bound, dual value, energy.
//
// For one thread at a time: all functions but StepPotentials share working memory.
//
// Potentials v have one column per *active* cut, that is per cut of positive length: a linear
// metric has L - 1 of them, not the 2 L - 1 of its family.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/evidence.h"
#include "submarine/extension/extension.h"
#include "submarine/filter/kernel/gaussian_operator.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

class DenseExtension final : public Extension<float, FlowProof> {
 public:
  // `pairs` has the entries w_ab of the model, or approximates them; both must outlive this object.
  // Throws InvalidInput when they differ in size. A pass over all pairs may take seconds: if
  // `interrupted` is given, all functions below that make such a pass call it from time to time, on
  // the caller's thread, and throw Interrupted once it returns true.
  DenseExtension(const DenseCrf& model, const GaussianOperator& pairs,
                 std::function<bool()> interrupted = {});

  const DenseCrf& model() const { return model_; }
  const GaussianOperator& pairs() const { return pairs_; }
  const std::function<bool()>& interrupted() const { return interrupted_; }
  std::size_t num_variables() const override { return model_.num_variables(); }
  std::size_t num_labels() const override { return model_.unary().cols(); }
  double offset() const override { return model_.constant(); }
  std::size_t num_active() const { return active_.size(); }
  std::span<const float> degrees() const { return degrees_; }  // sum_b w_ab

  // How strongly the flows of unit degree pull at one label: the largest sum of l_c m_c |S_c| over
  // the cuts of a label, with the mobilities m_c = 1 / |S_c| of StepPotentials, and with m_c = 1.
  double reach() const { return reach_; }
  double quadratic_reach() const { return quadratic_reach_; }
  // sum over kernels of c w^(m) r_a^2: the diagonal of the Gaussian matrix, which the model leaves
  // out. With it the matrix is positive semidefinite, so D - K <= D + diag(self weights).
  std::span<const float> self_weights() const { return self_weights_; }

  // v += step m_c z_c, z the active cut sums of one variable's row y.
  void StepPotentials(std::span<const float> y, float step, std::span<float> v) const;
  // v = active cut sums of y: the potentials of the quadratic flow.
  Matrix<float> CutSums(const Matrix<float>& y) const;

  // s'(a, i) = phi_a(i) + sum over cuts containing i of l_c sum_b w_ab psi(v_a, v_b).
  void LabelModular(const Matrix<float>& v, FlowShape shape, Matrix<float>* s) const;
  // The same for psi(v_a, v_b) = v_a - v_b, where v are the cut sums of y: one plain product.
  void QuadraticModular(const Matrix<float>& y, Matrix<float>* s) const;
  // s(a, i) = phi_a(i) + sum_b w_ab sum_j d(i, j) y_b(j) - MeanFieldConstant(a), for marginals y.
  // The constant does not affect updates of marginals; leaving it out saves Potts models a pass
  // over s.
  void MeanFieldCosts(const Matrix<float>& y, Matrix<float>* s) const;
  double MeanFieldConstant(std::size_t a) const;
  // If these costs are phi minus a factor times the plain product of y, that factor; otherwise 0.
  float MeanFieldFactor() const { return plain_ ? 2.0F * length_[0] : 0.0F; }

  FlowProof Start() const override { return {}; }
  // A convex combination of potentials; shares may sum to less than 1, and the rest has flow 0.
  void LabelModular(const FlowProof& proof, Matrix<float>* s) const override;
  void VertexAt(const Matrix<float>& y, Matrix<float>* s) const override;
  void MoveTowardsVertex(const Matrix<float>& y, double rate, FlowProof* proof) const override;
  double LovaszAt(const Matrix<float>& y) const override;

  // Values at the temperature T >= 0: sum_a T log sum_i exp(-s_ai / T) - constant, at T = 0 the sum
  // of -min_i s_ai; and T H(y) - f(y) - constant.
  double Upper(const Matrix<float>& s, double temperature) const;
  double Dual(const Matrix<float>& y, double temperature) const;
  double Energy(const std::vector<int>& labels) const override;

  // v as evidence for the verifier, which has a column for every cut; reuses the memory of `term`.
  void StoreEvidence(const Matrix<float>& v, FlowShape shape, double share, FlowTerm* term) const;

 private:
  void AddFlow(const Matrix<float>& v, FlowShape shape, float factor, Matrix<float>* out) const;
  void AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const;
  // Adds to s what the flows f on the active cuts contribute to the labels, for all variables.
  void AddToLabels(const Matrix<float>& f, Matrix<float>* s) const;
  // Calls take(c, sum) for the active cuts, given the marginals of one variable.
  template <class Take>
  void SumActive(std::span<const float> y, const Take& take) const;
  void CutSums(const Matrix<float>& y, Matrix<float>* z) const;
  // The working memory of a function, N x `cols`: new memory for every call would cost more than the
  // sums.
  Matrix<float>* Scratch(std::size_t cols) const;
  Matrix<float>* ZeroScratch(std::size_t cols) const;
  void FindExceptional();
  const Matrix<double>& CutDistances() const;

  const DenseCrf& model_;
  const GaussianOperator& pairs_;
  std::function<bool()> interrupted_;
  std::vector<int> active_;
  std::vector<float> length_;    // of the active cuts
  std::vector<float> mobility_;  // of the active cuts
  bool plain_;                   // the active cuts are the leaves, all of equal length (Potts)
  double reach_ = 0.0;
  double quadratic_reach_ = 0.0;
  std::vector<float> degrees_;
  std::vector<float> self_weights_;
  // d(i, j) = common_ for most pairs of labels of a truncated metric or a tree. The others, label by
  // label: exceptional_begin_[i] to exceptional_begin_[i + 1], with d(i, j) - common_.
  struct ExceptionalDistance {
    std::size_t label;
    double more;
  };
  bool nearly_potts_ = false;
  double common_ = 0.0;
  std::vector<ExceptionalDistance> exceptional_;
  std::vector<std::size_t> exceptional_begin_;
  mutable Matrix<float> scratch_;
  mutable Matrix<double> cut_distances_;  // once they were asked for
};

// d(i, j) of all i != j where the metric is the sum of the leaves, all of equal length (Potts);
// otherwise 0.
float PottsFactor(const LabelSpace& labels);
// *to = from, with several threads.
void CopyMatrix(const Matrix<float>& from, Matrix<float>* to);
// Marginals that put all mass on the given labels.
Matrix<float> Indicator(const std::vector<int>& labels, std::size_t num_labels);

}  // namespace submarine::internal
