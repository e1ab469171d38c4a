#include "submarine/solve/limits.h"

#include <algorithm>

#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {

bool Alarm::Tell(std::string_view phase, const SolveRecord& record) {
  phase_ = phase;
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

bool Alarm::Rings() {
  constexpr double kBetweenQuestions = 0.02;  // seconds
  const double now = clock_.Seconds();
  if (!stopped_ && now >= next_question_) {
    next_question_ = now + kBetweenQuestions;
    Tell(phase_, latest_);
  }
  return stopped_ || SecondsLeft() <= 0.0;
}

bool KeepsGap(const Certificate& certificate, double gap) {
  constexpr double kTolerance = 1.2;
  constexpr double kFloor = 1e-6;
  return !certificate.upper || !certificate.dual ||
         RelativeGap(*certificate.upper, *certificate.dual) <= kTolerance * gap + kFloor;
}

}  // namespace submarine::internal
