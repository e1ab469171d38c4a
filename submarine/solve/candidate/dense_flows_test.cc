#include "submarine/solve/candidate/dense_flows.h"

#include <gtest/gtest.h>

namespace submarine::internal {
namespace {

TEST(DenseFlowsTest, StagesStallWhenTheGapHardlyFalls) {
  EXPECT_FALSE(Stalled(64, 1.0, 0.99)) << "never the first";
  EXPECT_TRUE(Stalled(2 * 64, 1.0, 0.95));
  EXPECT_FALSE(Stalled(2 * 64, 1.0, 0.5));
}

TEST(DenseFlowsTest, MeanFieldIsCalledWhereLabelsAreNear) {
  EXPECT_TRUE(MeanFieldMayHelp(101.0, -100.0));
  EXPECT_FALSE(MeanFieldMayHelp(110.0, -100.0));
}

}  // namespace
}  // namespace submarine::internal
