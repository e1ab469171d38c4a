#include "submarine/filter/kernel/gaussian_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "submarine/base/error_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

GaussianKernel Kernel(std::size_t variables, std::size_t dimension) {
  return {"bilateral 80/13", Matrix<double>(variables, dimension, 0.5F), 2.0};
}

TEST(GaussianKernelTest, AcceptsWhatItShould) {
  EXPECT_NO_THROW(CheckKernel(Kernel(1, 1)));
  GaussianKernel kernel = Kernel(3, kMaxFeatureDimension);
  kernel.weight = 0.0;
  kernel.scale = {0.0F, 1.0F, 1e30F};
  kernel.features(2, 3) = -3e38F;
  EXPECT_NO_THROW(CheckKernel(kernel));
}

TEST(GaussianKernelTest, RefusesBadShapes) {
  ExpectInvalid([] { CheckKernel(Kernel(0, 2)); }, "kernel \"bilateral 80/13\" has no variables");
  ExpectInvalid([] { CheckKernel(Kernel(3, 0)); },
                "kernel \"bilateral 80/13\" has features of dimension 0, expected 1 to 16");
  ExpectInvalid([] { CheckKernel(Kernel(3, 17)); }, "has features of dimension 17");
}

TEST(GaussianKernelTest, RefusesBadWeights) {
  for (double bad : {-1e-300, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    GaussianKernel kernel = Kernel(3, 2);
    kernel.weight = bad;
    ExpectInvalid([&] { CheckKernel(kernel); }, "kernel \"bilateral 80/13\" has weight ");
  }
}

TEST(GaussianKernelTest, RefusesBadFeatures) {
  for (float bad : {kNan, kInfinity, -kInfinity}) {
    GaussianKernel kernel = Kernel(3, 2);
    kernel.features(2, 1) = bad;
    ExpectInvalid([&] { CheckKernel(kernel); },
                  "kernel \"bilateral 80/13\" has feature 1 of variable 2 equal to ");
  }
}

TEST(GaussianKernelTest, RefusesBadScales) {
  GaussianKernel kernel = Kernel(3, 2);
  kernel.scale = {1.0F, 1.0F};
  ExpectInvalid([&] { CheckKernel(kernel); },
                "kernel \"bilateral 80/13\" has 2 scale factors for 3 variables");
  for (float bad : {-1e-30F, kNan, kInfinity}) {
    kernel.scale = {1.0F, bad, 1.0F};
    ExpectInvalid([&] { CheckKernel(kernel); }, "at variable 1, expected a finite number >= 0");
  }
}

TEST(GaussianKernelTest, RefusesBadErrors) {
  for (double bad : {-1e-9, 1.0, std::nan("")}) {
    GaussianKernel kernel = Kernel(3, 2);
    kernel.scale_error = bad;
    ExpectInvalid([&] { CheckKernel(kernel); }, "scale factors with a relative error of");
    kernel.scale_error = 0.0;
    kernel.feature_error = bad;
    ExpectInvalid([&] { CheckKernel(kernel); }, "features with an error of");
  }
}

TEST(GaussianKernelTest, RefusesFeaturesBeyondSinglePrecision) {
  GaussianKernel kernel = Kernel(3, 2);
  kernel.features(1, 0) = -1e39;
  ExpectInvalid([&] { CheckKernel(kernel); }, "feature 0 of variable 1 equal to -1e+39");
}

TEST(GaussianKernelTest, IsNotUsedBeforeItIsNormalised) {
  GaussianKernel kernel = Kernel(3, 2);
  EXPECT_NO_THROW(CheckNormalised(kernel));
  kernel.normalisation = KernelNormalisation::kSymmetric;
  ExpectInvalid(
      [&] { CheckNormalised(kernel); },
      "kernel \"bilateral 80/13\" asks for symmetric normalisation and is not normalised");
  kernel.scale = {1.0, 1.0, 1.0};
  EXPECT_NO_THROW(CheckNormalised(kernel));
  for (const KernelNormalisation one_sided :
       {KernelNormalisation::kBefore, KernelNormalisation::kAfter}) {
    kernel.normalisation = one_sided;
    ExpectInvalid([&] { CheckNormalised(kernel); }, "leaves no symmetric model");
  }
}

TEST(GaussianKernelTest, ValueByHand) {
  GaussianKernel kernel{"plain", Matrix<double>(3, 2), 7.0};
  kernel.features(1, 0) = 3.0F;
  kernel.features(1, 1) = -4.0F;
  kernel.features(2, 0) = 100.0F;
  EXPECT_DOUBLE_EQ(KernelValue(kernel, 0, 1), std::exp(-12.5)) << "the weight is not part of it";
  EXPECT_EQ(KernelValue(kernel, 0, 1), KernelValue(kernel, 1, 0));
  EXPECT_EQ(KernelValue(kernel, 1, 1), 1.0);
  EXPECT_EQ(KernelValue(kernel, 0, 2), 0.0) << "far too small for a double";
  kernel.scale = {0.5F, 4.0F, 0.0F};
  EXPECT_DOUBLE_EQ(KernelValue(kernel, 0, 1), 2.0 * std::exp(-12.5));
  EXPECT_EQ(KernelValue(kernel, 1, 2), 0.0);
}

TEST(GaussianKernelTest, LargestFeaturesDoNotOverflow) {
  GaussianKernel kernel{"wide", Matrix<double>(2, kMaxFeatureDimension, 3.4e38F)};
  for (double& f : kernel.features.row(1)) f = -3.4e38F;
  EXPECT_EQ(KernelValue(kernel, 0, 1), 0.0);
}

}  // namespace
}  // namespace submarine::internal
