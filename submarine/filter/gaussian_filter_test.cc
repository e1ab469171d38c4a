#include "submarine/filter/gaussian_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "submarine/base/error.h"

namespace submarine {
namespace {

TEST(GaussianFilterTest, IsNearTheGaussianWithoutSelfTerms) {
  constexpr std::size_t kRows = 300;
  std::mt19937_64 rng(4);
  std::uniform_real_distribution<double> uniform(0.0, 3.0);
  Matrix<double> features(kRows, 2);
  for (std::size_t i = 0; i < features.size(); ++i) features.data()[i] = uniform(rng);
  Matrix<float> x(kRows, 2, 1.0F);
  for (std::size_t a = 0; a < kRows; ++a) x(a, 1) = static_cast<float>(a % 2);
  const Matrix<float> y = GaussianFilter(features)(x);
  double error = 0.0;
  double norm = 0.0;
  for (std::size_t a = 0; a < kRows; ++a) {
    for (std::size_t c = 0; c < 2; ++c) {
      double sum = 0.0;
      for (std::size_t b = 0; b < kRows; ++b) {
        const double dx = features(a, 0) - features(b, 0);
        const double dy = features(a, 1) - features(b, 1);
        if (a != b) sum += std::exp(-0.5 * (dx * dx + dy * dy)) * x(b, c);
      }
      error += (y(a, c) - sum) * (y(a, c) - sum);
      norm += sum * sum;
    }
  }
  // Single entries are off by some 6% (docs/filters.md), sums over hundreds by less.
  EXPECT_LT(std::sqrt(error / norm), 0.03);
}

TEST(GaussianFilterTest, RefusesWhatIsNone) {
  EXPECT_THROW(GaussianFilter(Matrix<double>(3, 2, NAN)), InvalidInput);
  EXPECT_THROW(GaussianFilter(Matrix<double>(3, 2))(Matrix<float>(4, 1)), InvalidInput);
  EXPECT_THROW(GaussianFilter(Matrix<double>(1000, 2), 1000), TooLarge);
}

}  // namespace
}  // namespace submarine
