// What the solvers of min { g_T(s) : s in EP(F) } have in common: options, records, termination,
// result.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/solve_record.h"
#include "submarine/base/termination.h"
#include "submarine/extension/sparse_extension.h"

namespace submarine::internal {

struct BoundOptions {
  double temperature = 1.0;    // T >= 0; Frank-Wolfe needs T > 0, where the bound is smooth
  double relative_gap = 1e-4;  // stop when upper - dual <= this * max(1, |upper|)
  int max_iterations = 10000;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  // Called at each evaluation of the bounds after k iterations; return false to stop. `upper` is that
  // of the current flow for Frank-Wolfe and the best so far for PDHG; `dual` is the best so far for both.
  std::function<bool(const SolveRecord&)> on_iteration;
  // Sparse solvers ask it between and within iterations, on the calling thread; return true to
  // stop. Dense solvers ask DenseExtension::interrupted instead.
  std::function<bool()> interrupted = {};
};

// Under every termination except kNotRun, `flow` proves `upper` and `marginals` prove `dual`
// (bound/verify/sparse/verifier.h): any s in EP(F) bounds T log Z_T.
struct BoundResult {
  Termination termination = Termination::kNotRun;
  double upper = std::numeric_limits<double>::infinity();
  double dual = -std::numeric_limits<double>::infinity();
  Flow flow;
  Matrix<double> marginals;
  int iterations = 0;
  std::vector<SolveRecord> records;
};

// (upper - dual) / max(1, |upper|); infinite until both are known.
double RelativeGap(double upper, double dual);
double RelativeGap(const SolveRecord& record);

// The reason to stop after iteration k; kNotRun: none, go on.
Termination CheckTermination(const BoundOptions& options, const SolveRecord& record);

// g_T(s) = sum_a T log sum_i exp(-s'_ai / T) - offset, and the marginals softmax(-s'/T) when asked
// for (T > 0).
double BoundValue(const SparseExtension& extension, const Matrix<double>& s_label,
                  double temperature, Matrix<double>* marginals = nullptr);

// D_T(y) = T H(y) - f(y) - offset.
double DualValue(const SparseExtension& extension, const Matrix<double>& marginals,
                 double temperature);

}  // namespace submarine::internal
