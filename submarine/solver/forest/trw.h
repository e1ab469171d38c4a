// Tree-reweighted upper bounds on T log Z_T (Wainwright, Jaakkola & Willsky 2005), for any model
// with factors of at most two variables.
//
// The model is a convex combination of forests, sum_f p_f theta^f = theta, and T log Z_T is convex:
//
//   T log Z_T <= sum_f p_f T log Z_T(theta^f).
//
// The solver finds the best split of the unaries among the forests; edges are split as 1 / rho_e,
// rho_e the probability that a forest drawn with the weights p holds edge e. The value of the best
// split, max over the local polytope of <theta,mu> + T (sum_a H_a - sum_e rho_e I_e), falls as rho
// grows. A single forest (rho = 1) is exact; as rho -> 0 the value tends to the optimum of the
// submodular bound (solver/flow/pdhg.h).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/evidence.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/forest.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {

struct TrwOptions {
  double temperature = 1.0;  // > 0
  // Stop when a sweep lowers the bound by less than this * max(1, |upper|); with forests other than
  // ascending chains, three sweeps in a row.
  double tolerance = 1e-7;
  int max_iterations = 10000;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  // After every sweep; return false to stop.
  std::function<bool(const SolveRecord&)> on_iteration = {};
  // Called between sweeps, on the calling thread; return true to stop.
  std::function<bool()> interrupted = {};

  // Empty: the rows and columns (and diagonals) of a grid with equal weights; for other graphs
  // CoveringForests(seed). Else must hold every edge.
  std::vector<WeightedForest> forests = {};
  std::uint64_t seed = 1;

  // Frank-Wolfe steps on rho after the first solve, each towards the spanning tree of largest
  // mutual information. Each step adds one forest to the list; every intermediate bound is valid.
  int rho_steps = 0;
};

// Under every termination except kNotRun `evidence` proves `upper`
// (bound/verify/sparse/trw_verifier.h). kGapReached means that the tolerance was met. Records hold
// the computed bound after each sweep, which falls up to rounding. `dual` is not computed; records
// hold -infinity.
struct TrwResult {
  Termination termination = Termination::kNotRun;
  double upper = std::numeric_limits<double>::infinity();
  TrwEvidence evidence;
  std::vector<double> rho;   // of every edge
  Matrix<double> marginals;  // variables x largest number of labels, 0 beyond a variable's own
  int iterations = 0;
  std::vector<SolveRecord> records;
};

// Uses the distances of the metrics themselves, whatever their cuts express. Throws InvalidInput
// for a temperature that is not positive, invalid forests, and tables that forbid every labeling as
// far as arc consistency shows (always, on a forest); NotExpressible for factors of more than two
// variables. Infinite energies become large
// ones (trw_model.h), which keeps the bound valid; only the verifier uses them as they are.
TrwResult SolveTrw(const SparseCrf& model, const TrwOptions& options = {});
TrwResult SolveTrw(const FactorGraph& graph, const TrwOptions& options = {});

}  // namespace submarine::internal
