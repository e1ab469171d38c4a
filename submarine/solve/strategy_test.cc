#include "submarine/solve/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

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

std::string Refusal(Method method, const SparseSize& size, double temperature, double left) {
  try {
    RequireTime(method, size, temperature, left);
  } catch (const TooLarge& error) {
    return error.what();
  }
  return "";
}

TEST(DenseStrategyTest, TheCutoffRisesUntilTheWorkFits) {
  const DenseSize size{1e5, 16, 16, 0.0};
  const std::vector<double> pairs = {7e7, 3e7, 1e7, 1e6};
  EXPECT_EQ(ChooseCutoff(size, pairs, 1e9), 0U);
  EXPECT_EQ(ChooseCutoff(size, pairs, 0.0), 3U) << "the last one where none fits";
  std::size_t previous = 3;
  for (const double seconds : {0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0}) {
    const std::size_t chosen = ChooseCutoff(size, pairs, seconds);
    EXPECT_LE(chosen, previous) << seconds << " s allow for no fewer pairs";
    previous = chosen;
  }
  EXPECT_EQ(previous, 0U);
}

TEST(DenseStrategyTest, RoomForFarPairsOnlyWhereTheyAreCertified) {
  const DenseStrategy strategy;
  EXPECT_EQ(SolverGap(strategy, 0.01, false), 0.01);
  EXPECT_DOUBLE_EQ(SolverGap(strategy, 0.01, true), 0.006);
  EXPECT_DOUBLE_EQ(SolverGap(strategy, 0.001, true), 0.0005) << "at least half is left";
}

TEST(DenseStrategyTest, StagesStallWhenTheGapHardlyFalls) {
  const DenseStrategy strategy;
  EXPECT_FALSE(Stalled(strategy, strategy.first_stage, 1.0, 0.99)) << "never the first";
  EXPECT_TRUE(Stalled(strategy, 2 * strategy.first_stage, 1.0, 0.95));
  EXPECT_FALSE(Stalled(strategy, 2 * strategy.first_stage, 1.0, 0.5));
}

TEST(DenseStrategyTest, MeanFieldIsCalledWhereLabelsAreNear) {
  const DenseStrategy strategy;
  EXPECT_TRUE(MeanFieldMayHelp(strategy, 101.0, -100.0));
  EXPECT_FALSE(MeanFieldMayHelp(strategy, 110.0, -100.0));
}

TEST(SparseStrategyTest, TheTightestThatFitsIsChosen) {
  EXPECT_EQ(ChooseSparse(kLarge, 1.0, kInfinity), Method::kTrw);
  EXPECT_EQ(ChooseSparse(kTiny, 1.0, 0.0), Method::kTrw);
  EXPECT_EQ(ChooseSparse(kLarge, 1.0, 0.8), Method::kBlockFrankWolfe);
  EXPECT_EQ(ChooseSparse(kHuge, 1.0, 1.0), Method::kAuto) << "the unaries have to do";
  // All pairs of labels of an edge take longer than many iterations on its flows.
  EXPECT_EQ(ChooseSparse(kManyLabels, 1.0, 12.0), Method::kPdhg);
}

TEST(SparseStrategyTest, OnlyPdhgTakesTemperatureZero) {
  for (const double left : {0.0, 1.0, 5.0, 100.0, kInfinity}) {
    for (const SparseSize& size : {kTiny, kLarge, kHuge}) {
      const Method method = ChooseSparse(size, 0.0, left);
      EXPECT_TRUE(method == Method::kPdhg || method == Method::kAuto) << ToString(method);
    }
  }
  EXPECT_EQ(ChooseSparse(kLarge, 0.0, kInfinity), Method::kPdhg);
}

TEST(SparseStrategyTest, MoreTimeIsNeverRefusedMore) {
  for (const Method method : {Method::kPdhg, Method::kTrw, Method::kHybrid, Method::kMeanField}) {
    bool fits = false;
    for (double left = 0.0; left < 400.0; left += 0.5) {
      const bool now = Refusal(method, kHuge, 1.0, left).empty();
      EXPECT_TRUE(now || !fits) << ToString(method) << ", " << left << " s";
      fits = now;
    }
    EXPECT_TRUE(fits) << ToString(method);
    EXPECT_EQ(Refusal(method, kTiny, 1.0, 0.0), "") << "little work is always done";
  }
}

TEST(SparseStrategyTest, ARefusalSaysWhatWouldDo) {
  const std::string text = Refusal(Method::kTrw, kLarge, 1.0, 0.8);
  EXPECT_THAT(text, HasSubstr("a first bound by trw takes about"));
  EXPECT_THAT(text, HasSubstr("but 0.8 s are left of the time limit"));
  EXPECT_THAT(text, HasSubstr("bcfw, "));
  EXPECT_THAT(text, HasSubstr("auto, or allow"));
  EXPECT_THAT(Refusal(Method::kTrw, kHuge, 1.0, 0.0), HasSubstr("--method auto, or"));
  EXPECT_THAT(Refusal(Method::kPdhg, kLarge, 0.0, -1.0), Not(HasSubstr("bcfw")));
}

TEST(DenseStrategyTest, PlainBoundsGiveWayWhereTheirDualValueIsFarFromTheLowerBound) {
  const DenseStrategy strategy;
  EXPECT_TRUE(PlainLeavesTooMuch(strategy, -80.0, -85.0, -100.0, 0.01));
  EXPECT_FALSE(PlainLeavesTooMuch(strategy, -80.0, -95.0, -100.0, 0.01));  // may still converge
  EXPECT_FALSE(PlainLeavesTooMuch(strategy, -96.0, -96.1, -100.0, 0.01));  // narrow enough
  EXPECT_FALSE(PlainLeavesTooMuch(strategy, -80.0, -85.0, -100.0, 0.3));   // as asked for
  EXPECT_TRUE(PlainLeavesTooMuch(strategy, 20.0, 15.0, 0.0, 0.01));
}

}  // namespace
}  // namespace submarine::internal
