// Mean field between trees: the best lower bound on T log Z_T by a distribution Q under which the
// trees of an induced forest are independent, with any distribution within each tree (docs/math.md,
// "Mean field"),
//
//   F_T(Q) = sum over trees t of [ T H(Q_t) - E_t(Q_t) ] - constant
//            - sum over edges (a,b) between trees of w_ab sum_ij y_ai y_bj d(i,j),
//
// y the marginals of Q. Trees are updated one after the other, those that are not adjacent in
// parallel; given the others, the best Q_t has the tree's own edges and the unaries
//
//   phi_a + sum over edges between trees of w_ab d y_b,
//
// and sum-product finds its marginals exactly, so F_T never falls. Started from the marginals of
// naive mean field it ends no lower than that.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/evidence.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solver/mean_field/mean_field.h"

namespace submarine::internal {

struct ForestMeanFieldOptions {
  double temperature = 1.0;  // > 0
  int max_iterations = 200;  // sweeps per start
  double tolerance = 1e-6;   // a start ends when a sweep gains less than this * max(1, |F|)

  double time_limit_seconds = std::numeric_limits<double>::infinity();
  // After every sweep, with the best bound so far; return false to stop.
  std::function<bool(int iteration, double seconds, double lower)> on_iteration = {};
  // Called on the calling thread, also within sweeps; return true to stop.
  std::function<bool()> interrupted = {};
};

struct ForestMeanFieldResult {
  // Proven by `distribution`; -infinity, and nothing else set, when stopped during the first sweep.
  double lower = -std::numeric_limits<double>::infinity();
  ForestDistribution distribution;
  Matrix<double> marginals;
  int iterations = 0;                // sweeps, over all starts
  bool converged = false;            // the best start met the tolerance
  std::vector<SolveRecord> records;  // as in MeanFieldResult
  std::vector<std::vector<double>> free_energy;
};

// Each of the starts (marginals; rows are normalised) is run to its end and the best one kept.
// Throws InvalidInput for a temperature that is not positive, no starts, or starts that are not
// distributions over the model's labels.
ForestMeanFieldResult SolveForestMeanField(const SparseCrf& model,
                                           const std::vector<Matrix<double>>& starts,
                                           const ForestMeanFieldOptions& options = {});

}  // namespace submarine::internal
