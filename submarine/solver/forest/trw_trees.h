// Tree-reweighted bounds for any forests: the bound as a smooth convex function of the messages
// lambda (trw_chains.h, LogMessages), minimised by L-BFGS. Its value and gradient come from exact
// sum-product on every forest (Jancsary & Matz 2011 do the same on the split unaries; the number of
// messages depends on the edges only, not on the number of forests, and they stay meaningful when
// the list changes).
//
//   B(lambda) = sum_f p_f log Z_f(theta^f(lambda)),
//   dB / dlambda_{e -> a} = rho_e ybar_a - sum over forests f with e of p_f y^f_a,
//   ybar = sum_f p_f y^f.
//
// Every accepted step lowers the bound.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/solver/forest/forest_inference.h"
#include "submarine/solver/forest/trw_chains.h"
#include "submarine/solver/forest/trw_model.h"

namespace submarine::internal {

// theta^f of the split that the messages define.
Matrix<double> SplitTheta(const PairwiseModel& model, const Matrix<double>& theta,
                          std::span<const double> rho, const WeightedForest& forest,
                          const LogMessages& messages);

class TreeDescent {
 public:
  // Keeps references to the first three; `forests` must be valid and hold every edge.
  TreeDescent(const PairwiseModel& model, const Matrix<double>& theta,
              const std::vector<WeightedForest>& forests, double temperature, LogMessages messages);

  // One step; returns the bound after it, sum_f p_f log Z_f.
  double Step();
  double bound() const { return bound_; }
  // There is no descent direction any more.
  bool exhausted() const { return exhausted_; }

  const LogMessages& messages() const { return messages_; }
  const Matrix<double>& marginals() const { return marginals_; }  // ybar

  // I_e in the first forest that holds e.
  std::vector<double> MutualInformation();

 private:
  struct Pair {
    std::vector<double> step;
    std::vector<double> change;  // of the gradient
    double curvature;            // <step, change>
  };

  double Evaluate(const LogMessages& messages, LogMessages* gradient, Matrix<double>* marginals);
  std::vector<double> Direction() const;

  const PairwiseModel& model_;
  const Matrix<double>& theta_;
  const std::vector<WeightedForest>& forests_;
  std::vector<double> rho_;
  EdgeKernels kernels_;
  std::vector<ForestInference> inference_;
  std::vector<ForestWorkspace> workspaces_;
  LogMessages messages_;
  LogMessages gradient_;
  Matrix<double> marginals_;
  double bound_;
  bool exhausted_ = false;
  std::deque<Pair> memory_;
};

}  // namespace submarine::internal
