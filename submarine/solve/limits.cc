#include "submarine/solve/limits.h"

#include <algorithm>

#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {

bool Alarm::Tell(std::string_view phase, const SolveRecord& record) {
  latest_ = record;
  if (!stopped_ && watch_ && !watch_(phase, record)) {
    stopped_ = true;
    deadline_ = std::min(deadline_, clock_.Seconds() + grace_);
  }
  return !stopped_;
}

bool Alarm::Progress(std::string_view phase, double done, double reserve) {
  SolveRecord record = latest_;
  record.k = -1;
  record.seconds = clock_.Seconds();
  const SolveRecord kept = latest_;
  record.done = done;
  Tell(phase, record);
  latest_ = kept;
  return SecondsLeft() > reserve;
}

bool KeepsGap(const Certificate& certificate, double gap) {
  constexpr double kTolerance = 1.2;
  constexpr double kFloor = 1e-6;
  return !certificate.upper || !certificate.dual ||
         RelativeGap(*certificate.upper, *certificate.dual) <= kTolerance * gap + kFloor;
}

bool FitsTime(double seconds, double left) {
  constexpr double kTolerance = 0.1;
  constexpr double kFloor = 2.0;
  const double from_now = std::max(0.0, left);
  return seconds <= from_now + std::max(kTolerance * from_now, kFloor);
}

}  // namespace submarine::internal
