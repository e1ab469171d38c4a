#include "submarine/solver/common/progress.h"

#include <fmt/format.h>

#include <cmath>

#include "submarine/base/error.h"

namespace submarine::internal {

void RequirePositiveTemperature(double temperature) {
  if (!(temperature >= kLeastTemperature) || !std::isfinite(temperature)) {
    throw InvalidInput(
        fmt::format("this method needs a finite temperature >= {}, not {}; pdhg and exact take 0",
                    kLeastTemperature, temperature));
  }
}

void Progress::OfferMarginals(double dual, const Matrix<double>& marginals) {
  if (dual > result_.dual || result_.marginals.size() == 0) {
    result_.dual = dual;
    result_.marginals = marginals;
  }
}

void Progress::Abandon() {
  result_.termination = stop_.interrupted() ? Termination::kInterrupted : Termination::kTimeLimit;
}

bool Progress::Record(int k, double upper, double dual, const Matrix<double>& marginals,
                      double seconds_to_next) {
  OfferMarginals(dual, marginals);
  result_.upper = upper;
  result_.iterations = k;
  const SolveRecord record{k, Seconds(), IfFinite(result_.upper), IfFinite(result_.dual)};
  result_.records.push_back(record);
  result_.termination = CheckTermination(options_, record);
  const bool stopped = (options_.on_iteration && !options_.on_iteration(record)) ||
                       (stop_.Stopped() && stop_.interrupted());
  if (result_.termination == Termination::kNotRun && stopped)
    result_.termination = Termination::kInterrupted;
  if (result_.termination == Termination::kNotRun &&
      record.seconds + seconds_to_next >= options_.time_limit_seconds) {
    result_.termination = Termination::kTimeLimit;
  }
  return result_.termination == Termination::kNotRun;
}

bool Progress::RecordUnlessStalled(int k, double upper, double dual,
                                   const Matrix<double>& marginals, double seconds_to_next) {
  if (!Record(k, upper, dual, marginals, seconds_to_next)) return false;
  if (!stall_.Stalled(upper, dual)) return true;
  result_.termination = Termination::kStalled;
  return false;
}

}  // namespace submarine::internal
