#include "submarine/segmentation/segmentation_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/segmentation/softmax.h"

namespace submarine {
namespace {

using internal::testing::ExpectInvalid;

struct Picture {
  std::vector<float> samples = std::vector<float>(4 * 3 * 3);
  Picture() {
    for (std::size_t k = 0; k < samples.size(); ++k) samples[k] = static_cast<float>(7 * k % 251);
  }
  PictureView view() const { return {4, 3, 3, samples}; }
};

TEST(SegmentationModel, HasBothKernelsAndTheUnariesOfTheSoftmax) {
  const Picture picture;
  Matrix<float> softmax(12, 2, 0.5F);
  softmax(5, 0) = 0.25F;
  softmax(5, 1) = 0.75F;
  SegmentationParameters parameters;
  parameters.softmax_temperature = 2.0;
  const DenseCrf model = SegmentationModel(softmax, picture.view(), parameters);
  EXPECT_EQ(model.num_labels(), 2);
  EXPECT_EQ(model.counting(), PairCounting::kOnce);
  EXPECT_NEAR(model.unary()(5, 0), 0.5 * std::log(4.0), 1e-6);
  ASSERT_EQ(model.kernels().size(), 2u);
  EXPECT_EQ(model.kernels()[0].name, "position 3");
  EXPECT_EQ(model.kernels()[0].weight, 3.0);
  EXPECT_EQ(model.kernels()[1].name, "bilateral 80/13");
  EXPECT_EQ(model.kernels()[1].weight, 10.0);
  for (const GaussianKernel& kernel : model.kernels())
    EXPECT_EQ(kernel.normalisation, KernelNormalisation::kSymmetric);
  EXPECT_EQ(SegmentationModel(softmax, picture.view(), parameters, LinearLabels(2)).num_labels(),
            2);
}

TEST(ClassifierProfileTest, SaysHowSureAndHowSpeckled) {
  // 2 x 3 pixels, 3 labels; the last pixel prefers none, and the one before is as good as certain.
  Matrix<float> unary(6, 3, 4.0F);
  for (std::size_t a = 0; a < 5; ++a) {
    unary(a, a == 1 ? 2 : 0) = 0.0F;  // pixel 1 differs
    unary(a, 1) = 1.0F + static_cast<float>(a);
  }
  unary(4, 1) = unary(4, 2) = 1e30F;
  const ClassifierProfile profile = ProfileOf(unary, std::array{2, 3});
  EXPECT_NEAR(profile.decided, 5.0 / 6.0, 1e-12);
  EXPECT_NEAR(profile.confidence, (1.0 + 2.0 + 3.0 + 4.0 - std::log(kSoftmaxClip)) / 5.0, 1e-6);
  // Rows only: pairs (0,1), (1,2) of 4 differ, and none of the 2 that are 2 apart.
  EXPECT_NEAR(profile.speckle, 2.0 * 2.0 / 4.0, 1e-12);
  // The same with the labels first.
  std::vector<float> planes;
  for (std::size_t l = 0; l < 3; ++l)
    for (std::size_t a = 0; a < 6; ++a) planes.push_back(unary(a, l));
  const ClassifierProfile other = ProfileOf(planes.data(), std::array{2, 3}, 3, 1, 6);
  EXPECT_EQ(profile.decided, other.decided);
  EXPECT_EQ(profile.confidence, other.confidence);
  EXPECT_EQ(profile.speckle, other.speckle);
  const ClassifierProfile none = ProfileOf(Matrix<float>(8, 2, 1.0F), std::array{2, 2, 2});
  EXPECT_EQ(none.decided, 0.0);
  EXPECT_EQ(none.confidence, 0.0);
}

// Costs of 0 for the label that `labels` has, 3 for the other of two.
template <class Labels>
Matrix<float> Certain(int pixels, Labels labels) {
  Matrix<float> unary(static_cast<std::size_t>(pixels), 2, 3.0F);
  for (int a = 0; a < pixels; ++a)
    unary(static_cast<std::size_t>(a), static_cast<std::size_t>(labels(a))) = 0.0F;
  return unary;
}

TEST(ClassifierProfileTest, TakesBordersForNoSpeckleAndNoiseForAllItIs) {
  // Vertical stripes, 10 pixels wide: 9 borders in rows of 100. Pairs across them: 9 of 99 at
  // distance 1, 18 of 98 at distance 2; none in columns.
  const Matrix<float> stripes = Certain(10000, [](int a) { return a % 100 / 10 % 2; });
  EXPECT_LT(ProfileOf(stripes, std::array{100, 100}).speckle, 1e-3);
  // One pixel in 20 is wrong, far from the others: 2 of 20 pairs differ at either distance.
  const auto wrong = [](int a) { return (a + 7 * (a / 100)) % 20 == 0 ? 1 : 0; };
  EXPECT_NEAR(ProfileOf(Certain(10000, wrong), std::array{100, 100}).speckle, 0.1, 0.005);
  EXPECT_NEAR(
      ProfileOf(Certain(10000, [](int a) { return (a / 100 + a) % 2; }), std::array{100, 100})
          .speckle,
      1.0, 1e-12);
  // A volume, and pictures too narrow to tell.
  EXPECT_NEAR(
      ProfileOf(Certain(8000, [](int a) { return a % 40 == 0 ? 1 : 0; }), std::array{20, 20, 20})
          .speckle,
      2.0 / 3.0 * 0.05, 0.03);
  EXPECT_EQ(ProfileOf(Certain(2, [](int a) { return a; }), std::array{1, 2}).speckle, 0.0);
  EXPECT_EQ(ProfileOf(Certain(1, [](int) { return 1; }), std::array{1, 1}).speckle, 0.0);
}

TEST(ParametersForTest, GrowWithThePictureAndTheClassifiersConfidence) {
  const auto at = [](int height, int width, double confidence, double speckle) {
    return ParametersFor(std::array{height, width}, {1.0, confidence, speckle});
  };
  const SegmentationParameters one = at(375, 500, 2.0, 0.0);
  EXPECT_NEAR(one.bilateral_weight, 1.0, 1e-12);
  EXPECT_NEAR(one.bilateral_sigma, 67.0, 1e-4);
  EXPECT_EQ(one.position_weight, 0.0);
  const SegmentationParameters large = at(750, 1000, 2.0, 0.0);
  EXPECT_NEAR(large.bilateral_sigma, 2.0 * one.bilateral_sigma, 1e-9);
  EXPECT_EQ(large.bilateral_weight, one.bilateral_weight);
  EXPECT_NEAR(at(375, 500, 6.0, 0.0).bilateral_weight, 3.0 * one.bilateral_weight, 1e-9);
  const SegmentationParameters noisy = at(375, 500, 2.0, 0.3);
  EXPECT_NEAR(noisy.bilateral_weight, (0.5 + 2.0 * 0.3) * 2.0, 1e-12);
  EXPECT_NEAR(noisy.position_weight, 8.0 * 0.3 * 2.0, 1e-12);
  EXPECT_NEAR(at(375, 500, 6.0, 0.3).position_weight, 3.0 * noisy.position_weight, 1e-9);
  // In a volume lengths are a few voxels, however large it is.
  EXPECT_EQ(ParametersFor(std::array{50, 60, 70}, {1.0, 2.0, 0.0}).bilateral_sigma,
            ParametersFor(std::array{5, 6, 7}, {1.0, 2.0, 0.0}).bilateral_sigma);
  EXPECT_EQ(ParametersFor(std::array{50, 60, 70}, {1.0, 2.0, 0.0}).bilateral_weight, 2.0);
}

TEST(ParametersForTest, ScribblesGetPydensecrfs) {
  EXPECT_EQ(ParametersFor(std::array{375, 500}, {0.1, 2.0, 0.0}), SegmentationParameters());
  EXPECT_NE(ParametersFor(std::array{375, 500}, {0.9, 2.0, 0.0}), SegmentationParameters());
  // No label anywhere: nothing to spread.
  EXPECT_EQ(ParametersFor(std::array{375, 500}, {}).bilateral_weight, 0.0);
  CheckParameters(ParametersFor(std::array{1, 1}, {}));
}

TEST(SegmentationModel, LeavesOutKernelsWithoutWeight) {
  const Picture picture;
  SegmentationParameters parameters;
  parameters.position_weight = 0.0;
  parameters.normalisation = KernelNormalisation::kNone;
  const std::vector<GaussianKernel> kernels = SegmentationKernels(picture.view(), parameters);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "bilateral 80/13");
  EXPECT_EQ(kernels[0].normalisation, KernelNormalisation::kNone);
  parameters.bilateral_weight = 0.0;
  EXPECT_TRUE(SegmentationKernels(picture.view(), parameters).empty());
}

TEST(SegmentationModel, RefusesWhatDoesNotFit) {
  const Picture picture;
  ExpectInvalid([&] { SegmentationModel(Matrix<float>(11, 2, 0.5F), picture.view(), {}); },
                "the softmax has 11 pixels, expected 4 x 3");
  ExpectInvalid(
      [&] { SegmentationModel(Matrix<float>(12, 2, 0.5F), picture.view(), {}, PottsLabels(3)); },
      "3");
}

TEST(SegmentationParameters, AreNamedWhereTheyAreWrong) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto refused = [](double SegmentationParameters::*field, double value,
                          const std::string& name) {
    SegmentationParameters parameters;
    parameters.*field = value;
    ExpectInvalid([&] { CheckParameters(parameters); }, name);
  };
  for (const double bad : {-1.0, std::nan(""), infinity}) {
    refused(&SegmentationParameters::position_sigma, bad, "position_sigma is");
    refused(&SegmentationParameters::position_weight, bad, "position_weight is");
    refused(&SegmentationParameters::bilateral_sigma, bad, "bilateral_sigma is");
    refused(&SegmentationParameters::colour_sigma, bad, "colour_sigma is");
    refused(&SegmentationParameters::bilateral_weight, bad, "bilateral_weight is");
    refused(&SegmentationParameters::softmax_temperature, bad, "softmax_temperature is");
  }
  refused(&SegmentationParameters::colour_sigma, 0.0, "colour_sigma is 0");
  SegmentationParameters parameters;
  parameters.updates = -1;
  ExpectInvalid([&] { CheckParameters(parameters); }, "updates is -1, expected 0");
  parameters = {};
  parameters.normalisation = KernelNormalisation::kBefore;
  ExpectInvalid([&] { CheckParameters(parameters); }, "one-sided");
  CheckParameters({});
}

}  // namespace
}  // namespace submarine
