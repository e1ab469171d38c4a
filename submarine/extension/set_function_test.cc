#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/extension/set_function_test_util.h"

namespace submarine::internal {
namespace {

double Count(std::span<const char> in_set) {
  return static_cast<double>(std::count(in_set.begin(), in_set.end(), char{1}));
}

double SquareRootOfSize(std::span<const char> in_set) { return std::sqrt(Count(in_set)); }

// Arcs 0 -> 1 of capacity 2 and 1 -> 2 of capacity 3: F(A) is the capacity that leaves A.
double ArcCut(std::span<const char> in_set) {
  return (in_set[0] && !in_set[1] ? 2.0 : 0.0) + (in_set[1] && !in_set[2] ? 3.0 : 0.0);
}

TEST(SetFunctionTest, GreedyTakesElementsFromLargeToSmall) {
  const std::vector<double> z{0.1, 0.9, 0.5};
  const std::vector<double> s = GreedyVertex(SquareRootOfSize, z);
  EXPECT_DOUBLE_EQ(s[1], 1.0);
  EXPECT_DOUBLE_EQ(s[2], std::sqrt(2.0) - 1.0);
  EXPECT_DOUBLE_EQ(s[0], std::sqrt(3.0) - std::sqrt(2.0));
}

TEST(SetFunctionTest, GreedyBreaksTiesByIndex) {
  const std::vector<double> s = GreedyVertex(SquareRootOfSize, std::vector<double>(3, 0.4));
  EXPECT_DOUBLE_EQ(s[0], 1.0);
  EXPECT_DOUBLE_EQ(s[2], std::sqrt(3.0) - std::sqrt(2.0));
}

TEST(SetFunctionTest, GreedyOnAnArcCutByHand) {
  EXPECT_EQ(GreedyVertex(ArcCut, std::vector<double>{3.0, 2.0, 1.0}),
            (std::vector<double>{2.0, 1.0, -3.0}));
  EXPECT_EQ(GreedyVertex(ArcCut, std::vector<double>{1.0, 2.0, 3.0}),
            (std::vector<double>{0.0, 0.0, 0.0}));
  EXPECT_EQ(LovaszValue(ArcCut, std::vector<double>{3.0, 2.0, 1.0}), 2.0 + 3.0);
  EXPECT_EQ(LovaszValue(ArcCut, std::vector<double>{1.0, 2.0, 3.0}), 0.0);
}

TEST(SetFunctionTest, LovaszExtensionAgreesWithFOnSets) {
  for (int bits = 0; bits < 8; ++bits) {
    std::vector<char> in_set(3);
    std::vector<double> indicator(3);
    for (int k = 0; k < 3; ++k) {
      in_set[k] = static_cast<char>(bits >> k & 1);
      indicator[k] = in_set[k];
    }
    EXPECT_DOUBLE_EQ(LovaszValue(ArcCut, indicator), ArcCut(in_set));
    EXPECT_DOUBLE_EQ(LovaszValue(SquareRootOfSize, indicator), SquareRootOfSize(in_set));
  }
}

TEST(SetFunctionTest, GreedyVerticesAreInThePolymatroid) {
  std::mt19937_64 rng(1);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> z(3);
    for (double& value : z) value = normal(rng);
    for (const SetFunction& f : {SetFunction(ArcCut), SetFunction(SquareRootOfSize)}) {
      std::vector<double> s = GreedyVertex(f, z);
      EXPECT_NEAR(WorstViolation(f, s), 0.0, 1e-15);
      // A vertex is tight on the whole ground set, so none of its entries can grow.
      s[static_cast<std::size_t>(trial % 3)] += 0.25;
      EXPECT_NEAR(WorstViolation(f, s), 0.25, 1e-15);
    }
  }
}

TEST(SetFunctionTest, WorstViolationFindsTheWorstSet) {
  // Against F = 0 the worst set collects the positive entries.
  const SetFunction zero = [](std::span<const char>) { return 0.0; };
  EXPECT_DOUBLE_EQ(WorstViolation(zero, std::vector<double>{0.5, -2.0, 0.25}), 0.75);
  EXPECT_DOUBLE_EQ(WorstViolation(zero, std::vector<double>{-0.5, -2.0}), 0.0);
}

TEST(SetFunctionTest, EnumerationIsLimited) {
  const SetFunction zero = [](std::span<const char>) { return 0.0; };
  EXPECT_THROW(WorstViolation(zero, std::vector<double>(25, 0.0)), TooLarge);
  EXPECT_EQ(WorstViolation(zero, std::vector<double>(10, 0.0)), 0.0);
}

}  // namespace
}  // namespace submarine::internal
