// How far a solve is.
#pragma once

#include <cmath>
#include <optional>

namespace submarine {

// The values are the solver's own, not proven.
struct SolveRecord {
  int k = 0;             // iterations; -1 in a phase without any, which only the watch sees
  double seconds = 0.0;  // since the start of the solve
  std::optional<double> upper = {};
  std::optional<double> dual = {};
  std::optional<double> lower = {};
  std::optional<double> done =
      {};  // fraction done of a phase without iterations; only the watch sees it
};

namespace internal {

// For a record: bounds are infinite until they are known.
inline std::optional<double> IfFinite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace internal
}  // namespace submarine
