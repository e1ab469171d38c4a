#include "submarine/solve/sparse_choice.h"

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

std::string Refusal(Method method, const SparseSize& size, double temperature, double left) {
  try {
    RequireTime(method, size, temperature, left);
  } catch (const TooLarge& error) {
    return error.what();
  }
  return "";
}

TEST(SparseChoiceTest, TheTightestThatFitsIsChosen) {
  EXPECT_EQ(ChooseSparse(kLarge, 1.0, kInfinity), Method::kTrw);
  EXPECT_EQ(ChooseSparse(kTiny, 1.0, 0.0), Method::kTrw);
  EXPECT_EQ(ChooseSparse(kLarge, 1.0, 0.8), Method::kBlockFrankWolfe);
  EXPECT_EQ(ChooseSparse(kHuge, 1.0, 1.0), Method::kAuto) << "the unaries have to do";
  // All pairs of labels of an edge take longer than many iterations on its flows.
  EXPECT_EQ(ChooseSparse(kManyLabels, 1.0, 12.0), Method::kPdhg);
}

TEST(SparseChoiceTest, OnlyPdhgTakesTemperatureZero) {
  for (const double left : {0.0, 1.0, 5.0, 100.0, kInfinity}) {
    for (const SparseSize& size : {kTiny, kLarge, kHuge}) {
      const Method method = ChooseSparse(size, 0.0, left);
      EXPECT_TRUE(method == Method::kPdhg || method == Method::kAuto) << ToString(method);
    }
  }
  EXPECT_EQ(ChooseSparse(kLarge, 0.0, kInfinity), Method::kPdhg);
}

TEST(SparseChoiceTest, MoreTimeIsNeverRefusedMore) {
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

TEST(SparseChoiceTest, ARefusalSaysWhatWouldDo) {
  const std::string text = Refusal(Method::kTrw, kLarge, 1.0, 0.8);
  EXPECT_THAT(text, HasSubstr("a first bound by trw takes about"));
  EXPECT_THAT(text, HasSubstr("but 0.8 s are left of the time limit"));
  EXPECT_THAT(text, HasSubstr("bcfw, "));
  EXPECT_THAT(text, HasSubstr("auto, or allow"));
  EXPECT_THAT(Refusal(Method::kTrw, kHuge, 1.0, 0.0), HasSubstr("--method auto, or"));
  EXPECT_THAT(Refusal(Method::kPdhg, kLarge, 0.0, -1.0), Not(HasSubstr("bcfw")));
}

}  // namespace
}  // namespace submarine::internal
