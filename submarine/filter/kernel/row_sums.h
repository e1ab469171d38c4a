// The sums n_a = sum_b exp(-|f_a - f_b|^2 / 2) over all variables, including a itself, in double,
// for symmetric normalisation. Near pairs are added one by one; a pair in a group of far pairs
// counts with the middle of the group's least and largest value.
#pragma once

#include <functional>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"

namespace submarine::internal {

struct RowSumOptions {
  // Relative error of each sum due to groups; 0 adds every pair that is not 0.
  double tolerance = 1e-4;
  // Called from time to time, on the caller's thread, with the fraction of the work done; return
  // false to give up, which throws Interrupted.
  std::function<bool(double done)> on_progress = {};
};

// Ignores the scale of the kernel. Throws what CheckKernel throws. The result does not depend on
// the number of threads.
std::vector<double> GaussianRowSums(const GaussianKernel& kernel, const RowSumOptions& options);

// About how many pairs that visits, from a fixed sample of variables.
double EstimateRowSumPairs(const GaussianKernel& kernel, double tolerance);

}  // namespace submarine::internal
