#include "submarine/stereo/match/match_stereo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/stereo/match/solve_stereo_crf.h"

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

// Strips differ from the whole by what kernels reach beyond 2 standard deviations, and by where the lattice's vertices
// are; and a proof leaves them as they are, too.
TEST(SolveStereoCrf, SolvesStripsAlike) {
  const Pair pair;
  const internal::SemiGlobalMatch match = internal::MatchSemiGlobal(pair.left, pair.right, 12, {});
  StereoCrfOptions crf;
  crf.sigma = 4.0;
  SolveOptions options = StereoSolveOptions(Certify::kNone, crf.updates);
  const SolveResult whole = SolveStereoCrf(match, pair.left, crf, options);
  const std::size_t strip = sizeof(float) * kWidth * 12 * 20;
  const SolveResult strips = SolveStereoCrf(match, pair.left, crf, options, {}, strip);
  EXPECT_EQ(strips.termination, whole.termination);
  EXPECT_EQ(strips.labels.size(), whole.labels.size());
  const auto& a = std::get<Matrix<float>>(whole.marginals);
  const auto& b = std::get<Matrix<float>>(strips.marginals);
  ASSERT_EQ(a.size(), b.size());
  double difference = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) difference += std::abs(a.data()[j] - b.data()[j]);
  EXPECT_LT(difference / static_cast<double>(a.size()), 0.001);
  options = StereoSolveOptions(Certify::kAuto, crf.updates);
  options.limits.max_iterations = 10;
  const SolveResult proven = SolveStereoCrf(match, pair.left, crf, options, {}, strip);
  EXPECT_TRUE(proven.certificate.upper);
  EXPECT_EQ(std::get<Matrix<float>>(proven.marginals), b);
}

// Where the whole is refused, strips are proven, and the same labels come with that.
TEST(SolveStereoCrf, ProvesInStripsWhatDoesNotFit) {
  const Pair pair;
  const internal::SemiGlobalMatch match = internal::MatchSemiGlobal(pair.left, pair.right, 12, {});
  const StereoCrfOptions crf;
  SolveOptions options = StereoSolveOptions(Certify::kAuto, crf.updates);
  options.limits.max_iterations = 5;
  options.limits.max_bytes = std::size_t{1} << 28;
  std::vector<GaussianKernel> kernels = StereoKernels(pair.left, crf);
  kernels.front().normalisation = KernelNormalisation::kNone;
  const auto fits = [&] {
    try {
      RequireFits(kernels, match.sums.cells.rows(), StereoLabels(12, crf), options);
      return true;
    } catch (const TooLarge&) {
      return false;
    }
  };
  while (fits()) options.limits.max_bytes -= options.limits.max_bytes / 10;
  const SolveResult proven = SolveStereoCrf(match, pair.left, crf, options);
  ASSERT_TRUE(proven.certificate.lower && proven.certificate.upper);
  EXPECT_LT(*proven.certificate.lower, *proven.certificate.upper);
  EXPECT_TRUE(std::any_of(proven.notes.begin(), proven.notes.end(), [](const std::string& note) {
    return note.find("strips of") != std::string::npos;
  }));
  SolveOptions plain = StereoSolveOptions(Certify::kNone, crf.updates);
  const SolveResult updates = SolveStereoCrf(match, pair.left, crf, plain);
  EXPECT_EQ(proven.labels, updates.labels);
  EXPECT_EQ(proven.updates, crf.updates);
  // What only the whole can be asked for is refused as ever.
  options.dense.certify = Certify::kOperator;
  EXPECT_THROW(SolveStereoCrf(match, pair.left, crf, options), TooLarge);
}

TEST(MatchStereo, TakesCostsAndRanges) {
  const Pair pair;
  const std::size_t pixels = std::size_t{kWidth} * kHeight;
  // Other disparities than the views': those that costs know.
  std::vector<float> costs;
  for (std::size_t a = 0; a < pixels; ++a) {
    for (int k = 0; k < 9; ++k) costs.push_back(static_cast<float>(std::min(std::abs(k - 3), 2)));
  }
  for (const bool fast : {false, true}) {
    const StereoMatch match =
        MatchStereo(pair.left, pair.right, {.given = {.costs = costs}, .fast = fast});
    EXPECT_EQ(match.num_disparities, 9);
    for (const float d : match.disparities) ASSERT_NEAR(d, 3.0F, 0.5F);
    const std::vector<float> low(pixels, 6.0F);
    const std::vector<float> high(pixels, 7.5F);
    const StereoMatch ranged =
        MatchStereo(pair.left, pair.right, {.given = {{}, low, high}, .fast = fast});
    EXPECT_EQ(ranged.num_disparities, 9);
    for (const float d : ranged.disparities) ASSERT_TRUE(d >= 6.0F && d <= 7.5F) << d;
  }
  EXPECT_THROW(MatchStereo(pair.left, pair.right,
                           {.given = {.costs = std::span<const float>(costs).first(77)}}),
               InvalidInput);
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
