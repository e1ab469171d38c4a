// Recomputes how far the scale factors of a normalised kernel are from 1 / sqrt(n_a), n_a = sum_b
// exp(-|f_a - f_b|^2 / 2) with b = a included, from the features alone: by bounds on n_a from both
// sides over the verifier's own tree, sharing nothing with the code that made them.
#pragma once

#include <functional>

#include "submarine/filter/kernel/gaussian_kernel.h"

namespace submarine::internal {

struct ScaleOptions {
  // How far apart the bounds on n_a may be, as a fraction of n_a, if the scale is correct; 0 adds
  // up every pair.
  double tolerance = 1e-4;
  // Called from time to time, on the caller's thread, with the fraction of the work done; return
  // false to give up, which throws Interrupted.
  std::function<bool(double done)> on_progress = {};
};

// An e with (1 - e) r_a r_b <= 1 / sqrt(n_a n_b) <= (1 + e) r_a r_b for all a and b, for the exact
// features; infinite if there is none. Ignores the kernel's own scale_error. Throws InvalidInput
// for a kernel without scale factors.
double VerifiedScaleError(const GaussianKernel& kernel, const ScaleOptions& options);

}  // namespace submarine::internal
