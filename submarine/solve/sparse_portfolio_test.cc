#include "submarine/solve/sparse_portfolio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "submarine/base/error.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr SparseSize kTiny{9, 3, 12, 3, 3};
constexpr SparseSize kLarge{250000, 64, 499000, 64, 64};  // 500 x 500 pixels
constexpr SparseSize kHuge{4e6, 64, 8e6, 64, 64};
constexpr SparseSize kManyLabels{1e4, 1024, 2e4, 1024, 1024};

SparseView View(Method method, const SparseSize& size, double temperature, double left,
                double bytes = kInfinity) {
  return ViewOf(
      {.method = method, .temperature = temperature, .limits = {.time_limit_seconds = left}}, size,
      bytes);
}

Method ChooseSparse(const SparseSize& size, double temperature, double left,
                    double bytes = kInfinity) {
  return TightestThatFits(View(Method::kAuto, size, temperature, left, bytes));
}

std::string Refusal(Method method, const SparseSize& size, double temperature, double left,
                    double bytes = kInfinity) {
  try {
    RequireRoom(View(method, size, temperature, left, bytes));
  } catch (const TooLarge& error) {
    return error.what();
  }
  return "";
}

TEST(SparsePortfolioTest, TheTightestThatFitsIsChosen) {
  EXPECT_EQ(ChooseSparse(kLarge, 1.0, kInfinity), Method::kTrw);
  EXPECT_EQ(ChooseSparse(kTiny, 1.0, 0.0), Method::kTrw);
  EXPECT_EQ(ChooseSparse(kLarge, 1.0, 0.8), Method::kFrankWolfe);
  EXPECT_EQ(ChooseSparse(kHuge, 1.0, 1.0), Method::kAuto) << "the unaries have to do";
  // All pairs of labels of an edge take longer than many iterations on its flows.
  EXPECT_EQ(ChooseSparse(kManyLabels, 1.0, 12.0), Method::kPdhg);
}

TEST(SparsePortfolioTest, OnlyPdhgTakesTemperatureZero) {
  for (const double left : {0.0, 1.0, 5.0, 100.0, kInfinity}) {
    for (const SparseSize& size : {kTiny, kLarge, kHuge}) {
      const Method method = ChooseSparse(size, 0.0, left);
      EXPECT_TRUE(method == Method::kPdhg || method == Method::kAuto) << ToString(method);
    }
  }
  EXPECT_EQ(ChooseSparse(kLarge, 0.0, kInfinity), Method::kPdhg);
}

TEST(SparsePortfolioTest, NothingIsRefusedForTime) {
  for (const Method method : {Method::kPdhg, Method::kTrw, Method::kMeanField})
    EXPECT_EQ(Refusal(method, kHuge, 1.0, -1.0), "") << ToString(method);
}

TEST(SparsePortfolioTest, MemoryDecidesAsTimeDoes) {
  EXPECT_EQ(ChooseSparse(kLarge, 1.0, kInfinity, 3e9), Method::kTrw);
  EXPECT_EQ(ChooseSparse(kLarge, 1.0, kInfinity, 1.6e9), Method::kPdhg);
  EXPECT_EQ(ChooseSparse(kLarge, 1.0, kInfinity, 1e9), Method::kFrankWolfe);
  EXPECT_EQ(ChooseSparse(kLarge, 1.0, kInfinity, 0.3e9), Method::kAuto);
  EXPECT_EQ(Refusal(Method::kAuto, kLarge, 1.0, kInfinity, 0.3e9), "");
  EXPECT_THAT(Refusal(Method::kAuto, kLarge, 1.0, kInfinity, 0.2e9),
              HasSubstr("; a memory limit of 0.29"));
  const std::string text = Refusal(Method::kTrw, kLarge, 1.0, kInfinity, 1e9);
  EXPECT_THAT(text,
              HasSubstr("trw needs about 1.65 GB of memory here, more than the limit of 1 GB"));
  EXPECT_THAT(text, HasSubstr("the method fw or mf or auto or a memory limit of 1.67 GB would do"));
}

TEST(SparsePortfolioTest, BetterForestsFollowWhereTimeIsGiven) {
  SparseView view = View(Method::kAuto, kTiny, 1.0, 60.0);
  view.upper_by = Method::kTrw;
  view.lower = -100.0;
  view.upper = -99.0;
  EXPECT_TRUE(WantsBetterForests(view));
  const auto after = [&](auto change) {
    SparseView changed = view;
    change(changed);
    return WantsBetterForests(changed);
  };
  EXPECT_FALSE(after([](SparseView& v) { v.upper = -99.999; })) << "the gap is reached";
  EXPECT_FALSE(after([](SparseView& v) { v.upper_by = Method::kPdhg; }));
  EXPECT_FALSE(after([](SparseView& v) { v.limit = kInfinity; }));
  EXPECT_FALSE(after([](SparseView& v) { v.stopped = true; }));
  EXPECT_FALSE(after([](SparseView& v) { v.room = 0.0; }));
  EXPECT_FALSE(after([](SparseView& v) { v.gave_up = true; }));
}

}  // namespace
}  // namespace submarine::internal
