#include "submarine/solve/dense_strategy.h"

#include <gtest/gtest.h>

#include <vector>

namespace submarine {
namespace {

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

}  // namespace
}  // namespace submarine
