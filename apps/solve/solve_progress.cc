#include "apps/solve/solve_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "submarine/base/error.h"
#include "submarine/base/numbers.h"
#include "submarine/solver/common/bound_solver.h"

namespace submarine::apps {
namespace {

using internal::RelativeGap;
using internal::Stopwatch;

// An estimate that has run out is not shown.
std::string LeftText(double seconds) {
  return std::isfinite(seconds) && seconds >= 0.5 && seconds < 1e6
             ? fmt::format("  about {} left", DurationText(seconds))
             : "";
}

}  // namespace

// Assumes that the gap keeps falling as a power of time, at the rate of the second half of the run.
std::string SolveProgress::TimeToGap() const {
  double left = options_.limits.time_limit_seconds - gaps_.back().first;
  const double aim = options_.limits.gap.value_or(DefaultGap(Method::kAuto, ModelKind::kDense));
  const auto middle =
      std::lower_bound(gaps_.begin(), gaps_.end(), std::pair(gaps_.back().first / 2.0, 0.0));
  const auto [t0, gap0] = *middle;
  const auto [t1, gap1] = gaps_.back();
  if (t0 > 0.0 && t1 > t0 && gap1 < gap0 && gap1 > aim) {
    const double power = std::log(gap0 / gap1) / std::log(t1 / t0);
    left = std::min(left, t1 * (std::pow(gap1 / aim, 1.0 / power) - 1.0));
  }
  return LeftText(left);
}

std::string SolveProgress::TimeToEndOfPhase(const SolveRecord& record) const {
  const double spent = record.seconds - phase_begin_;
  return *record.done > 0.05 ? LeftText(spent * (1.0 - *record.done) / *record.done) : "";
}

bool SolveProgress::operator()(std::string_view phase, const SolveRecord& record) {
  if (phase != phase_) {
    phase_ = phase;
    phase_begin_ = record.seconds;
  }
  // Some phases have no iterations: they report a fraction done, or only that they are running.
  const bool iterates = record.k >= 0;
  std::string text(phase);
  if (iterates) text += fmt::format(" {}", record.k);
  if (record.done)
    text += fmt::format(" {:.0f}%{}", 100.0 * *record.done, TimeToEndOfPhase(record));
  if (record.upper) text += fmt::format("  upper {:.4f}", *record.upper);
  if (iterates && record.upper && record.dual) {
    const double gap = RelativeGap(*record.upper, *record.dual);
    gaps_.emplace_back(record.seconds, gap);
    text += fmt::format("  dual {:.4f}  gap {:.2e}{}", *record.dual, gap, TimeToGap());
  }
  if (record.lower) text += fmt::format("  lower {:.4f}", *record.lower);
  line_.Show(text);
  return !Interrupted();
}

SolveResult SolveInTime(const SolveFunction& solve, SolveOptions options, const Stopwatch& clock,
                        double writing, SolveProgress* progress) {
  // What the last steps of a solve, which do not look at the clock, and the program's end may take beyond their time.
  const double slack = std::clamp(0.01 * options.limits.time_limit_seconds, 0.02, 0.3);
  options.limits.time_limit_seconds =
      std::max(0.0, options.limits.time_limit_seconds - clock.Seconds() - writing - slack);
  // After an interrupt, everything must end within two seconds.
  constexpr double kSecondsAfterInterrupt = 1.8;
  options.limits.interrupt_seconds =
      std::clamp(kSecondsAfterInterrupt - writing, 0.3, options.limits.interrupt_seconds);
  SolveResult result = solve(options, std::ref(*progress));
  result.seconds = clock.Seconds();
  (*progress)("writing", {.k = -1});
  return result;
}

SolveResult SolveInTime(const ModelInput& input, SolveOptions options, const Stopwatch& clock,
                        double writing, SolveProgress* progress) {
  return SolveInTime([&input](const SolveOptions& within,
                              const Watch& watch) { return Solve(input, within, watch); },
                     std::move(options), clock, writing, progress);
}

// Whatever solver had a first bound has left a record of it, or the pairs that it used.
void CheckComplete(const SolveResult& result) {
  if (result.termination != Termination::kInterrupted || !result.certificate.upper ||
      !result.records.empty() || !result.pairs.empty())
    return;
  throw submarine::Interrupted(
      "interrupted before there was a bound by the pairs: what was written is of the unaries");
}

}  // namespace submarine::apps
