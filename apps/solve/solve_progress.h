// The progress line of a solve: phase, bounds, and how much longer it may take.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/cli/terminal.h"
#include "apps/solve/model_input.h"
#include "submarine/base/stopwatch.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {

// A Watch that shows every record, and asks to stop after an interrupt.
class SolveProgress {
 public:
  SolveProgress(const SolveOptions& options, bool quiet) : options_(options), line_(quiet) {}

  bool operator()(std::string_view phase, const SolveRecord& record);
  void Clear() { line_.Clear(); }

 private:
  std::string TimeToGap() const;
  std::string TimeToEndOfPhase(const SolveRecord& record) const;

  const SolveOptions& options_;
  ProgressLine line_;
  std::vector<std::pair<double, double>> gaps_;  // (seconds, gap)
  std::string phase_;
  double phase_begin_ = 0.0;
};

// solve(options, watch) within the time that the clock leaves of the time limit, if `writing` seconds must
// follow. The result's seconds are the clock's.
using SolveFunction = std::function<SolveResult(const SolveOptions&, const Watch&)>;
SolveResult SolveInTime(const SolveFunction& solve, SolveOptions options,
                        const internal::Stopwatch& clock, double writing, SolveProgress* progress);
// Solve().
SolveResult SolveInTime(const ModelInput& input, SolveOptions options,
                        const internal::Stopwatch& clock, double writing, SolveProgress* progress);

// Throws Interrupted where an interrupt came before there was a bound by the pairs. Called last: what the unaries say has been
// written then.
void CheckComplete(const SolveResult& result);

}  // namespace submarine::apps
