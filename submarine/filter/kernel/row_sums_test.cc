#include "submarine/filter/kernel/row_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"

namespace submarine::internal {
namespace {

// Clusters of different density, far from 0 and from each other, with repeated points.
GaussianKernel Clusters(std::size_t n, std::size_t dimension, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  const auto real = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng);
  };
  GaussianKernel kernel{"clusters", Matrix<double>(n, dimension)};
  for (std::size_t a = 0; a < n; ++a) {
    const std::size_t cluster = rng() % 5;
    const double spread = std::pow(4.0, static_cast<double>(cluster) - 2.0);
    const bool repeated = a > 0 && rng() % 10 == 0;
    const std::size_t same = a > 0 ? rng() % a : 0;
    for (std::size_t d = 0; d < dimension; ++d) {
      const double centre =
          1e6 * static_cast<double>(cluster % 2) + 20.0 * static_cast<double>(cluster);
      kernel.features(a, d) = repeated ? kernel.features(same, d) : centre + real(-spread, spread);
    }
  }
  return kernel;
}

double SumByDefinition(const GaussianKernel& kernel, std::size_t a) {
  double sum = 0.0;
  for (std::size_t b = 0; b < kernel.size(); ++b) sum += KernelValue(kernel, a, b);
  return sum;
}

TEST(RowSumsTest, OfAllPairsAreThoseOfTheDefinition) {
  for (const std::size_t dimension : {1, 2, 5, 16}) {
    for (const std::size_t n : {1, 2, 31, 32, 33, 500}) {
      const GaussianKernel kernel = Clusters(n, dimension, n + dimension);
      const std::vector<double> sums = GaussianRowSums(kernel, {.tolerance = 0.0});
      for (std::size_t a = 0; a < n; ++a) {
        const double expected = SumByDefinition(kernel, a);
        ASSERT_NEAR(sums[a], expected, 1e-12 * expected);
      }
    }
  }
}

TEST(RowSumsTest, GroupsStayWithinTheTolerance) {
  for (const double tolerance : {1e-2, 1e-4, 1e-6}) {
    for (const std::size_t dimension : {1, 3}) {
      const GaussianKernel kernel = Clusters(5000, dimension, 7);
      const std::vector<double> sums = GaussianRowSums(kernel, {.tolerance = tolerance});
      double largest = 0.0;
      for (std::size_t a = 0; a < kernel.size(); a += 7) {
        const double expected = SumByDefinition(kernel, a);
        largest = std::max(largest, std::abs(sums[a] / expected - 1.0));
      }
      EXPECT_LE(largest, tolerance);
      EXPECT_GT(largest, 1e-12) << "no groups were used";
      EXPECT_LT(EstimateRowSumPairs(kernel, tolerance), 25e6);
    }
  }
}

TEST(RowSumsTest, DoNotDependOnScaleOrThreads) {
  GaussianKernel kernel = Clusters(3000, 3, 9);
  testing::SetThreadCount(1);
  const std::vector<double> sums = GaussianRowSums(kernel, {});
  testing::SetThreadCount(0);
  kernel.scale.assign(kernel.size(), 0.5);
  kernel.normalisation = KernelNormalisation::kSymmetric;
  EXPECT_EQ(GaussianRowSums(kernel, {}), sums);
}

TEST(RowSumsTest, EstimateOfAllPairsIsTheirNumber) {
  GaussianKernel line{"line", Matrix<double>(4096, 1)};
  for (std::size_t a = 0; a < line.size(); ++a)
    line.features(a, 0) = 0.005 * static_cast<double>(a);
  EXPECT_EQ(EstimateRowSumPairs(line, 0.0), 4096.0 * 4096.0);
}

TEST(RowSumsTest, CanBeInterrupted) {
  int calls = 0;
  const auto stop = [&](double done) {
    EXPECT_GT(done, 0.0);
    return ++calls < 2;
  };
  EXPECT_THROW(GaussianRowSums(Clusters(20000, 2, 4), {.on_progress = stop}), Interrupted);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace submarine::internal
