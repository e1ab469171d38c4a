#include "submarine/solver/common/line_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

namespace submarine::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(LineSearchTest, FindsTheMinimumOfAParabola) {
  for (double minimum : {1e-6, 0.1, 0.5, 0.999}) {
    const double t =
        MinimiseOnUnitInterval([&](double x) { return std::pair(2.0 * (x - minimum), 2.0); });
    EXPECT_NEAR(t, minimum, 1e-9 * minimum);
  }
}

TEST(LineSearchTest, StaysWhereTheFunctionDoesNotFall) {
  EXPECT_EQ(MinimiseOnUnitInterval([](double) { return std::pair(0.0, 0.0); }), 0.0);
  EXPECT_EQ(MinimiseOnUnitInterval([](double t) { return std::pair(2.0 * t, 2.0); }), 0.0);
  EXPECT_EQ(MinimiseOnUnitInterval([](double) { return std::pair(3.0, 0.0); }), 0.0);
  EXPECT_EQ(MinimiseOnUnitInterval([](double) { return std::pair(std::nan(""), 1.0); }), 0.0);
}

TEST(LineSearchTest, GoesToTheEndWhereTheFunctionFallsThroughout) {
  EXPECT_EQ(MinimiseOnUnitInterval([](double) { return std::pair(-1.0, 0.0); }), 1.0);
  EXPECT_EQ(MinimiseOnUnitInterval([](double t) { return std::pair(2.0 * (t - 3.0), 2.0); }), 1.0);
  EXPECT_EQ(MinimiseOnUnitInterval([](double t) { return std::pair(2.0 * (t - 1.0), 2.0); }), 1.0);
  // Newton's first steps stay inside: the end has to be tried anyway.
  EXPECT_EQ(MinimiseOnUnitInterval(
                [](double t) { return std::pair(-std::exp(-5.0 * t), 5.0 * std::exp(-5.0 * t)); }),
            1.0);
}

TEST(LineSearchTest, SolvesSteepAndFlatFunctions) {
  // f' = exp(k t) - exp(k / 2): Newton overshoots or crawls, bisection does not.
  for (double k : {1.0, 20.0, 300.0}) {
    const double t = MinimiseOnUnitInterval([&](double x) {
      return std::pair(std::exp(k * x) - std::exp(0.5 * k), k * std::exp(k * x));
    });
    EXPECT_NEAR(t, 0.5, 1e-6) << k;
  }
  // f = log(1 + exp(k (t - 0.3))) - p k t has its minimum where the logistic function is p.
  for (double k : {5.0, 200.0}) {
    const double p = 0.25;
    const double t = MinimiseOnUnitInterval([&](double x) {
      const double logistic = 1.0 / (1.0 + std::exp(-k * (x - 0.3)));
      return std::pair(k * (logistic - p), k * k * logistic * (1.0 - logistic));
    });
    EXPECT_NEAR(t, 0.3 + std::log(p / (1.0 - p)) / k, 1e-7) << k;
  }
}

TEST(LineSearchTest, BisectsAtKinks) {
  const auto kink = [](double t) { return std::pair(t < 0.3 ? -1.0 : 1.0, 0.0); };
  const double t = MinimiseOnUnitInterval(kink);
  EXPECT_LE(t, 0.3) << "went uphill";
  EXPECT_NEAR(t, 0.3, 1e-5);
}

TEST(LineSearchTest, SurvivesInfiniteAndUndefinedDerivatives) {
  for (double curvature : {kInfinity, std::nan("")}) {
    const double t = MinimiseOnUnitInterval(
        [&](double x) { return std::pair(x - 0.25, x == 0.0 ? curvature : 1.0); });
    EXPECT_NEAR(t, 0.25, 1e-9);
    const double u =
        MinimiseOnUnitInterval([&](double x) { return std::pair(x - 0.25, curvature); });
    EXPECT_NEAR(u, 0.25, 1e-6);
  }
  // The slope overflows far from the start, as in exp(large).
  const double t = MinimiseOnUnitInterval([](double x) {
    return x > 0.01 ? std::pair(kInfinity, kInfinity) : std::pair(x - 0.005, 1.0);
  });
  EXPECT_NEAR(t, 0.005, 1e-9);
  const double u = MinimiseOnUnitInterval([](double x) {
    return x > 0.01 ? std::pair(std::nan(""), std::nan("")) : std::pair(x - 0.005, 1e-9);
  });
  EXPECT_GE(u, 0.0);
  EXPECT_LE(u, 0.01);
}

TEST(LineSearchTest, KeepsToItsEvaluations) {
  for (int limit : {1, 2, 5, 24}) {
    int evaluations = 0;
    const double t = MinimiseOnUnitInterval(
        [&](double x) {
          ++evaluations;
          return std::pair(x < 0.1234567 ? -1.0 : 1.0, 0.0);
        },
        limit);
    EXPECT_LE(evaluations, limit);
    EXPECT_GE(t, 0.0);
    EXPECT_LE(t, 0.1234567) << "uphill";
  }
}

}  // namespace
}  // namespace submarine::internal
