// Bookkeeping shared by the bound solvers: what has been proven so far, and whether to continue.
#pragma once

#include <algorithm>
#include <limits>

#include "submarine/base/stop_check.h"
#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {

// The least positive temperature: energies are divided by it, which must not overflow.
inline constexpr double kLeastTemperature = 1e-100;

// Throws InvalidInput unless T > 0: at T = 0 the bound is not smooth, which Frank-Wolfe needs.
void RequirePositiveTemperature(double temperature);

// For solvers whose bounds improve with every step up to rounding: where energies cancel, only
// rounding changes them long before the gap is reached.
class StallCheck {
 public:
  // True once kPatience records in a row brought no improvement.
  bool Stalled(double upper, double dual) {
    const bool better = upper < upper_ || dual > dual_;
    upper_ = std::min(upper_, upper);
    dual_ = std::max(dual_, dual);
    records_ = better ? 0 : records_ + 1;
    return records_ >= kPatience;
  }

 private:
  static constexpr int kPatience = 16;
  double upper_ = std::numeric_limits<double>::infinity();
  double dual_ = -std::numeric_limits<double>::infinity();
  int records_ = 0;
};

class Progress {
 public:
  Progress(const BoundOptions& options, BoundResult* result)
      : options_(options),
        result_(*result),
        stop_(options.time_limit_seconds, options.interrupted) {}

  // Takes the bounds after k iterations: `upper` is that of the current flow, `dual` the value at
  // `marginals`, kept when it is the best so far. Returns false when the solver must stop, with the
  // reason in the result. `seconds_to_next` is the time until the next possible record, which must
  // still fit into the time limit.
  bool Record(int k, double upper, double dual, const Matrix<double>& marginals,
              double seconds_to_next = 0.0);

  // The same for solvers whose bounds improve with every step.
  bool RecordUnlessStalled(int k, double upper, double dual, const Matrix<double>& marginals,
                           double seconds_to_next);

  // Ends the solve in the last recorded state.
  void Abandon();

  // Marginals that may prove a better dual value, without recording an iteration.
  void OfferMarginals(double dual, const Matrix<double>& marginals);

  double Seconds() const { return stop_.Seconds(); }
  // For work between two records.
  const StopCheck& stop() const { return stop_; }

 private:
  const BoundOptions& options_;
  BoundResult& result_;
  StopCheck stop_;
  StallCheck stall_;
};

// The durations of iterations and evaluations, where these are separate, so that the last
// evaluation still fits into the time limit, or nearly.
class Pace {
 public:
  explicit Pace(const Progress& progress) : progress_(progress) {}

  void Begin() { begin_ = progress_.Seconds(); }
  void EndIteration() { iteration_ = progress_.Seconds() - begin_; }
  void EndEvaluation() {
    evaluation_ = progress_.Seconds() - begin_;
    if (iteration_ < 0.0) iteration_ = evaluation_;  // a guess until an iteration was timed
  }
  // The time of one more iteration and its evaluation, minus the overrun allowed.
  double SecondsToNext() const { return std::max(0.0, iteration_ + evaluation_ - kOverrun); }

 private:
  static constexpr double kOverrun = 0.2;
  const Progress& progress_;
  double begin_ = 0.0;
  double iteration_ = -1.0;
  double evaluation_ = 0.0;
};

}  // namespace submarine::internal
