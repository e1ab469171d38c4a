#include "submarine/bound/verify/dense/scale_verifier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/base/error_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::RandomModels;

std::vector<long double> RowSums(const GaussianKernel& kernel) {
  std::vector<long double> sums(kernel.size(), 0.0L);
  for (std::size_t a = 0; a < kernel.size(); ++a) {
    for (std::size_t b = 0; b < kernel.size(); ++b) {
      long double squared = 0.0L;
      for (std::size_t d = 0; d < kernel.dimension(); ++d) {
        const long double apart =
            static_cast<long double>(kernel.features(a, d)) - kernel.features(b, d);
        squared += apart * apart;
      }
      sums[a] += std::exp(-0.5L * squared);
    }
  }
  return sums;
}

void Normalise(GaussianKernel* kernel) {
  kernel->scale.clear();
  for (const long double n : RowSums(*kernel))
    kernel->scale.push_back(static_cast<double>(1.0L / std::sqrt(n)));
  kernel->normalisation = KernelNormalisation::kSymmetric;
}

// The least e that holds for all pairs.
double TrueError(const GaussianKernel& kernel) {
  long double error = 0.0L;
  const std::vector<long double> sums = RowSums(kernel);
  for (std::size_t a = 0; a < kernel.size(); ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      const long double meant = 1.0L / std::sqrt(sums[a] * sums[b]);
      error = std::max(error, std::abs(meant / (1.0L * kernel.scale[a] * kernel.scale[b]) - 1.0L));
    }
  }
  return static_cast<double>(error);
}

TEST(ScaleVerifierTest, RightFactorsHaveNextToNoError) {
  RandomModels random(3);
  for (int trial = 0; trial < 50; ++trial) {
    GaussianKernel kernel = random.Kernel(random.Integer(1, 120));
    Normalise(&kernel);
    const double error = VerifiedScaleError(kernel, {.tolerance = 0.0});
    EXPECT_GE(error, TrueError(kernel));
    EXPECT_LE(error, 1e-12);
  }
}

TEST(ScaleVerifierTest, NoticesEveryFactorThatIsTamperedWith) {
  RandomModels random(4);
  for (int trial = 0; trial < 200; ++trial) {
    GaussianKernel kernel = random.Kernel(random.Integer(1, 120));
    Normalise(&kernel);
    const double change = std::pow(10.0, random.Real(-11.0, -0.5));
    const auto where =
        static_cast<std::size_t>(random.Integer(0, static_cast<int>(kernel.size()) - 1));
    kernel.scale[where] *= random.Integer(0, 1) == 0 ? 1.0 + change : 1.0 - change;
    const double error = VerifiedScaleError(kernel, {.tolerance = 0.0});
    EXPECT_GE(error, TrueError(kernel));
    EXPECT_GE(error, 0.99 * change);
  }
  GaussianKernel kernel = random.Kernel(10);
  Normalise(&kernel);
  kernel.scale[3] = 0.0;
  EXPECT_EQ(VerifiedScaleError(kernel, {}), std::numeric_limits<double>::infinity());
}

TEST(ScaleVerifierTest, BoundsOfGroupsHold) {
  RandomModels random(5);
  GaussianKernel kernel{"square", Matrix<double>(1500, 2)};
  for (std::size_t k = 0; k < kernel.features.size(); ++k)
    kernel.features.data()[k] = random.Real(0.0, 20.0);
  Normalise(&kernel);
  for (const double tolerance : {1e-2, 1e-4}) {
    const double error = VerifiedScaleError(kernel, {.tolerance = tolerance});
    EXPECT_GT(error, 1e-3 * tolerance) << "no groups were used";
    EXPECT_LE(error, tolerance);
  }
  kernel.scale[77] *= 1.001;
  EXPECT_GE(VerifiedScaleError(kernel, {.tolerance = 1e-2}), TrueError(kernel));
}

// Scale factors from slightly wrong features: the feature error is part of the result.
TEST(ScaleVerifierTest, CountsTheErrorOfFeatures) {
  RandomModels random(6);
  for (int trial = 0; trial < 50; ++trial) {
    GaussianKernel kernel = random.Kernel(random.Integer(2, 60));
    GaussianKernel meant = kernel;
    kernel.feature_error = 1e-6;
    for (std::size_t k = 0; k < meant.features.size(); ++k)
      meant.features.data()[k] += random.Integer(0, 1) == 0 ? 1e-6 : -1e-6;
    Normalise(&kernel);
    meant.scale = kernel.scale;
    EXPECT_GE(VerifiedScaleError(kernel, {.tolerance = 0.0}), TrueError(meant));
  }
}

TEST(ScaleVerifierTest, RefusesKernelsWithoutFactorsAndCanBeInterrupted) {
  RandomModels random(7);
  GaussianKernel kernel = random.Kernel(10);
  kernel.scale.clear();
  ExpectInvalid([&] { VerifiedScaleError(kernel, {}); }, "has no scale factors");
  Normalise(&kernel);
  EXPECT_THROW(VerifiedScaleError(kernel, {.on_progress = [](double) { return false; }}),
               Interrupted);
}

}  // namespace
}  // namespace submarine::internal
