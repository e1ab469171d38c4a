#include "submarine/solve/candidate/budget.h"

#include <algorithm>

namespace submarine::internal {

bool Budget::Tell(std::string_view phase, const SolveRecord& record) {
  phase_ = phase;
  latest_ = record;
  if (!stopped_ && watch_ && !watch_(phase, record)) {
    stopped_ = true;
    deadline_ = std::min(deadline_, clock_.Seconds() + grace_);
  }
  return !stopped_;
}

bool Budget::Progress(std::string_view phase, double done, double reserve) {
  SolveRecord record = latest_;
  record.k = -1;
  record.seconds = clock_.Seconds();
  const SolveRecord kept = latest_;
  record.done = done;
  Tell(phase, record);
  latest_ = kept;
  return SecondsLeft() > reserve;
}

bool Budget::AsksToStop() {
  constexpr double kBetweenQuestions = 0.02;  // seconds
  const double now = clock_.Seconds();
  if (!stopped_ && now >= next_question_) {
    next_question_ = now + kBetweenQuestions;
    Tell(phase_, latest_);
  }
  return stopped_;
}

}  // namespace submarine::internal
