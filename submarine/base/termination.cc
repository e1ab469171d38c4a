#include "submarine/base/termination.h"

namespace submarine {

std::string_view ToString(Termination termination) {
  switch (termination) {
    case Termination::kNotRun:
      return "not run";
    case Termination::kGapReached:
      return "gap reached";
    case Termination::kIterationLimit:
      return "iteration limit";
    case Termination::kTimeLimit:
      return "time limit";
    case Termination::kInterrupted:
      return "interrupted";
    case Termination::kStalled:
      return "stalled";
    case Termination::kConverged:
      return "converged";
    case Termination::kExact:
      return "exact";
  }
  return "unknown";
}

}  // namespace submarine
