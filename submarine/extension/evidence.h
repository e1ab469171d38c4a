// What solvers hand to the verifiers (bound/verify): evidence from which, with the model, anyone
// can recompute a bound. One type per kind of bound.
#pragma once

#include <cstddef>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/routing.h"
#include "submarine/filter/kernel/gaussian_operator.h"
#include "submarine/model/forest.h"

namespace submarine::internal {

// --- Sparse extensions (extension/sparse_extension.h): a flow on every arc.
struct Flow {
  // edges x cuts, in [-1, 1]: the part of w_ab l_c that runs from (a,c) to (b,c).
  Matrix<double> edge;
  // variables x labels, in [0, 1]: the part of phi_a(i) that runs from i to i+1. Alternate only.
  Matrix<double> cycle = {};
  // memberships x labels: what the cliques beside the pairs have (extension/clique_extension.h). Empty: there are none.
  Matrix<double> cliques = {};
};

// --- Dense extension (extension/dense_extension.h): potentials, whose flows are never stored.
// A convex combination of potentials is the evidence for an upper bound:
//   q_ab = sum_t share_t psi_t(v^t_a - v^t_b).
// Differences are rounded to single precision, which keeps them antisymmetric. The columns of v are
// the cuts of the model's label space.
struct FlowTerm {
  double share = 1.0;
  FlowShape shape = FlowShape::kClip;
  Matrix<float> v;
};
using FlowProof = std::vector<FlowTerm>;

// --- Routed pairs (extension/routing.h)
// The distribution on the paths with these node costs (variables x labels) and edge weights (positions x bandwidth, as
// Routing::threshold): the evidence for the dual value. Empty: there is none.
struct RoutedDualPoint {
  Matrix<float> costs;
  Matrix<float> edge_weights;

  bool empty() const { return costs.size() == 0; }
};
struct RoutedProof {
  Routing routing;
  FlowProof flows;  // on the weight that routing leaves; clip or sign
  RoutedDualPoint dual_point = {};
};

// --- Forests
// The model as a convex combination of forests: unary[f] holds the unary costs of forest f
// (variables x largest number of labels; entries beyond a variable's labels are ignored), and each
// of its edges has the model's energies divided by rho_e. For weights p_f with sum_f p_f phi^f =
// phi,
//
//   T log Z_T <= sum_f p_f T log Z_T(forest f),
//
// because T log Z_T is convex in the energies.
struct TrwEvidence {
  std::vector<WeightedForest> forests;
  std::vector<Matrix<double>> unary;
};

// The distribution on a forest whose edges have the model's energies and whose nodes have these
// costs (variables x labels). If no other edge joins two variables of one tree, it is the evidence
// for VerifiedForestLower (bound/verify/sparse/forest_lower.h).
struct ForestDistribution {
  std::vector<std::size_t> forest;
  Matrix<double> costs;
};

}  // namespace submarine::internal
