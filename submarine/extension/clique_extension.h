// The submodular extension of cliques (model/clique.h; docs/math.md, "Cliques"): with one element per variable and label,
//
//   F_c(A) = - sum_l max(0, gamma - theta u(c \ A_l)),     offset gamma,
//   f_c(y) = - theta sum_l min { <q_l, y_l> : 0 <= q_al <= u_a, sum_a q_al = Q },
//
// so that its evidence is one such q for every clique and label, whose modular function is -theta q. The q of all
// cliques are the rows of one matrix (memberships x labels), clique after clique, in the order of their members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/extension.h"
#include "submarine/model/clique.h"

namespace submarine::internal {

class CliqueExtension {
 public:
  CliqueExtension(std::span<const Clique> cliques, std::size_t num_variables,
                  std::size_t num_labels);

  std::size_t num_memberships() const { return variable_.size(); }
  double offset() const { return offset_; }  // sum of gamma
  // Of every variable: the most that its cliques can take off a label, the sum of theta r, r_a = min(u_a, Q).
  std::span<const double> strength() const { return strength_; }

  // q = u Q / U, by which a clique treats all labelings with the same mass of every label alike.
  template <class Real>
  Matrix<Real> Neutral() const;

  // Matrices y have a row per variable, whose first num_labels entries count.
  // q += rate (greedy - q): Edmonds' greedy vertex fills the weights of the smallest y of a clique first, until they are Q;
  // equal ones share what is left.
  template <class Real>
  void MoveTowardsGreedy(const Matrix<Real>& y, double rate, Matrix<Real>* q) const;
  template <class Real>
  double LovaszAt(const Matrix<Real>& y) const;
  // s -= theta q, for one variable or all.
  template <class Real>
  void AddModularRow(const Matrix<Real>& q, std::size_t a, std::span<Real> s) const;
  template <class Real>
  void AddModular(const Matrix<Real>& q, Matrix<Real>* s) const;
  // q <- the projection of q - step r y onto the capped simplices, where distances of entries are divided by their r, so that
  // all may move in proportion to what they can be; returns sum theta (change of q)^2 / r.
  template <class Real>
  double Step(const Matrix<Real>& y, double step, Matrix<Real>* q) const;
  // Calls take(a, b) for variables of a clique whose q are inside 0..u for every label: their marginals are the same at the
  // optimum. Enough of them to join all such variables of a clique.
  template <class Take>
  void ForFreePairs(const Matrix<double>& q, const Take& take) const {
    for (const Range& range : cliques_) {
      const std::uint32_t* first = nullptr;
      for (std::size_t m = range.begin; m < range.end; ++m) {
        bool free = true;
        for (const double share : q.row(m)) free = free && share > 0.0 && share < weight_[m];
        if (!free) continue;
        if (first != nullptr) take(*first, variable_[m]);
        if (first == nullptr) first = &variable_[m];
      }
    }
  }

 private:
  struct Range {
    std::size_t begin, end;  // memberships
    double theta, truncation, total;
  };
  template <class Real>
  double StepClique(const Range& range, const Matrix<Real>& y, double step, Matrix<Real>* q) const;

  std::size_t num_variables_;
  std::size_t num_labels_;
  double offset_ = 0.0;
  std::vector<Range> cliques_;
  std::vector<std::uint32_t> variable_;  // of every membership
  std::vector<double> weight_;           // u
  std::vector<double> theta_;            // likewise, of its clique
  std::vector<double> reach_;            // r
  std::vector<double> strength_;
  std::vector<std::size_t> incident_begin_;
  std::vector<std::uint32_t> incident_;  // memberships of every variable
};

// Any extension of pairs and the one of cliques together, for solvers that take any extension.
template <class Real, class Evidence>
struct EvidenceWithCliques {
  Evidence pairs;
  Matrix<Real> cliques;
};

template <class Real, class Evidence>
class ExtensionWithCliques final : public Extension<Real, EvidenceWithCliques<Real, Evidence>> {
 public:
  using Both = EvidenceWithCliques<Real, Evidence>;
  // Keeps references.
  ExtensionWithCliques(const Extension<Real, Evidence>& pairs, const CliqueExtension& cliques)
      : pairs_(pairs), cliques_(cliques) {}

  std::size_t num_variables() const override { return pairs_.num_variables(); }
  std::size_t num_labels() const override { return pairs_.num_labels(); }
  double offset() const override { return pairs_.offset() + cliques_.offset(); }
  Both Start() const override { return {pairs_.Start(), cliques_.template Neutral<Real>()}; }
  void LabelModular(const Both& evidence, Matrix<Real>* s) const override {
    pairs_.LabelModular(evidence.pairs, s);
    cliques_.AddModular(evidence.cliques, s);
  }
  void VertexAt(const Matrix<Real>& y, Matrix<Real>* s) const override {
    pairs_.VertexAt(y, s);
    Matrix<Real> q(cliques_.num_memberships(), num_labels());
    cliques_.MoveTowardsGreedy(y, 1.0, &q);
    cliques_.AddModular(q, s);
  }
  void MoveTowardsVertex(const Matrix<Real>& y, double rate, Both* evidence) const override {
    pairs_.MoveTowardsVertex(y, rate, &evidence->pairs);
    cliques_.MoveTowardsGreedy(y, rate, &evidence->cliques);
  }
  double LovaszAt(const Matrix<Real>& y) const override {
    return pairs_.LovaszAt(y) + cliques_.LovaszAt(y);
  }
  double Energy(const std::vector<int>& labels) const override {
    Matrix<Real> y(num_variables(), num_labels());
    for (std::size_t a = 0; a < labels.size(); ++a) y(a, static_cast<std::size_t>(labels[a])) = 1;
    return pairs_.Energy(labels) + cliques_.LovaszAt(y) + cliques_.offset();
  }

 private:
  const Extension<Real, Evidence>& pairs_;
  const CliqueExtension& cliques_;
};

}  // namespace submarine::internal
