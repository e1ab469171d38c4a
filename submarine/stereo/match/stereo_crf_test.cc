#include "submarine/stereo/match/stereo_crf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "submarine/base/error.h"

namespace submarine {
namespace {

internal::SemiGlobalMatch SmallMatch() {
  internal::SemiGlobalMatch match;
  match.sums = internal::CostVolume(4, 2, 5);
  std::mt19937 random(1);
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t k = 0; k < match.sums.stride(); ++k) {
      match.sums.cells(a, k) =
          k < 5 ? static_cast<std::uint16_t>(random() % 40000) : internal::kPaddingCost;
    }
  }
  match.agrees = {1, 0, 1, 1, 0, 1, 1, 1};
  match.visible = {1, 1, 1, 1, 0, 1, 1, 1};
  match.disparities = {0.0F, 1.4F, 2.0F, 3.0F, 3.6F, 0.0F, 1.0F, 2.0F};
  return match;
}

TEST(StereoCrf, HasTheUnariesOfItsFormula) {
  const internal::SemiGlobalMatch match = SmallMatch();
  const std::vector<float> grey = {1, 2, 3, 4, 5, 6, 7, 8};
  const StereoView left{4, 2, 1, grey};
  const StereoCrfOptions options;
  const DenseCrf model = StereoCrf(match, StereoKernels(left, options), options);
  for (std::size_t a = 0; a < 8; ++a) {
    const auto sums = match.sums.cells.row(a).first(5);
    const int least = *std::min_element(sums.begin(), sums.end());
    for (std::size_t k = 0; k < 5; ++k) {
      const double expected =
          a == 4 ? std::min(options.filled_scale * std::abs(static_cast<double>(k) - 4.0),
                            options.filled_limit)
                 : std::min(options.scale * (sums[k] - least) / internal::kCostUnit, options.limit);
      EXPECT_NEAR(model.unary()(a, k), expected, 1e-5) << a << ", " << k;
    }
  }
}

TEST(StereoDisparities, AreLabelsOnlyWhereTheViewsAgree) {
  internal::SemiGlobalMatch match = SmallMatch();
  match.sums = internal::CostVolume(1, 1, 5);
  match.sums.cells = Matrix<std::uint16_t>(1, match.sums.stride(), 9);
  match.disparities = {1.4F};
  match.agrees = {0};
  Matrix<float> marginals(1, 5, 0.1F);
  marginals(0, 3) = 0.6F;
  EXPECT_EQ(StereoDisparities(match, marginals), std::vector<float>{1.4F});
  match.agrees = {1};
  EXPECT_EQ(StereoDisparities(match, marginals), std::vector<float>{3.0F});
}

TEST(StereoUncertainty, IsTheMassFurtherThanAPixel) {
  Matrix<float> marginals(3, 4);
  const std::vector<float> rows = {0.1F, 0.2F, 0.3F, 0.4F, 0.1F, 0.2F,
                                   0.3F, 0.4F, 0.7F, 0.1F, 0.1F, 0.1F};
  std::copy(rows.begin(), rows.end(), marginals.data());
  const std::vector<float> uncertainty =
      StereoUncertainty(marginals, std::vector<float>{1.5F, 2.0F, 0.0F});
  EXPECT_NEAR(uncertainty[0], 0.5, 1e-6);
  EXPECT_NEAR(uncertainty[1], 0.1, 1e-6);
  EXPECT_NEAR(uncertainty[2], 0.2, 1e-6);
  EXPECT_THROW(StereoUncertainty(marginals, std::vector<float>{1.0F}), InvalidInput);
}

TEST(StereoIntervals, LeaveOutTheTails) {
  Matrix<float> marginals(2, 5);
  const std::vector<float> rows = {0.04F, 0.2F, 0.7F, 0.03F, 0.03F, 0.0F, 0.0F, 1.0F, 0.0F, 0.0F};
  std::copy(rows.begin(), rows.end(), marginals.data());
  const DisparityIntervals intervals =
      StereoIntervals(marginals, std::vector<float>{2.2F, 3.0F}, 0.9);
  EXPECT_EQ(intervals.low, (std::vector<float>{0.5F, 1.5F}));
  // 3% and 3% are more than 5%; and the estimate is always inside.
  EXPECT_EQ(intervals.high, (std::vector<float>{3.5F, 3.0F}));
}

}  // namespace
}  // namespace submarine
