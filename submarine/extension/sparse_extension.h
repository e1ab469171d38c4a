// Submodular extensions of a sparse CRF (docs/math.md, "Submodular extension").
//
// The ground set has one element (a,c) per variable and label cut; a labeling x selects A_x =
// {(a,c) : x_a in S_c}. An extension is a submodular F with F(A_x) + offset = E(x) for all x, where
// E is the energy with the cut metric d' <= d. The two extensions here share the pairwise part and
// differ in how they spread the unaries:
//
//   optimal:    sum over (a,i) in A of phi_a(i)
//   alternate:  sum_a sum_i phi_a(i) [(a,i) in A, (a,i+1) not in A],  labels in a cycle;
//               needs phi >= 0, so a variable with a negative unary is shifted up and the shift
//               goes into the offset
//   pairwise:   sum_edges w_ab sum_c l_c [exactly one of (a,c), (b,c) in A]
//
// F is a sum of cut functions of arcs, so its extended polymatroid EP(F) is described by flows: one
// number per arc, within its capacity. A Flow therefore *proves* that its modular function is in
// EP(F), which is why solvers carry flows and certificates are checked from them.
#pragma once

#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/evidence.h"
#include "submarine/extension/extension.h"
#include "submarine/extension/kinds.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

class SparseExtension final : public Extension<double, Flow> {
 public:
  // Keeps a reference to the model.
  SparseExtension(const SparseCrf& model, ExtensionKind kind);

  const SparseCrf& model() const { return model_; }
  ExtensionKind kind() const { return kind_; }
  std::size_t num_variables() const override { return model_.unary().rows(); }
  std::size_t num_labels() const override { return model_.unary().cols(); }
  double offset() const override { return offset_; }

  Flow Start() const override { return NeutralFlow(); }
  void VertexAt(const Matrix<double>& y, Matrix<double>* s_label) const override;
  void MoveTowardsVertex(const Matrix<double>& y, double rate, Flow* flow) const override;
  double LovaszAt(const Matrix<double>& y) const override;
  // With the metric of the cuts, d' <= d.
  double Energy(const std::vector<int>& labels) const override;

  // F(A); `in_set` has one entry per element, (a,c) at a * num_cuts + c.
  double Value(std::span<const char> in_set) const;

  // The Lovasz extension of F at a point z of the ground set (variables x cuts).
  double Lovasz(const Matrix<double>& z) const;

  // The flow of Edmonds' greedy vertex at z: saturated from large to small, 0 at ties (the mean of
  // two vertices).
  Flow GreedyFlow(const Matrix<double>& z) const;

  // Optimal extension only: q_ab = clip(v_a - v_b, -1, 1), a valid flow for every potential v.
  Flow PotentialFlow(const Matrix<double>& v) const;

  // Edge flows 0 and cycle flows 1/2: where solvers start.
  Flow NeutralFlow() const;

  // The modular function of a flow on the ground set (variables x cuts), and summed over the cuts
  // of each label: s'_ai (variables x labels), which is all that the bound depends on.
  Matrix<double> Modular(const Flow& flow) const;
  void LabelModular(const Flow& flow, Matrix<double>* s_label) const override;

  // s' of the greedy vertex at z without forming its flow; flow += rate (greedy flow at z - flow).
  void GreedyLabelModular(const Matrix<double>& z, Matrix<double>* s_label) const;
  void BlendTowardsGreedy(const Matrix<double>& z, double rate, Flow* flow) const;

  // Row a of LabelModular; `scratch` has num_cuts entries.
  void LabelModularRow(const Flow& flow, std::size_t a, std::span<double> scratch,
                       std::span<double> s_label) const;

 private:
  void ModularRow(const Flow& flow, std::size_t a, double* s) const;
  void AddUnaryModularRow(std::span<const double> cycle, std::size_t a, double* s) const;

  const SparseCrf& model_;
  ExtensionKind kind_;
  double offset_;
  std::vector<double> shift_;  // subtracted from unaries, per variable; empty for kOptimal
};

// y(S_c) for every variable and cut. Returns y itself if all cuts are leaves; otherwise the result
// is in `storage`.
const Matrix<double>& CutSums(const SparseCrf& model, const Matrix<double>& y,
                              Matrix<double>* storage);

}  // namespace submarine::internal
