#include "submarine/solve/candidate/dense_plan.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/matrix.h"
#include "submarine/model/image_features.h"
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

// Where not even the model fits, a part of the kernels says how many variables would.
TEST(DensePlanTest, ARefusalByAPartNamesASizeThatFits) {
  const auto plan = [](int height) {
    const GaussianKernel kernel = PositionKernel(1000, height, 5.0, 5.0, 1.0);
    const std::vector<WeightedKernel> kernels = {{&kernel, 1.0}};
    PlanDense({1000.0 * height, 21.0, 21.0, 0.0}, kernels,
              {.limits = {.max_bytes = std::size_t{256} << 20}}, {});
  };
  try {
    plan(4000);
    FAIL() << "four million variables with 21 labels do not fit into 256 MB";
  } catch (const TooLarge& error) {
    const double variables = error.remedy().variables;
    EXPECT_GT(variables, 1e5);
    EXPECT_LT(variables, 1e6);
    const int height = static_cast<int>(variables / 1000.0);
    EXPECT_NO_THROW(plan(height));
    EXPECT_THROW(plan(2 * height), TooLarge) << "much more would have fitted";
  }
}

TEST(DensePlanTest, CornersAreThoseOfKernelsWithWeight) {
  const GaussianKernel kernel = Square(1.0);
  const std::vector<WeightedKernel> kernels = {{&kernel, 1.0}, {&kernel, 0.0}, {&kernel, 2.0}};
  EXPECT_EQ(NumCorners(kernels), 6.0);
}

}  // namespace
}  // namespace submarine::internal
