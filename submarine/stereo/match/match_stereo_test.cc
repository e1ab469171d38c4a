#include "submarine/stereo/match/match_stereo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "submarine/base/error.h"

namespace submarine {
namespace {

constexpr int kWidth = 100;
constexpr int kHeight = 64;
constexpr int kShift = 5;

// Noise moved by kShift.
struct Pair {
  Pair() : samples(2 * std::size_t{kWidth} * kHeight * 3) {
    std::mt19937 random(1);
    const std::size_t half = samples.size() / 2;
    for (std::size_t k = 0; k < half; ++k) samples[k] = static_cast<float>(random() % 256);
    for (std::size_t k = 0; k < half; ++k)
      samples[half + k] = samples[std::min(k + 3 * kShift, half - 1)];
    const std::span<const float> all(samples);
    left = {kWidth, kHeight, 3, all.first(half)};
    right = {kWidth, kHeight, 3, all.last(half)};
  }
  std::vector<float> samples;
  StereoView left;
  StereoView right;
};

TEST(MatchStereo, FindsTheShiftAndIsSureOfIt) {
  const Pair pair;
  const StereoMatch match = MatchStereo(pair.left, pair.right, {.disparities = 12});
  ASSERT_EQ(match.disparities.size(), std::size_t{kWidth} * kHeight);
  EXPECT_EQ(match.solved.labels.size(), match.disparities.size());
  int wrong = 0;
  double inside = 0.0;
  double border = 0.0;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const std::size_t a = static_cast<std::size_t>(y) * kWidth + x;
      wrong += std::abs(match.disparities[a] - kShift) > 0.5F ? 1 : 0;
      (x < kShift ? border : inside) += match.uncertainty[a];
      if (x < kShift) {
        EXPECT_EQ(match.occluded[a], 1) << x;
      }
    }
  }
  EXPECT_LT(wrong, 20);
  // Outside the right view nothing confirms it.
  EXPECT_GT(border / kShift, 5.0 * inside / (kWidth - kShift));
}

TEST(MatchStereo, IsFastWithoutTheCrf) {
  const Pair pair;
  const StereoMatch match = MatchStereo(pair.left, pair.right, {.fast = true});
  EXPECT_GT(match.num_disparities, kShift);
  EXPECT_TRUE(match.uncertainty.empty());
  EXPECT_FALSE(match.solved.usable());
  EXPECT_NEAR(match.disparities[50 * kWidth + 50], kShift, 0.5);
}

TEST(MatchStereo, AProofLeavesDisparitiesAsTheyAre) {
  const Pair pair;
  StereoMatchOptions options{.disparities = 8};
  const StereoMatch plain = MatchStereo(pair.left, pair.right, options);
  options.certify = Certify::kAuto;
  options.limits.max_iterations = 20;
  const StereoMatch proven = MatchStereo(pair.left, pair.right, options);
  EXPECT_EQ(proven.disparities, plain.disparities);
  EXPECT_EQ(proven.uncertainty, plain.uncertainty);
  ASSERT_TRUE(proven.solved.certificate.upper && proven.solved.certificate.lower);
  EXPECT_FALSE(plain.solved.certificate.upper);
}

TEST(MatchStereo, RefusesWhatDoesNotFit) {
  const Pair pair;
  EXPECT_THROW(MatchStereo(pair.left, pair.right, {.disparities = kWidth + 1}), InvalidInput);
  StereoMatchOptions options{.disparities = 12};
  options.limits.max_bytes = 100000;
  EXPECT_THROW(MatchStereo(pair.left, pair.right, options), TooLarge);
}

}  // namespace
}  // namespace submarine
