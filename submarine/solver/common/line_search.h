// Minimisation on a segment: of a convex function through its derivatives, and of the bound.
#pragma once

#include <cmath>
#include <utility>

#include "submarine/base/matrix.h"
#include "submarine/base/stop_check.h"

namespace submarine::internal {

// `derivatives(t)` returns (f'(t), f''(t)) of a convex f. Newton steps on f' = 0 that leave the
// bracket around the root, or that do not at least halve from one to the next (Newton crawls along
// an exponential), are replaced by bisection, so it takes at most max_evaluations and cannot leave
// [0, 1].
template <class Derivatives>
double MinimiseOnUnitInterval(const Derivatives& derivatives, int max_evaluations = 24) {
  const auto [slope0, curvature0] = derivatives(0.0);
  if (!(slope0 < 0.0)) return 0.0;
  double low = 0.0;
  double high = 1.0;
  bool high_is_bracket = false;  // until f'(1) is known to be positive
  double t = 0.0;
  double newton = -slope0 / curvature0;
  double longest = 1.0;  // allowed Newton step
  for (int k = 1; k < max_evaluations; ++k) {
    if (t + newton > low && t + newton < high && std::abs(newton) <= longest) {
      t += newton;
      longest = k == 1 ? 1.0 : 0.5 * std::abs(newton);
    } else {
      t = high_is_bracket ? 0.5 * (low + high) : 1.0;
      longest = 0.5 * (high - low);
    }
    const auto [slope, curvature] = derivatives(t);
    if (t >= 1.0 && slope <= 0.0) return 1.0;
    if (std::abs(slope) <= 1e-7 * -slope0) return t;
    if (slope < 0.0) {
      low = t;
    } else {
      high = t;
      high_is_bracket = true;
    }
    newton = -slope / curvature;
  }
  return low;  // f decreases up to `low`: never uphill
}

// argmin over t in [0, 1] of sum_a T log sum_i exp(-(s + t d)_ai / T): the least bound on the
// segment between two points of EP(F), which is convex. Returns the best t so far when stopped.
// Real is float or double; sums are in double.
template <class Real>
double ExactLineSearch(const Matrix<Real>& s, const Matrix<Real>& direction, double temperature,
                       const StopCheck& stop = {});

}  // namespace submarine::internal
