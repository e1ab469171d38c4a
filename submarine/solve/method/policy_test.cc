#include "submarine/solve/method/policy.h"

#include <gtest/gtest.h>

#include <vector>

namespace submarine::internal {
namespace {

TEST(PolicyTest, TheCutoffRisesUntilTheWorkFits) {
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

TEST(PolicyTest, RoomForFarPairsOnlyWhereTheyAreCertified) {
  EXPECT_EQ(SolverGap(0.01, false), 0.01);
  EXPECT_DOUBLE_EQ(SolverGap(0.01, true), 0.006);
  EXPECT_DOUBLE_EQ(SolverGap(0.001, true), 0.0005) << "at least half is left";
}

TEST(PolicyTest, PlainBoundsGiveWayWhereTheirDualValueIsFarFromTheLowerBound) {
  EXPECT_TRUE(PlainLeavesTooMuch(-80.0, -85.0, -100.0, 0.01));
  EXPECT_FALSE(PlainLeavesTooMuch(-80.0, -95.0, -100.0, 0.01));  // may still converge
  EXPECT_FALSE(PlainLeavesTooMuch(-96.0, -96.1, -100.0, 0.01));  // narrow enough
  EXPECT_FALSE(PlainLeavesTooMuch(-80.0, -85.0, -100.0, 0.3));   // as asked for
  EXPECT_TRUE(PlainLeavesTooMuch(20.0, 15.0, 0.0, 0.01));
}

}  // namespace
}  // namespace submarine::internal
