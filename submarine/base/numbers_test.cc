#include "submarine/base/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

namespace submarine {
namespace {

TEST(NumbersTest, TheLogarithmOfTwoStaysInside) {
  const double ln2 = std::log(2.0);
  EXPECT_EQ(RoundedDown(ln2), "0.693147");
  EXPECT_EQ(RoundedUp(ln2), "0.693148");
  EXPECT_EQ(RoundedDown(-ln2), "-0.693148");
  EXPECT_EQ(RoundedUp(-ln2), "-0.693147");
}

TEST(NumbersTest, WhatIsPrintedIsOnTheRightSide) {
  std::mt19937_64 rng(7);
  std::uniform_real_distribution<double> mantissa(-1.0, 1.0);
  for (int trial = 0; trial < 20000; ++trial) {
    const double value = std::ldexp(mantissa(rng), static_cast<int>(rng() % 80) - 30);
    for (const int decimals : {0, 3, 6, 9}) {
      const std::string down = RoundedDown(value, decimals);
      const std::string up = RoundedUp(value, decimals);
      EXPECT_LE(std::strtold(down.c_str(), nullptr), static_cast<long double>(value)) << down;
      EXPECT_GE(std::strtold(up.c_str(), nullptr), static_cast<long double>(value)) << up;
      // No further away than necessary: one unit of the last decimal, or an ulp.
      const double unit = std::max(std::pow(10.0, -decimals), std::abs(value) * 1e-15);
      EXPECT_LE(std::strtold(up.c_str(), nullptr) - std::strtold(down.c_str(), nullptr),
                2.1 * unit);
    }
  }
}

TEST(NumbersTest, WholeNumbersAreThemselves) {
  EXPECT_EQ(RoundedDown(-3.0, 2), "-3.00");
  EXPECT_EQ(RoundedUp(1e20, 1), "100000000000000000000.0");
  EXPECT_EQ(RoundedUp(0.0, 1), "0.0");
}

}  // namespace
}  // namespace submarine
