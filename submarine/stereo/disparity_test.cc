#include "submarine/stereo/disparity.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

TEST(RefinedDisparities, TakesTheMeanAroundTheLabel) {
  Matrix<float> marginals(4, 5);
  const float rows[4][5] = {{0.0F, 0.2F, 0.6F, 0.2F, 0.0F},
                            {0.0F, 0.0F, 0.5F, 0.25F, 0.25F},
                            {0.5F, 0.3F, 0.0F, 0.0F, 0.2F},
                            {0.0F, 0.0F, 0.0F, 0.0F, 1.0F}};
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t i = 0; i < 5; ++i) marginals(a, i) = rows[a][i];
  }
  const std::vector<int> labels = {2, 3, 0, 1};
  const std::vector<float> refined = RefinedDisparities(marginals, labels);
  EXPECT_FLOAT_EQ(refined[0], 2.0F);
  EXPECT_FLOAT_EQ(refined[1], 2.75F);   // all of it is around 3
  EXPECT_FLOAT_EQ(refined[2], 0.375F);  // labels 0 and 1 only
  EXPECT_FLOAT_EQ(refined[3], 1.0F);    // no mass there
}

TEST(RefinedDisparities, RefusesBadInput) {
  const Matrix<float> marginals(2, 3, 1.0F / 3.0F);
  EXPECT_THROW(RefinedDisparities(marginals, std::vector<int>{0}), InvalidInput);
  EXPECT_THROW(RefinedDisparities(marginals, std::vector<int>{0, 3}), InvalidInput);
  EXPECT_THROW(RefinedDisparities(marginals, std::vector<int>{-1, 0}), InvalidInput);
}

TEST(GuessDisparities, StaysWithinTheViews) {
  for (const auto& [width, height] : {std::pair(2, 1), {3, 3}, {10, 1}, {30, 2}, {700, 3}}) {
    const std::vector<float> view(static_cast<std::size_t>(width * height), 7.0F);
    const int guess = GuessDisparities({width, height, 1, view}, {width, height, 1, view});
    EXPECT_GE(guess, 2) << width;
    EXPECT_LE(guess, width) << width;
  }
}

}  // namespace
}  // namespace submarine::internal
