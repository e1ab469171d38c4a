#include "apps/solve_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace submarine::apps {
namespace {

// How much longer, if the gap keeps falling as a power of time at the pace of the second half of
// the run.
std::string TimeLeft(const std::vector<std::pair<double, double>>& gaps,
                     const SolveOptions& options) {
  double left = options.time_limit_seconds - gaps.back().first;
  const auto middle =
      std::lower_bound(gaps.begin(), gaps.end(), std::pair(gaps.back().first / 2.0, 0.0));
  const auto [t0, gap0] = *middle;
  const auto [t1, gap1] = gaps.back();
  if (t0 > 0.0 && t1 > t0 && gap1 < gap0 && gap1 > options.relative_gap) {
    const double power = std::log(gap0 / gap1) / std::log(t1 / t0);
    left = std::min(left, t1 * (std::pow(gap1 / options.relative_gap, 1.0 / power) - 1.0));
  }
  return std::isfinite(left) && left < 1e6 ? "about " + DurationText(std::max(left, 0.0)) + " left"
                                           : "";
}

}  // namespace

bool SolveProgress::operator()(std::string_view phase, const SolveRecord& record) {
  // Some phases have no iterations: they only say that they are at work.
  const bool iterates = record.k >= 0;
  std::string text = iterates ? fmt::format("{} {:>5}  {:.1f} s", phase, record.k, record.seconds)
                              : fmt::format("{}  {:.1f} s", phase, record.seconds);
  if (record.upper) text += fmt::format("  upper {:.4f}", *record.upper);
  if (iterates && record.upper && record.dual) {
    const double gap = RelativeGap(*record.upper, *record.dual);
    gaps_.emplace_back(record.seconds, gap);
    text +=
        fmt::format("  dual {:.4f}  gap {:.2e}  {}", *record.dual, gap, TimeLeft(gaps_, options_));
  }
  if (record.lower) text += fmt::format("  lower {:.4f}", *record.lower);
  line_.Show(text);
  return !Interrupted();
}

}  // namespace submarine::apps
