// Naive mean field: the best lower bound on T log Z_T by a product distribution (docs/math.md,
// "Mean field"),
//
//   F_T(y) = sum_a [ T H(y_a) - <phi_a, y_a> ] - constant
//            - sum over edges (a,b) of w_ab sum_ij y_ai y_bj d(i,j),
//
// with the true metric d, whatever cuts the upper bound uses. Variables are updated one after the
// other; each update maximises F_T exactly over its row, so F_T never falls:
//
//   y_a = softmax(-(phi_a + sum_b w_ab d y_b) / T).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/solve_record.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

struct MeanFieldOptions {
  double temperature = 1.0;   // > 0
  int max_iterations = 1000;  // sweeps per start
  double tolerance = 1e-7;    // a start ends when a sweep gains less than this * max(1, |F|)

  // F has many local maxima. First the extra starts (marginals known from elsewhere; rows are
  // normalised), then `starts` of: the unaries' softmax, the uniform distribution, the single label
  // that is cheapest for all variables together, and random ones.
  int starts = 4;
  std::uint64_t seed = 1;
  std::vector<Matrix<double>> extra_starts = {};

  // The first sweep is made in any case if it takes no more than 0.2 s.
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  // After every sweep, with the best bound so far; return false to stop.
  std::function<bool(int iteration, double seconds, double lower)> on_iteration = {};
  // Called on the calling thread, also within sweeps; return true to stop. Whatever stops a sweep,
  // the current marginals prove their bound.
  std::function<bool()> interrupted = {};
};

struct MeanFieldResult {
  // Free energy of `marginals`; if a sweep was stopped before its end, the value before it, which
  // is no larger.
  double lower = -std::numeric_limits<double>::infinity();
  Matrix<double> marginals;          // of the best start
  int iterations = 0;                // sweeps, over all starts
  bool converged = false;            // the best start met the tolerance; the bound holds either way
  std::vector<SolveRecord> records;  // one per sweep, with the best bound so far over all starts
  // Of each start after each of its sweeps; never falls within a start.
  std::vector<std::vector<double>> free_energy;
};

// Throws InvalidInput for a temperature that is not positive, no start at all, or extra starts that
// are not distributions over the model's labels.
MeanFieldResult SolveMeanField(const SparseCrf& model, const MeanFieldOptions& options = {});

}  // namespace submarine::internal
