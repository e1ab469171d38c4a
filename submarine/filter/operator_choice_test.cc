#include "submarine/filter/operator_choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/filter/kernel/gaussian_kernel.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;

TEST(MakeOperator, RefusesKernelsThatAreNotNormalisedYet) {
  GaussianKernel kernel{"plain", Matrix<double>(3, 2)};
  kernel.normalisation = KernelNormalisation::kSymmetric;
  const std::vector<WeightedKernel> kernels = {{&kernel, 1.0}};
  for (const OperatorKind kind : {OperatorKind::kAuto, OperatorKind::kBruteForce,
                                  OperatorKind::kNeighbourList, OperatorKind::kLattice}) {
    ExpectInvalid([&] { MakeOperator(3, kernels, {}, {.kind = kind}); }, "is not normalised yet");
  }
}

}  // namespace
}  // namespace submarine::internal
