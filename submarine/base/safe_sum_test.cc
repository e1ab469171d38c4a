#include "submarine/base/safe_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "submarine/base/long_sum_test_util.h"

namespace submarine::internal {
namespace {

using testing::LongSum;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ExactSumTest, BracketsSumsThatCancel) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> terms;
    for (std::size_t k = 0; k < 1 + random() % 30; ++k) {
      terms.push_back(std::ldexp(uniform(random), static_cast<int>(random() % 120) - 60));
      if (random() % 2 == 0) terms.push_back(-terms.back());
    }
    std::shuffle(terms.begin(), terms.end(), random);
    ExactSum sum;
    LongSum reference;
    for (double x : terms) {
      const double y = uniform(random);
      sum.Add(x);
      reference.Add(x);
      sum.AddProduct(x, y);
      reference.AddProduct(x, y);
    }
    EXPECT_LE(reference.Minus(sum.Above()), 0.0L) << "trial " << trial;
    EXPECT_GE(reference.Minus(sum.Below()), 0.0L) << "trial " << trial;
    const double spread = 4.0 * std::numeric_limits<double>::epsilon() * std::abs(sum.Value());
    EXPECT_LE(sum.Above() - sum.Below(), 2.0 * spread + 1e-8) << "trial " << trial;
  }
}

TEST(ExactSumTest, RecoversWhatDoublesLose) {
  ExactSum sum;
  for (double x : {1e16, 1.0, -1e16}) sum.Add(x);
  EXPECT_EQ(sum.Value(), 1.0);
  EXPECT_LT(sum.Error(), 1e-12);
}

TEST(ExactSumTest, KnowsNothingAfterAnOverflow) {
  ExactSum sum;
  for (double x : {-1.5e308, -1.5e308, 1.5e308, 1.5e308}) sum.Add(x);
  EXPECT_EQ(sum.Above(), kInfinity);
  EXPECT_EQ(sum.Below(), -kInfinity);
  ExactSum infinite;
  infinite.Add(kInfinity);
  EXPECT_EQ(infinite.Above(), kInfinity);
  EXPECT_EQ(infinite.Below(), -kInfinity);
}

// 0.1 added up a million times misses the true sum; the upward one never falls short of it.
TEST(UpwardSumTest, IsNotBelowTheSum) {
  UpwardSum sum;
  LongSum reference;
  for (int k = 0; k < 1000000; ++k) {
    sum.Add(0.1 * k);
    reference.Add(0.1 * k);
  }
  EXPECT_LE(reference.Minus(sum.Above()), 0.0L);
  EXPECT_NEAR(sum.Above(), static_cast<double>(reference.high), 1.0 + 1e-9 * sum.Above());
}

}  // namespace
}  // namespace submarine::internal
