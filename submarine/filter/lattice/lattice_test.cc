#include "submarine/filter/lattice/lattice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "submarine/base/error_test_util.h"
#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/filter/lattice/lattice_levels.h"
#include "submarine/filter/lattice/lattice_reference.h"

namespace submarine::internal {
namespace {

GaussianKernel RandomKernel(std::size_t n, std::size_t d, double side, std::uint64_t seed,
                            bool scaled = false) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> uniform(0.0, side);
  GaussianKernel kernel;
  kernel.name = "random";
  kernel.features = Matrix<double>(n, d);
  for (std::size_t k = 0; k < n * d; ++k) {
    kernel.features.data()[k] = static_cast<float>(uniform(rng));
  }
  for (std::size_t a = 0; scaled && a < n; ++a) {
    kernel.scale.push_back(static_cast<float>(0.5 + uniform(rng) / side));
  }
  return kernel;
}

Matrix<float> RandomMatrix(std::size_t n, std::size_t columns, std::uint64_t seed, double low = 0.0,
                           double high = 1.0) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  Matrix<float> x(n, columns);
  for (std::size_t k = 0; k < x.size(); ++k) x.data()[k] = static_cast<float>(uniform(rng));
  return x;
}

Matrix<float> Identity(std::size_t n) {
  Matrix<float> x(n, n);
  for (std::size_t a = 0; a < n; ++a) x(a, a) = 1.0F;
  return x;
}

// K as the operator applies it, its diagonal included or not.
Matrix<float> ExplicitK(const LatticeOperator& op, bool with_self) {
  Matrix<float> k(op.size(), op.size());
  if (with_self) {
    op.AddProductWithSelf(Identity(op.size()), 1.0F, &k);
  } else {
    op.AddProduct(Identity(op.size()), 1.0F, &k);
  }
  return k;
}

double LargestDifference(const Matrix<float>& x, const Matrix<double>& y) {
  double largest = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    largest = std::max(largest, std::abs(x.data()[k] - y.data()[k]));
  }
  return largest;
}

struct Case {
  std::size_t n, d;
  double side;
};

class LatticeCases : public ::testing::TestWithParam<Case> {};

TEST_P(LatticeCases, AppliesTheReferenceKernel) {
  const auto [n, d, side] = GetParam();
  for (const bool scaled : {false, true}) {
    const GaussianKernel kernel = RandomKernel(n, d, side, 11 + d, scaled);
    const LatticeReference reference(kernel);
    const LatticeOperator op(kernel);
    ASSERT_EQ(op.lattice().num_vertices, reference.num_vertices());
    Matrix<double> dense = reference.DenseK();
    EXPECT_LT(LargestDifference(ExplicitK(op, true), dense), 2e-5);
    for (std::size_t a = 0; a < n; ++a) {
      EXPECT_NEAR(op.Diagonal()[a], dense(a, a), 2e-5 * dense(a, a));
      dense(a, a) = 0.0;
    }
    EXPECT_LT(LargestDifference(ExplicitK(op, false), dense), 2e-5);
  }
}

TEST_P(LatticeCases, KernelIsSymmetricAndNonnegative) {
  const auto [n, d, side] = GetParam();
  const GaussianKernel kernel = RandomKernel(n, d, side, 5);
  const Matrix<double> exact = LatticeReference(kernel).DenseK();
  const Matrix<float> fast = ExplicitK(LatticeOperator(kernel), true);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      EXPECT_NEAR(exact(a, b), exact(b, a), 1e-13);
      EXPECT_GE(exact(a, b), 0.0);
      EXPECT_NEAR(fast(a, b), fast(b, a), 2e-6);
      EXPECT_GE(fast(a, b), 0.0F);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dimensions, LatticeCases,
                         ::testing::Values(Case{60, 1, 10.0}, Case{120, 2, 6.0}, Case{150, 3, 5.0},
                                           Case{150, 4, 4.0}, Case{150, 5, 3.0}, Case{100, 6, 3.0},
                                           Case{60, 16, 1.0}, Case{400, 2, 3.0},
                                           Case{40, 12, 40.0}));

TEST(Lattice, KernelIsPositiveSemidefinite) {
  for (const auto& [n, d, side] : {Case{40, 1, 4.0}, Case{60, 2, 3.0}, Case{60, 5, 2.0}}) {
    Matrix<double> k = LatticeReference(RandomKernel(n, d, side, 23)).DenseK();
    // Cholesky of K + tiny I succeeds.
    for (std::size_t j = 0; j < n; ++j) {
      k(j, j) += 1e-9;
    }
    for (std::size_t j = 0; j < n; ++j) {
      ASSERT_GT(k(j, j), 0.0) << "pivot " << j << " in dimension " << d;
      for (std::size_t i = j + 1; i < n; ++i) {
        const double factor = k(i, j) / k(j, j);
        for (std::size_t c = j + 1; c < n; ++c) k(i, c) -= factor * k(j, c);
      }
    }
  }
}

TEST(Lattice, DenseFeaturesGiveTheGaussianWithinDocumentedError) {
  // docs/filters.md, "Error of the lattice".
  struct Figure {
    std::size_t d;
    double side, error, mass;
  };
  for (const auto& [d, side, error, mass] :
       {Figure{1, 6.0, 0.04, 0.01}, Figure{2, 6.0, 0.065, 0.01}, Figure{3, 6.0, 0.11, 0.02},
        Figure{5, 3.0, 0.21, 0.03}}) {
    const GaussianKernel kernel = RandomKernel(1500, d, side, 3);
    const Matrix<float> k = ExplicitK(LatticeOperator(kernel), false);
    double squares = 0.0;
    double exact_squares = 0.0;
    double sum = 0.0;
    double exact_sum = 0.0;
    for (std::size_t a = 0; a < kernel.size(); ++a) {
      for (std::size_t b = 0; b < kernel.size(); ++b) {
        if (a == b) continue;
        const double exact = KernelValue(kernel, a, b);
        squares += (k(a, b) - exact) * (k(a, b) - exact);
        exact_squares += exact * exact;
        sum += k(a, b);
        exact_sum += exact;
      }
    }
    EXPECT_LT(std::sqrt(squares / exact_squares), error) << "dimension " << d;
    EXPECT_NEAR(sum / exact_sum, 1.0, mass) << "dimension " << d;
  }
}

TEST(Lattice, BothWaysToSplatAgreeForAnyNumberOfChannels) {
  // Few vertices: sums over ranges of pixels. Wide apart: lists by vertex.
  for (const double side : {0.5, 30.0}) {
    const GaussianKernel kernel = RandomKernel(700, 3, side, 41);
    const LatticeReference reference(kernel);
    const LatticeOperator op(kernel);
    for (const std::size_t channels : {1, 2, 7, 8, 9, 16, 21, 24, 33, 40, 100}) {
      const Matrix<float> x = RandomMatrix(700, channels, channels, -1.0, 1.0);
      Matrix<float> out = RandomMatrix(700, channels, channels + 1);
      const Matrix<float> before = out;
      op.AddProductWithSelf(x, 2.0F, &out);
      for (const std::size_t c : {std::size_t{0}, channels / 2, channels - 1}) {
        std::vector<double> column(700);
        for (std::size_t a = 0; a < 700; ++a) column[a] = x(a, c);
        const std::vector<double> expected = reference.Product(column);
        for (std::size_t a = 0; a < 700; ++a) {
          EXPECT_NEAR(out(a, c), before(a, c) + 2.0 * expected[a], 5e-4) << channels;
        }
      }
    }
  }
}

TEST(Lattice, RowSumsAndDegreesAgree) {
  const LatticeOperator op(RandomKernel(500, 5, 3.0, 2));
  const std::vector<float> degrees = Degrees(op);
  for (std::size_t a = 0; a < op.size(); ++a) {
    EXPECT_NEAR(op.RowSums()[a], degrees[a] + op.Diagonal()[a], 1e-4 * op.RowSums()[a]);
  }
}

TEST(Lattice, ResultsDoNotDependOnTheNumberOfThreads) {
  const GaussianKernel dense = RandomKernel(20000, 3, 4.0, 8);
  const GaussianKernel sparse = RandomKernel(20000, 5, 12.0, 9);
  const Matrix<float> x = RandomMatrix(20000, 5, 1, 0.0, 4.0);
  std::vector<Matrix<float>> results;
  for (const int threads : {1, 2}) {
    testing::SetThreadCount(threads);
    for (const GaussianKernel* kernel : {&dense, &sparse}) {
      const LatticeOperator op(*kernel);
      Matrix<float> out(20000, 5);
      op.AddProduct(x, 1.0F, &out);
      op.AddFlow(x, FlowShape::kClip, 1.0F, &out);
      op.AddFlow(x, FlowShape::kSign, 1.0F, &out);
      const std::vector<double> variation = op.TotalVariation(x);
      Matrix<float> numbers(1, 5);
      for (std::size_t c = 0; c < 5; ++c) numbers(0, c) = static_cast<float>(variation[c]);
      results.push_back(out);
      results.push_back(numbers);
    }
  }
  testing::SetThreadCount(0);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(results[k], results[k + 4]);
}

TEST(Lattice, DegenerateFeatures) {
  const float huge = 1e6F;
  GaussianKernel one;
  one.name = "one";
  one.features = Matrix<double>(1, 5, 3.0F);
  GaussianKernel equal;
  equal.name = "equal";
  equal.features = Matrix<double>(50, 5, -7.5F);
  GaussianKernel apart;
  apart.name = "apart";
  apart.features = Matrix<double>(50, 3);
  for (std::size_t k = 0; k < 150; ++k) {
    apart.features.data()[k] = huge * static_cast<float>((k * 37) % 150);
  }
  GaussianKernel duplicated = RandomKernel(50, 4, 3.0, 3);
  for (std::size_t a = 25; a < 50; ++a) {
    for (std::size_t i = 0; i < 4; ++i) duplicated.features(a, i) = duplicated.features(a - 25, i);
  }
  for (const GaussianKernel* kernel : {&one, &equal, &apart, &duplicated}) {
    const LatticeOperator op(*kernel);
    const std::size_t n = kernel->size();
    const Matrix<float> k = ExplicitK(op, false);
    const Matrix<float> v = RandomMatrix(n, 3, 4, -2.0, 2.0);
    Matrix<float> flow(n, 3);
    op.AddFlow(v, FlowShape::kClip, 1.0F, &flow);
    op.AddFlow(v, FlowShape::kSign, 1.0F, &flow);
    for (std::size_t j = 0; j < flow.size(); ++j) EXPECT_TRUE(std::isfinite(flow.data()[j]));
    for (const double variation : op.TotalVariation(v)) EXPECT_TRUE(std::isfinite(variation));
    if (kernel == &apart) {
      for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) EXPECT_NEAR(k(a, b), 0.0, 1e-6);
      }
    }
    if (kernel == &equal) {
      for (std::size_t b = 1; b < n; ++b) EXPECT_FLOAT_EQ(k(0, b), k(0, 1));
    }
    if (kernel == &duplicated) {
      for (std::size_t b = 0; b < 25; ++b) {
        if (b > 0) {
          EXPECT_NEAR(k(0, b), k(0, b + 25), 1e-6);
        }
      }
    }
  }
}

TEST(Lattice, RefusesWhatItCannotDo) {
  GaussianKernel kernel = RandomKernel(10, 16, 1.0, 1);
  for (std::size_t k = 0; k < kernel.features.size(); k += 3) kernel.features.data()[k] = 1e5F;
  testing::ExpectInvalid([&] { LatticeOperator{kernel}; }, "sigma is too small");
  kernel = RandomKernel(10, 1, 1.0, 1);
  kernel.features(3, 0) = std::numeric_limits<float>::max();
  testing::ExpectInvalid([&] { LatticeOperator{kernel}; }, "sigma is too small");
  kernel.features(3, 0) = std::numeric_limits<float>::quiet_NaN();
  testing::ExpectInvalid([&] { LatticeOperator{kernel}; }, "variable 3");

  kernel = RandomKernel(1000, 5, 10.0, 1);
  LatticeOptions options;
  options.max_bytes = 100000;
  EXPECT_THROW(LatticeOperator(kernel, options), TooLarge);
  options.max_bytes = std::size_t{4} << 20;
  const LatticeOperator op(kernel, options);
  Matrix<float> out(1000, 21);
  op.AddProduct(Matrix<float>(1000, 21), 1.0F, &out);
  EXPECT_LE(op.bytes(), options.max_bytes);
  Matrix<float> wide(1000, 5000);
  EXPECT_THROW(op.AddProduct(Matrix<float>(1000, 5000), 1.0F, &wide), TooLarge);
  testing::ExpectInvalid([&] { op.AddProduct(Matrix<float>(999, 21), 1.0F, &out); }, "999 x 21");
  options.levels = 1;
  testing::ExpectInvalid([&] { LatticeOperator(kernel, options); }, "levels");
}

}  // namespace
}  // namespace submarine::internal
