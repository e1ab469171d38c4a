#include "submarine/fit/nelder_mead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace submarine::internal {
namespace {

using Point = std::vector<double>;

double Rosenbrock(const Point& p) {
  return 100.0 * std::pow(p[1] - p[0] * p[0], 2.0) + std::pow(1.0 - p[0], 2.0);
}

TEST(NelderMead, FindsTheBottomOfAValley) {
  const NelderMeadResult result =
      MinimiseByNelderMead(Rosenbrock, {-1.2, 1.0}, {0.5, 0.5}, {-5.0, -5.0}, {5.0, 5.0},
                           {.max_evaluations = 500, .tolerance = 1e-8});
  EXPECT_NEAR(result.point[0], 1.0, 1e-6);
  EXPECT_NEAR(result.point[1], 1.0, 1e-6);
  EXPECT_EQ(result.value, Rosenbrock(result.point));
  EXPECT_EQ(result.value, result.best_so_far.back());
}

TEST(NelderMead, StaysBetweenItsBounds) {
  const auto checked = [](const Point& p) {
    EXPECT_GE(p[0], -1.0);
    EXPECT_LE(p[0], 2.0);
    EXPECT_GE(p[1], 0.0);
    EXPECT_LE(p[1], 3.0);
    return (p[0] - 9.0) * (p[0] - 9.0) + (p[1] - 1.5) * (p[1] - 1.5);
  };
  const NelderMeadResult result =
      MinimiseByNelderMead(checked, {2.0, 0.0}, {1.0, 1.0}, {-1.0, 0.0}, {2.0, 3.0},
                           {.max_evaluations = 300, .tolerance = 1e-8});
  EXPECT_NEAR(result.point[0], 2.0, 1e-6);
  EXPECT_NEAR(result.point[1], 1.5, 1e-4);
}

TEST(NelderMead, MakesNoMoreEvaluationsThanItMay) {
  for (const int most : {1, 2, 3, 4, 5, 7, 20}) {
    int calls = 0;
    const auto counted = [&](const Point& p) {
      ++calls;
      return Rosenbrock(p);
    };
    const NelderMeadResult result = MinimiseByNelderMead(
        counted, {-1.2, 1.0}, {0.5, 0.5}, {-5.0, -5.0}, {5.0, 5.0}, {.max_evaluations = most});
    EXPECT_EQ(calls, most);
    EXPECT_EQ(result.best_so_far.size(), static_cast<std::size_t>(most));
    EXPECT_EQ(result.value, result.best_so_far.back());
  }
}

TEST(NelderMead, IsNamedByItsSeed) {
  const auto points = [](std::uint64_t seed) {
    std::vector<Point> seen;
    MinimiseByNelderMead(
        [&](const Point& p) {
          seen.push_back(p);
          return Rosenbrock(p);
        },
        {-1.2, 1.0}, {0.5, 0.5}, {-5.0, -5.0}, {5.0, 5.0}, {.max_evaluations = 20, .seed = seed});
    return seen;
  };
  EXPECT_EQ(points(3), points(3));
  bool differs = false;
  for (std::uint64_t seed = 4; seed < 12; ++seed) differs = differs || points(seed) != points(3);
  EXPECT_TRUE(differs);
}

TEST(NelderMead, EndsWhereTheSimplexIsSmall) {
  const NelderMeadResult result =
      MinimiseByNelderMead([](const Point& p) { return p[0] * p[0]; }, {1.0}, {0.5}, {-5.0}, {5.0},
                           {.max_evaluations = 1000, .tolerance = 0.01});
  EXPECT_LT(result.best_so_far.size(), 100u);
  EXPECT_NEAR(result.point[0], 0.0, 0.02);
}

}  // namespace
}  // namespace submarine::internal
