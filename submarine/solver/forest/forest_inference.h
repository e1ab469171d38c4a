// Exact sum-product on one forest, in the log domain: its log partition function, marginals, and
// the joint distributions of neighbours.
#pragma once

#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/model/forest.h"
#include "submarine/solver/forest/trw_model.h"

namespace submarine::internal {

// Working memory of one run; forests of the same model may share it, one after the other.
struct ForestWorkspace {
  Matrix<double> below;   // unaries and messages from the children
  Matrix<double> upward;  // message of every variable to its parent
  Matrix<double> total;   // unaries and messages from everywhere
};

class ForestInference {
 public:
  // The edges must form a forest. Keeps a reference to the number of labels.
  ForestInference(const std::vector<std::size_t>& labels, std::span<const Link> links,
                  std::span<const std::size_t> edges);

  // log sum_x exp(sum_a theta_a(x_a)) prod K over the forest's edges. Computes marginals on request
  // (variables x largest number of labels, 0 beyond a variable's own). Components run in parallel.
  double Run(const EdgeKernels& kernels, const Matrix<double>& theta, ForestWorkspace* workspace,
             Matrix<double>* marginals = nullptr) const;

  // After a Run with marginals: calls visit(edge, I_e) for every edge of the forest, I_e the mutual
  // information of its ends. O(L^2) per edge.
  template <class Visit>
  void VisitMutualInformation(const EdgeKernels& kernels, const ForestWorkspace& workspace,
                              const Visit& visit) const {
    for (const RootedForest::Node& node : forest_.nodes) {
      if (node.parent >= 0) visit(node.edge, MutualInformation(kernels, workspace, node));
    }
  }

 private:
  double Upward(const EdgeKernels& kernels, std::size_t begin, std::size_t end,
                ForestWorkspace* workspace) const;
  void Downward(const EdgeKernels& kernels, std::size_t begin, std::size_t end,
                ForestWorkspace* workspace, Matrix<double>* marginals) const;
  Matrix<double> Joint(const EdgeKernels& kernels, const ForestWorkspace& workspace,
                       const RootedForest::Node& node) const;
  double MutualInformation(const EdgeKernels& kernels, const ForestWorkspace& workspace,
                           const RootedForest::Node& node) const;

  const std::vector<std::size_t>& labels_;
  RootedForest forest_;
};

}  // namespace submarine::internal
