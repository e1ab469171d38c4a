#include "submarine/filter/kernel/brute_force.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "submarine/base/error_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;

// Numbers that single precision has, of either type.
template <class T = float>
Matrix<T> RandomMatrix(std::size_t rows, std::size_t cols, double spread, std::mt19937_64* rng) {
  Matrix<T> m(rows, cols);
  std::uniform_real_distribution<double> value(-spread, spread);
  for (std::size_t k = 0; k < m.size(); ++k) m.data()[k] = static_cast<float>(value(*rng));
  return m;
}

// Three variables on a line, two kernels.
class ByHandTest : public ::testing::Test {
 protected:
  ByHandTest() {
    for (std::size_t a = 0; a < 3; ++a) {
      narrow_.features(a, 0) = static_cast<float>(a);
      wide_.features(a, 0) = 0.0F;
    }
  }
  GaussianKernel narrow_{"narrow", Matrix<double>(3, 1)};
  GaussianKernel wide_{"wide", Matrix<double>(3, 1), 100.0, {1.0F, 2.0F, 3.0F}};
  const std::vector<WeightedKernel> both_{{&narrow_, 2.0}, {&wide_, 0.5}};
};

TEST_F(ByHandTest, Values) {
  const BruteForceOperator op(both_);
  EXPECT_EQ(op.size(), 3U);
  EXPECT_DOUBLE_EQ(op.Value(0, 1), 2.0 * std::exp(-0.5) + 1.0);
  EXPECT_DOUBLE_EQ(op.Value(2, 0), 2.0 * std::exp(-2.0) + 1.5);
  EXPECT_EQ(op.Value(1, 1), 0.0);
  EXPECT_EQ(op.Description(), "all 3 pairs");
  EXPECT_EQ(op.bytes(), 0U);
}

TEST_F(ByHandTest, ProductAddsWithoutTheDiagonal) {
  const BruteForceOperator op(both_);
  Matrix<float> x(3, 2, 0.0F);
  x(1, 0) = 1.0F;
  x(2, 1) = -2.0F;
  Matrix<float> out(3, 2, 10.0F);
  op.AddProduct(x, 3.0F, &out);
  for (std::size_t a = 0; a < 3; ++a) {
    EXPECT_FLOAT_EQ(out(a, 0), static_cast<float>(10.0 + 3.0 * op.Value(a, 1)));
    EXPECT_FLOAT_EQ(out(a, 1), static_cast<float>(10.0 - 6.0 * op.Value(a, 2)));
  }
  const std::vector<float> degrees = Degrees(op);
  EXPECT_FLOAT_EQ(degrees[0], static_cast<float>(op.Value(0, 1) + op.Value(0, 2)));
}

TEST_F(ByHandTest, FlowsFollowTheirShape) {
  const BruteForceOperator op(both_);
  Matrix<float> v(3, 1);
  v(0, 0) = 0.0F;
  v(1, 0) = 0.25F;
  v(2, 0) = 7.0F;
  Matrix<float> clip(3, 1, 1.0F);
  op.AddFlow(v, FlowShape::kClip, 2.0F, &clip);
  EXPECT_FLOAT_EQ(clip(0, 0),
                  static_cast<float>(1.0 + 2.0 * (-0.25 * op.Value(0, 1) - op.Value(0, 2))));
  EXPECT_FLOAT_EQ(clip(1, 0),
                  static_cast<float>(1.0 + 2.0 * (0.25 * op.Value(0, 1) - op.Value(1, 2))));
  v(1, 0) = 0.0F;
  Matrix<float> sign(3, 1, 0.0F);
  op.AddFlow(v, FlowShape::kSign, 1.0F, &sign);
  EXPECT_FLOAT_EQ(sign(0, 0), static_cast<float>(-op.Value(0, 2))) << "a tie is 0";
  EXPECT_FLOAT_EQ(sign(2, 0), static_cast<float>(op.Value(0, 2) + op.Value(1, 2)));
}

TEST_F(ByHandTest, TotalVariationCountsPairsOnce) {
  const BruteForceOperator op(both_);
  Matrix<float> x(3, 2, 0.0F);
  x(1, 1) = -1.0F;
  x(2, 1) = 2.0F;
  const std::vector<double> variation = op.TotalVariation(x);
  EXPECT_EQ(variation[0], 0.0);
  EXPECT_DOUBLE_EQ(variation[1], op.Value(0, 1) + 2.0 * op.Value(0, 2) + 3.0 * op.Value(1, 2));
}

// <x, greedy flow of x> = total variation, and flows sum to nothing.
TEST(BruteForceTest, GreedyFlowAttainsTheTotalVariation) {
  std::mt19937_64 rng(1);
  for (std::size_t dimension = 1; dimension <= 6; ++dimension) {
    const GaussianKernel kernel{"random", RandomMatrix<double>(40, dimension, 1.0, &rng)};
    const BruteForceOperator op(std::vector<WeightedKernel>{{&kernel, 0.7}});
    const Matrix<float> x = RandomMatrix(40, 3, 1.0, &rng);
    Matrix<float> flow(40, 3, 0.0F);
    op.AddFlow(x, FlowShape::kSign, 1.0F, &flow);
    const std::vector<double> variation = op.TotalVariation(x);
    for (std::size_t c = 0; c < 3; ++c) {
      double attained = 0.0;
      double total = 0.0;
      for (std::size_t a = 0; a < 40; ++a) {
        attained += static_cast<double>(x(a, c)) * static_cast<double>(flow(a, c));
        total += flow(a, c);
      }
      // The flow is rounded to single precision, 40 times at most 40 * 2^-24.
      EXPECT_NEAR(attained, variation[c], 1e-4);
      EXPECT_NEAR(total, 0.0, 1e-4);
    }
  }
}

TEST_F(ByHandTest, RefusesWhatIsNoOperator) {
  const auto build = [](std::vector<WeightedKernel> kernels) {
    return [kernels] { BruteForceOperator{kernels}; };
  };
  ExpectInvalid(build({}), "no kernels");
  ExpectInvalid(build({{&narrow_, -1.0}}), "the factor of kernel \"narrow\" is -1");
  ExpectInvalid(build({{&narrow_, std::nan("")}}), "the factor of kernel \"narrow\" is nan");
  const GaussianKernel longer{"longer", Matrix<double>(4, 1)};
  ExpectInvalid(build({{&narrow_, 1.0}, {&longer, 1.0}}),
                "kernel \"longer\" has 4 variables, but kernel \"narrow\" has 3");
  const GaussianKernel empty{"empty", Matrix<double>(0, 1)};
  ExpectInvalid(build({{&empty, 1.0}}), "kernel \"empty\" has no variables");
}

}  // namespace
}  // namespace submarine::internal
