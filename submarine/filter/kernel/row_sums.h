// The sums n_a = sum_b exp(-|f_a - f_b|^2 / 2) over all variables, a itself among them, in double: what
// symmetric normalisation divides by. Near pairs are added up one by one; groups of far pairs count
// with the middle of their least and largest value.
#pragma once

#include <functional>
#include <vector>

#include "submarine/filter/kernel/gaussian_kernel.h"

namespace submarine::internal {

struct RowSumOptions {
  // Relative error of each sum because of groups; 0 adds up every pair that is not 0.
  double tolerance = 1e-4;
  // Called now and then, in the thread of the caller, with the share of the work done; return false
  // to give up, which throws Interrupted.
  std::function<bool(double done)> on_progress = {};
};

// The scale of the kernel is not looked at. Throws what CheckKernel throws. The same for any number of
// threads.
std::vector<double> GaussianRowSums(const GaussianKernel& kernel, const RowSumOptions& options);

// About how many pairs that looks at: counted on a sample of variables, the same every time.
double EstimateRowSumPairs(const GaussianKernel& kernel, double tolerance);

}  // namespace submarine::internal
