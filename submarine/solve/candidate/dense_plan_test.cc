#include "submarine/solve/candidate/dense_plan.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kVariables = 20000;

// Points in a square of this side, in sigmas.
GaussianKernel Square(double side) {
  testing::RandomModels random(4);
  GaussianKernel kernel{"square", Matrix<double>(kVariables, 2), 1.0};
  for (std::size_t n = 0; n < kernel.features.size(); ++n)
    kernel.features.data()[n] = random.Real(0.0, side);
  return kernel;
}

// What the limits made of kAuto, before costs decide kernel by kernel.
OperatorKind Planned(const GaussianKernel& kernel, const SolveOptions& options) {
  const std::vector<WeightedKernel> kernels = {{&kernel, 1.0}};
  const DenseSize size{static_cast<double>(kVariables), 21.0, 21.0, 0.0};
  return PlanDense(size, kernels, options, {.seconds_left = options.limits.time_limit_seconds})
      .kinds.front();
}

TEST(DensePlanTest, LatticesTakeThePlaceOfListsThatWouldLeaveOutTooMuch) {
  SolveOptions options;
  options.limits.time_limit_seconds = 10.0;
  options.limits.max_bytes = std::size_t{8} << 30;
  const GaussianKernel wide = Square(8.0);
  EXPECT_EQ(Planned(wide, options), OperatorKind::kLattice);
  EXPECT_EQ(Planned(Square(200.0), options), OperatorKind::kNeighbourList)
      << "few pairs are left out";
  options.dense.certify = Certify::kExact;
  EXPECT_EQ(Planned(wide, options), OperatorKind::kLattice) << "the verifier enumerates pairs";
  options.dense.certify = Certify::kAuto;
  options.dense.pairs.kind = OperatorKind::kNeighbourList;
  EXPECT_EQ(Planned(wide, options), OperatorKind::kNeighbourList) << "somebody asked for lists";
}

TEST(DensePlanTest, CornersAreThoseOfKernelsWithWeight) {
  const GaussianKernel kernel = Square(1.0);
  const std::vector<WeightedKernel> kernels = {{&kernel, 1.0}, {&kernel, 0.0}, {&kernel, 2.0}};
  EXPECT_EQ(NumCorners(kernels), 6.0);
}

}  // namespace
}  // namespace submarine::internal
