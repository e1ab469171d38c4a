// Why a solver stopped.
#pragma once

#include <string_view>

namespace submarine {

enum class Termination {
  kNotRun,
  kGapReached,  // upper - dual <= relative_gap * max(1, |upper|)
  kIterationLimit,
  kTimeLimit,
  kInterrupted,  // the watch or a callback asked to stop
  kStalled,      // the gap fell too little for the work it took
  kConverged,    // a method without a gap (mean field, TRW) met its tolerance
  kExact,        // exact inference finished
};
std::string_view ToString(Termination termination);

}  // namespace submarine
