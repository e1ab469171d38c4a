#include "submarine/model/image_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "submarine/base/error_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;

double Gauss(double distance, double sigma) {
  return std::exp(-distance * distance / (2.0 * sigma * sigma));
}

std::vector<float> RandomImage(std::size_t samples) {
  std::mt19937_64 random(11);
  std::vector<float> image(samples);
  for (float& v : image) v = std::uniform_real_distribution<float>(0.0F, 255.0F)(random);
  return image;
}

TEST(PositionKernel, IsTheGaussianOfPixelDistances) {
  const GaussianKernel kernel = PositionKernel(5, 4, 1.64, 2.5, 3.0);
  ASSERT_EQ(kernel.size(), 20u);
  EXPECT_EQ(kernel.dimension(), 2u);
  EXPECT_EQ(kernel.weight, 3.0);
  EXPECT_EQ(kernel.name, "position 1.64,2.5");
  EXPECT_EQ(PositionKernel(5, 4, 1.64, 1.64, 3.0).name, "position 1.64");
  for (std::size_t a = 0; a < 20; ++a) {
    for (std::size_t b = 0; b < 20; ++b) {
      const double dx = static_cast<double>(a % 5) - static_cast<double>(b % 5);
      const double dy = static_cast<double>(a / 5) - static_cast<double>(b / 5);
      EXPECT_NEAR(KernelValue(kernel, a, b), Gauss(dx, 1.64) * Gauss(dy, 2.5), 1e-6);
    }
  }
}

TEST(PositionKernel, OfAVolumeRunsXFastestThenYThenZ) {
  const GaussianKernel kernel = PositionKernel(std::array{4, 3, 2}, std::array{2.0, 3.0, 5.0}, 1.0);
  ASSERT_EQ(kernel.size(), 24u);
  EXPECT_EQ(kernel.name, "position 2,3,5");
  const std::size_t a = 1 * 12 + 2 * 4 + 3;  // x 3, y 2, z 1
  EXPECT_DOUBLE_EQ(kernel.features(a, 0), 3.0 / 2.0);
  EXPECT_DOUBLE_EQ(kernel.features(a, 1), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(kernel.features(a, 2), 1.0 / 5.0);
}

TEST(BilateralKernel, MultipliesPositionAndColour) {
  const std::vector<float> image = RandomImage(6 * 3);
  for (const std::vector<double>& sigma : {std::vector<double>{40.0}, {40.0, 20.0, 70.0}}) {
    const GaussianKernel kernel = BilateralKernel(3, 2, 3, image, 2.0, 2.0, sigma, 10.0);
    EXPECT_EQ(kernel.name, sigma.size() == 1 ? "bilateral 2/40" : "bilateral 2/40,20,70");
    for (std::size_t a = 0; a < 6; ++a) {
      for (std::size_t b = 0; b < 6; ++b) {
        double expected = Gauss(static_cast<double>(a % 3) - static_cast<double>(b % 3), 2.0) *
                          Gauss(static_cast<double>(a / 3) - static_cast<double>(b / 3), 2.0);
        for (std::size_t c = 0; c < 3; ++c) {
          expected *= Gauss(image[3 * a + c] - image[3 * b + c], sigma[sigma.size() == 1 ? 0 : c]);
        }
        EXPECT_NEAR(KernelValue(kernel, a, b), expected, 1e-5);
      }
    }
  }
}

TEST(BilateralKernel, OfAVolumePutsColoursBehindPositions) {
  const std::vector<float> image = RandomImage(12);
  const std::vector<double> sigma = {1.51};
  const GaussianKernel kernel =
      BilateralKernel(std::array{3, 2, 2}, 1, image, std::array{50.84, 50.84, 50.84}, sigma, 1.0);
  EXPECT_EQ(kernel.name, "bilateral 50.84/1.51");
  ASSERT_EQ(kernel.dimension(), 4u);
  for (std::size_t a = 0; a < 12; ++a) {
    EXPECT_DOUBLE_EQ(kernel.features(a, 3), image[a] / 1.51);
  }
}

TEST(FeatureKernel, DividesColumnsByTheirSigmas) {
  Matrix<float> features(2, 2);
  features(0, 0) = 3.0F;
  features(1, 1) = -8.0F;
  const std::vector<double> sigmas = {2.0, 4.0};
  const GaussianKernel kernel = FeatureKernel(features, sigmas, 0.5, "depth");
  EXPECT_EQ(kernel.name, "depth");
  EXPECT_EQ(kernel.features(0, 0), 1.5F);
  EXPECT_EQ(kernel.features(1, 1), -2.0F);
  const std::vector<double> one = {2.0};
  EXPECT_EQ(FeatureKernel(features, one, 0.5, "").features(1, 1), -4.0F);
}

// The kernel meant, from the numbers given, with more digits than double has.
long double ValueOfData(const Matrix<double>& data, std::span<const double> sigmas, std::size_t a,
                        std::size_t b) {
  long double squared = 0.0L;
  for (std::size_t d = 0; d < data.cols(); ++d) {
    const long double apart =
        (static_cast<long double>(data(a, d)) - data(b, d)) / sigmas[sigmas.size() == 1 ? 0 : d];
    squared += apart * apart;
  }
  return std::exp(-0.5L * squared);
}

TEST(FeatureKernel, KeepsTheDigitsOfNumbersFarFromZero) {
  Matrix<double> data(2, 1);
  data(0, 0) = 1700000000.0;
  data(1, 0) = 1700000091.0;
  const std::vector<double> sigma = {60.0};
  const GaussianKernel kernel = FeatureKernel(data, sigma, 1.0, "seconds");
  EXPECT_DOUBLE_EQ(KernelValue(kernel, 0, 1), std::exp(-0.5 * 91.0 * 91.0 / 3600.0));
  EXPECT_LT(kernel.feature_error, 1e-15);
}

// Offsets up to 1e12, widths from far below to far beyond sigma: within the error that the kernel states.
TEST(FeatureKernel, StatesItsError) {
  std::mt19937_64 rng(5);
  const auto real = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng);
  };
  double largest_share = 0.0;
  for (int trial = 0; trial < 2000; ++trial) {
    Matrix<double> data(4, static_cast<std::size_t>(1 + rng() % 3));
    std::vector<double> sigmas;
    for (std::size_t d = 0; d < data.cols(); ++d) {
      const double offset = rng() % 3 == 0 ? 0.0 : std::pow(10.0, real(-3.0, 12.0));
      const double width = std::pow(10.0, real(-3.0, 12.0));
      sigmas.push_back(std::max(1e-10 * width, std::pow(10.0, real(-3.0, 4.0))));
      // A pair of neighbours in a wide range is where digits are lost.
      data(0, d) = offset + real(-width, width);
      data(1, d) = data(0, d) + sigmas.back() * real(-2.0, 2.0);
      for (std::size_t a = 2; a < 4; ++a) data(a, d) = offset + real(-width, width);
    }
    const GaussianKernel kernel = FeatureKernel(data, sigmas, 1.0, "f");
    for (std::size_t a = 0; a < 4; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const double value = KernelValue(kernel, a, b);
        if (value < 1e-300) continue;
        const double x = SquaredDistance(kernel, a, b);
        const double rounding = 1e-16 * value * (4.0 + x * static_cast<double>(data.cols() + 4));
        const double error = FeatureErrorOfValue(kernel) * (1.0 + x) * value;
        const auto off = static_cast<double>(std::abs(ValueOfData(data, sigmas, a, b) - value));
        ASSERT_LE(off, error + rounding) << "trial " << trial;
        largest_share = std::max(largest_share, (off - rounding) / error);
      }
    }
  }
  EXPECT_GT(largest_share, 0.05) << "a bound that is never approached says little";
}

TEST(FeatureKernel, RefusesWhatDoubleCannotTellApart) {
  Matrix<double> data(2, 1);
  data(1, 0) = 1e300;
  const std::vector<double> sigma = {1.0};
  ExpectInvalid(
      [&] { FeatureKernel(data, sigma, 1.0, "f"); },
      "feature \"f\" kernel: feature 0 reaches 1e+300 times its sigma 1, expected at most "
      "1e+12: double precision cannot tell neighbours apart");
  data(0, 0) = -1.7e308;
  data(1, 0) = 1.7e308;
  ExpectInvalid([&] { FeatureKernel(data, sigma, 1.0, "f"); }, "feature 0 reaches");
  data(0, 0) = 1.7e308;  // equal numbers are no trouble, wherever they are
  EXPECT_EQ(KernelValue(FeatureKernel(data, sigma, 1.0, "f"), 0, 1), 1.0);
}

TEST(ImageFeatures, BadSigmasAreNamed) {
  const std::vector<float> image(6);
  const std::vector<double> good = {1.0};
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    const std::vector<double> bad_list = {bad};
    ExpectInvalid([&] { PositionKernel(3, 2, bad, 1.0, 1.0); }, "sigma_x is");
    ExpectInvalid([&] { PositionKernel(3, 2, 1.0, bad, 1.0); }, "sigma_y is");
    ExpectInvalid(
        [&] {
          PositionKernel(std::array{3, 2, 1}, std::array{1.0, 1.0, bad}, 1.0);
        },
        "sigma_z is");
    ExpectInvalid([&] { BilateralKernel(3, 2, 1, image, bad, 1.0, good, 1.0); },
                  "bilateral kernel: sigma_x");
    ExpectInvalid([&] { BilateralKernel(3, 2, 1, image, 1.0, 1.0, bad_list, 1.0); },
                  "sigma_colour is");
    ExpectInvalid([&] { FeatureKernel(Matrix<float>(2, 2), bad_list, 1.0, "f"); },
                  "feature \"f\" kernel: sigma is");
  }
  ExpectInvalid([&] { PositionKernel(3, 2, 1e-45, 1.0, 1.0); },
                "position kernel: feature 0 reaches 2e+45 times its sigma 1e-45");
}

TEST(ImageFeatures, BadSizesAndValuesAreNamed) {
  std::vector<float> image(6);
  const std::vector<double> one = {1.0};
  const std::vector<double> two = {1.0, 1.0};
  ExpectInvalid([&] { PositionKernel(0, 2, 1.0, 1.0, 1.0); }, "width is 0");
  ExpectInvalid([&] { PositionKernel(2, -1, 1.0, 1.0, 1.0); }, "height is -1");
  ExpectInvalid([&] { PositionKernel(1 << 20, 1 << 20, 1.0, 1.0, 1.0); }, "below 2^31");
  ExpectInvalid(
      [&] {
        PositionKernel(std::array{1 << 20, 1 << 10, 1 << 30}, std::array{1.0, 1.0, 1.0}, 1.0);
      },
      "below 2^31");
  ExpectInvalid(
      [&] {
        PositionKernel(std::array{3, 2, 1}, std::array{1.0, 1.0}, 1.0);
      },
      "2 sigmas were given for 3 axes");
  ExpectInvalid([&] { PositionKernel(3, 2, 1.0, 1.0, -1.0); }, "weight -1");
  ExpectInvalid([&] { BilateralKernel(3, 2, 3, image, 1.0, 1.0, one, 1.0); },
                "6 samples, expected 3 x 2 x 3 channels = 18");
  ExpectInvalid([&] { BilateralKernel(3, 2, 0, image, 1.0, 1.0, one, 1.0); }, "0 channels");
  ExpectInvalid([&] { BilateralKernel(3, 2, 15, image, 1.0, 1.0, one, 1.0); }, "1 to 14");
  ExpectInvalid([&] { BilateralKernel(3, 2, 1, image, 1.0, 1.0, two, 1.0); }, "2 numbers");
  ExpectInvalid([&] { FeatureKernel(Matrix<float>(2, 3), two, 1.0, "f"); }, "2 sigmas");
  ExpectInvalid([&] { FeatureKernel(Matrix<float>(0, 1), one, 1.0, "f"); }, "no variables");
  image[4] = std::nanf("");
  ExpectInvalid([&] { BilateralKernel(3, 2, 1, image, 1.0, 1.0, one, 1.0); }, "variable 4");
}

}  // namespace
}  // namespace submarine::internal
