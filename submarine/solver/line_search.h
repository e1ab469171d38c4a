// Minimisation of a convex function on [0, 1] through its derivatives.
#pragma once

#include <cmath>
#include <utility>

namespace submarine {

// `derivatives(t)` returns (f'(t), f''(t)) of a convex f. Newton steps on f' = 0 that leave the
// bracket around the root are replaced by bisection, so it takes at most max_evaluations and cannot
// leave [0, 1].
template <class Derivatives>
double MinimiseOnUnitInterval(const Derivatives& derivatives, int max_evaluations = 24) {
  const auto [slope0, curvature0] = derivatives(0.0);
  if (!(slope0 < 0.0)) return 0.0;
  double low = 0.0;
  double high = 1.0;
  bool high_is_bracket = false;  // until f'(1) is known to be positive
  double t = curvature0 > 0.0 ? -slope0 / curvature0 : 1.0;
  for (int k = 1; k < max_evaluations; ++k) {
    if (!(t > low && t < high)) t = high_is_bracket ? 0.5 * (low + high) : 1.0;
    const auto [slope, curvature] = derivatives(t);
    if (t >= 1.0 && slope <= 0.0) return 1.0;
    if (std::abs(slope) <= 1e-9 * -slope0) return t;
    if (slope < 0.0) {
      low = t;
    } else {
      high = t;
      high_is_bracket = true;
    }
    t = curvature > 0.0 ? t - slope / curvature : 0.5 * (low + high);
  }
  return low;  // f decreases up to `low`: never uphill
}

}  // namespace submarine
