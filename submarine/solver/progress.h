// Bookkeeping shared by the bound solvers: what has been proven so far, and whether to go on.
#pragma once

#include "submarine/base/stopwatch.h"
#include "submarine/solver/bound_solver.h"

namespace submarine {

// The least temperature that is not 0: energies are divided by it, which must not overflow.
inline constexpr double kLeastTemperature = 1e-100;

// Throws InvalidInput unless T > 0: at T = 0 the bound is not smooth, which Frank-Wolfe needs.
void RequirePositiveTemperature(double temperature);

class Progress {
 public:
  Progress(const BoundOptions& options, BoundResult* result)
      : options_(options), result_(*result) {}

  // Takes the bounds after k iterations: `upper` is that of the current flow, `dual` the value at
  // `marginals`, kept when it is the best so far. Returns false when the solver is to stop, with
  // the reason in the result.
  bool Record(int k, double upper, double dual, const Matrix<double>& marginals);

  // Marginals that may prove a better dual value, without recording an iteration.
  void OfferMarginals(double dual, const Matrix<double>& marginals);

  double Seconds() const { return clock_.Seconds(); }

 private:
  const BoundOptions& options_;
  BoundResult& result_;
  Stopwatch clock_;
};

}  // namespace submarine
