#include "submarine/stereo/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "submarine/base/error_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using testing::ExpectInvalid;
using ::testing::Pointwise;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Random(std::size_t size, double low, double high, std::mt19937_64& random) {
  std::vector<float> values(size);
  for (float& v : values) {
    v = static_cast<float>(std::uniform_real_distribution<double>(low, high)(random));
  }
  return values;
}

// Estimates around the truth, a quarter of which is unknown, and uncertainties with many ties that
// say something about the errors.
struct Sample {
  std::vector<float> estimate, truth, uncertainty;

  Sample(std::size_t size, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    truth = Random(size, 0.0, 60.0, random);
    estimate = Random(size, -3.0, 3.0, random);
    uncertainty = Random(size, 0.0, 4.0, random);
    for (std::size_t a = 0; a < size; ++a) {
      uncertainty[a] = std::floor(2.0F * (uncertainty[a] + std::abs(estimate[a])));
      estimate[a] += truth[a];
      if (random() % 4 == 0) truth[a] = kNaN;
    }
  }
};

TEST(CompareDisparities, CountsErrorsStrictlyAboveTheThresholds) {
  const std::vector<float> truth = {10, 10, 10, 10, 10, 10, kNaN, 10};
  const std::vector<float> estimate = {10, 10.5F, 9, 11.25F, 8, 13, kNaN, 9.25F};
  const DisparityErrors errors = CompareDisparities(estimate, truth);
  EXPECT_EQ(errors.pixels, 7);
  EXPECT_EQ(errors.bad_half, 5.0 / 7.0);
  EXPECT_EQ(errors.bad_one, 3.0 / 7.0);
  EXPECT_EQ(errors.bad_two, 1.0 / 7.0);
  EXPECT_DOUBLE_EQ(errors.mean_absolute, (0.5 + 1 + 1.25 + 2 + 3 + 0.75) / 7.0);
}

TEST(CompareDisparities, LooksOnlyInsideTheMask) {
  const std::vector<float> truth = {1, 2, kNaN, 4, kInfinity};
  const std::vector<float> estimate = {1, kNaN, 3, 5.5F, 0};
  const std::vector<std::uint8_t> mask = {255, 0, 1, 1, 0};
  const DisparityErrors errors = CompareDisparities(estimate, truth, mask);
  EXPECT_EQ(errors.pixels, 2);
  EXPECT_EQ(errors.bad_half, 0.5);
  EXPECT_EQ(errors.bad_one, 0.5);
  EXPECT_EQ(errors.bad_two, 0.0);
  EXPECT_EQ(errors.mean_absolute, 0.75);
}

TEST(Sparsify, EqualsWhatTheHandComputes) {
  // Errors 0, 3, 0, 5: two of four are bad. Taking away the most uncertain first: pixel 1 (bad),
  // pixel 2 (good), pixel 3 (bad), pixel 0.
  const std::vector<float> truth = {7, 7, 7, 7};
  const std::vector<float> estimate = {7, 4, 7, 12};
  const std::vector<float> uncertainty = {0.1F, 0.9F, 0.8F, 0.4F};
  const Sparsification result = Sparsify(estimate, truth, uncertainty, {}, 1.0, 4);
  EXPECT_THAT(result.removed, ElementsAre(0.0, 0.25, 0.5, 0.75));
  EXPECT_THAT(result.by_uncertainty,
              ElementsAre(DoubleEq(0.5), DoubleEq(1.0 / 3.0), DoubleEq(0.5), DoubleEq(0.0)));
  EXPECT_THAT(result.oracle,
              ElementsAre(DoubleEq(0.5), DoubleEq(1.0 / 3.0), DoubleEq(0.0), DoubleEq(0.0)));
  EXPECT_DOUBLE_EQ(result.area, 0.25 * (0.25 + 1.0 / 3.0 + 0.5 + 0.0));
  EXPECT_DOUBLE_EQ(result.oracle_area, 0.25 * (0.25 + 1.0 / 3.0));
  EXPECT_DOUBLE_EQ(result.random_area, 0.5 * 0.75);
}

TEST(Sparsify, ThresholdAndMaskDecideWhatIsBad) {
  const std::vector<float> truth = {7, 7, kNaN, 7};
  const std::vector<float> estimate = {7, 8, kNaN, 12};
  const std::vector<float> uncertainty = {1, 2, kNaN, kNaN};
  const std::vector<std::uint8_t> mask = {1, 1, 1, 0};
  EXPECT_THAT(Sparsify(estimate, truth, uncertainty, mask, 1.0, 2).by_uncertainty,
              ElementsAre(0.0, 0.0));
  EXPECT_THAT(Sparsify(estimate, truth, uncertainty, mask, 0.5, 2).by_uncertainty,
              ElementsAre(0.5, 0.0));
}

TEST(Sparsify, TakesTheExpectationOverTies) {
  // Pixels 1, 2, 3 tie and two of them are bad. With 2 of 4 left, one of the three stays: bad with
  // probability 2/3, one of two pixels. With 3 left, 4/3 of three.
  const std::vector<float> truth = {0, 0, 0, 0};
  const std::vector<float> estimate = {0, 9, 9, 0};
  const std::vector<float> uncertainty = {0, 5, 5, 5};
  EXPECT_THAT(Sparsify(estimate, truth, uncertainty, {}, 1.0, 4).by_uncertainty,
              ElementsAre(DoubleEq(0.5), DoubleEq(4.0 / 9.0), DoubleEq(1.0 / 3.0), DoubleEq(0.0)));
}

TEST(Sparsify, ConstantUncertaintyGivesExactlyTheFlatLine) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Sample sample(50 + 13 * seed, seed);
    std::fill(sample.uncertainty.begin(), sample.uncertainty.end(), 0.7F);
    const Sparsification result = Sparsify(sample.estimate, sample.truth, sample.uncertainty);
    ASSERT_EQ(result.by_uncertainty.size(), 20u);
    const double bad = CompareDisparities(sample.estimate, sample.truth).bad_one;
    for (const double share : result.by_uncertainty) EXPECT_EQ(share, bad);
    EXPECT_NEAR(result.area, result.random_area, 1e-14);
  }
}

TEST(Sparsify, EqualsTheMeanOverRandomOrdersOfTies) {
  // 40 known pixels in 20 steps: whole numbers of pixels are taken away at every step.
  Sample sample(40, 3);
  for (float& d : sample.truth) d = std::isnan(d) ? 20.0F : d;
  const Sparsification result = Sparsify(sample.estimate, sample.truth, sample.uncertainty);
  std::mt19937_64 random(4);
  constexpr int kOrders = 20000;
  std::vector<double> mean(20);
  std::vector<std::size_t> order(40);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int repeat = 0; repeat < kOrders; ++repeat) {
    std::shuffle(order.begin(), order.end(), random);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return sample.uncertainty[a] < sample.uncertainty[b];
    });
    double bad = 0.0;
    for (std::size_t n = 1; n <= 40; ++n) {
      const std::size_t a = order[n - 1];
      bad += std::abs(sample.estimate[a] - sample.truth[a]) > 1.0F ? 1.0 : 0.0;
      if (n % 2 == 0) mean[20 - n / 2] += bad / static_cast<double>(n) / kOrders;
    }
  }
  // Five standard errors of a mean of numbers in [0,1].
  EXPECT_THAT(result.by_uncertainty,
              Pointwise(::testing::DoubleNear(5.0 * 0.5 / std::sqrt(kOrders)), mean));
}

TEST(Sparsify, NoOrderBeatsTheOracle) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Sample sample(20 + 11 * seed, seed);
    const Sparsification result = Sparsify(sample.estimate, sample.truth, sample.uncertainty);
    const double bad = CompareDisparities(sample.estimate, sample.truth).bad_one;
    EXPECT_EQ(result.removed.back(), 0.95);
    EXPECT_DOUBLE_EQ(result.by_uncertainty.front(), bad);
    for (std::size_t k = 0; k < 20; ++k) {
      EXPECT_LE(result.oracle[k], result.by_uncertainty[k] + 1e-14);
      EXPECT_NEAR(result.oracle[k],
                  std::max(0.0, bad - result.removed[k]) / (1.0 - result.removed[k]), 1e-14);
    }
    EXPECT_LE(result.oracle_area, result.area);
    EXPECT_DOUBLE_EQ(result.random_area, 0.95 * bad);
  }
}

TEST(Sparsify, TheErrorItselfIsThePerfectUncertainty) {
  Sample sample(500, 8);
  for (std::size_t a = 0; a < 500; ++a) {
    sample.uncertainty[a] = 10.0F * std::abs(sample.estimate[a] - sample.truth[a]);
    if (std::isnan(sample.truth[a])) sample.uncertainty[a] = kNaN;  // not looked at
  }
  const Sparsification result = Sparsify(sample.estimate, sample.truth, sample.uncertainty);
  EXPECT_THAT(result.by_uncertainty, Pointwise(DoubleEq(), result.oracle));
  EXPECT_DOUBLE_EQ(result.area, result.oracle_area);
  EXPECT_LT(result.area, 0.7 * result.random_area);
}

TEST(Calibrate, EqualsWhatTheHandComputes) {
  // Labels 0..3; binary fractions, so that sums are exact.
  const float rows[5][4] = {{0.5F, 0.25F, 0.125F, 0.125F},   // at 0.5: 0 and 1, 0.75, a hit
                            {0.0F, 0.5F, 0.25F, 0.25F},      // at 2: 1 to 3, 1, a miss
                            {0.75F, 0.125F, 0.125F, 0.0F},   // at 2.25: 2 and 3, 0.125, a hit
                            {0.25F, 0.25F, 0.25F, 0.25F},    // at 0: 0 and 1, 0.5, unknown
                            {0.5F, 0.25F, 0.125F, 0.125F}};  // at 0.75: 0.75, a miss
  Matrix<float> marginals(5, 4);
  for (std::size_t a = 0; a < 5; ++a) {
    std::copy(std::begin(rows[a]), std::end(rows[a]), marginals.row(a).begin());
  }
  const std::vector<float> estimate = {0.5F, 2.0F, 2.25F, 0.0F, 0.75F};
  const std::vector<float> truth = {1.5F, 3.5F, 2.0F, kNaN, 2.0F};
  const Calibration result = Calibrate(marginals, estimate, truth);
  EXPECT_THAT(result.confidence, ElementsAre(0.125, 0.75, 1.0));
  EXPECT_THAT(result.frequency, ElementsAre(1.0, 0.5, 0.0));
  EXPECT_THAT(result.count, ElementsAre(1, 2, 1));
  EXPECT_DOUBLE_EQ(result.expected_error, (0.875 + 2.0 * 0.25 + 1.0) / 4.0);

  const std::vector<std::uint8_t> mask = {1, 0, 0, 1, 0};
  EXPECT_THAT(Calibrate(marginals, estimate, truth, mask).count, ElementsAre(1));

  const Calibration one = Calibrate(marginals, estimate, truth, {}, 1);
  EXPECT_THAT(one.confidence, ElementsAre(2.625 / 4.0));
  EXPECT_THAT(one.frequency, ElementsAre(0.5));
  EXPECT_DOUBLE_EQ(one.expected_error, 0.15625);
}

struct MarginalSample {
  static constexpr std::size_t kLabels = 12;
  Matrix<float> marginals;
  std::vector<float> estimate, truth;

  // Sharp and flat rows; estimates at random labels or between them.
  MarginalSample(std::size_t size, std::uint64_t seed) : marginals(size, kLabels) {
    std::mt19937_64 random(seed);
    estimate = Random(size, 0.0, kLabels - 1.0, random);
    truth = Random(size, 0.0, kLabels - 1.0, random);
    for (std::size_t a = 0; a < size; ++a) {
      if (a % 2 == 0) estimate[a] = std::round(estimate[a]);
      if (random() % 5 == 0) truth[a] = kNaN;
      const std::vector<float> cost = Random(kLabels, 0.0, static_cast<double>(a % 20), random);
      double sum = 0.0;
      for (std::size_t l = 0; l < kLabels; ++l) sum += std::exp(-cost[l]);
      for (std::size_t l = 0; l < kLabels; ++l) {
        marginals(a, l) = static_cast<float>(std::exp(-cost[l]) / sum);
      }
    }
  }
};

TEST(Calibrate, EqualsASlowTwin) {
  for (const int bins : {1, 7, 10, 20}) {
    const MarginalSample sample(600, 40 + static_cast<std::uint64_t>(bins));
    const Calibration result = Calibrate(sample.marginals, sample.estimate, sample.truth, {}, bins);
    std::map<int, std::vector<std::pair<double, bool>>> by_bin;
    double pixels = 0.0;
    for (std::size_t a = 0; a < 600; ++a) {
      if (std::isnan(sample.truth[a])) continue;
      const int first = std::max(0, static_cast<int>(std::ceil(sample.estimate[a] - 1.0)));
      const int last = std::min(11, static_cast<int>(std::floor(sample.estimate[a] + 1.0)));
      double mass = 0.0;
      for (int l = first; l <= last; ++l) mass += sample.marginals(a, l);
      int bin = 0;
      while (bin + 1 < bins && mass >= (bin + 1.0) / bins) ++bin;
      by_bin[bin].emplace_back(mass, std::abs(sample.estimate[a] - sample.truth[a]) <= 1.0F);
      pixels += 1.0;
    }
    ASSERT_EQ(result.count.size(), by_bin.size());
    double expected_error = 0.0;
    std::size_t k = 0;
    for (const auto& [bin, members] : by_bin) {
      double mass = 0.0;
      double hits = 0.0;
      for (const auto& [confidence, hit] : members) {
        mass += confidence;
        hits += hit ? 1.0 : 0.0;
      }
      const auto count = static_cast<double>(members.size());
      EXPECT_EQ(result.count[k], static_cast<std::int64_t>(members.size()));
      EXPECT_NEAR(result.confidence[k], mass / count, 1e-12);
      EXPECT_NEAR(result.frequency[k], hits / count, 1e-12);
      expected_error += std::abs(mass - hits) / pixels;
      ++k;
    }
    EXPECT_NEAR(result.expected_error, expected_error, 1e-12);
  }
}

TEST(Calibrate, MarginalsThatTellTheTruthHaveLittleError) {
  // The truth is drawn from the marginals themselves.
  constexpr std::size_t kPixels = 20000;
  MarginalSample sample(kPixels, 9);
  std::mt19937_64 random(10);
  for (std::size_t a = 0; a < kPixels; ++a) {
    const std::span<const float> row = sample.marginals.row(a);
    std::discrete_distribution<int> draw(row.begin(), row.end());
    sample.truth[a] = static_cast<float>(draw(random));
  }
  const Calibration honest = Calibrate(sample.marginals, sample.estimate, sample.truth);
  EXPECT_LT(honest.expected_error, 0.02);
  // The same estimates under marginals that are certain of them.
  for (std::size_t a = 0; a < kPixels; ++a) {
    std::fill(sample.marginals.row(a).begin(), sample.marginals.row(a).end(), 0.0F);
    sample.marginals(a, static_cast<std::size_t>(sample.estimate[a])) = 1.0F;
  }
  EXPECT_GT(Calibrate(sample.marginals, sample.estimate, sample.truth).expected_error, 0.3);
}

TEST(Evaluation, DoesNotDependOnTheOrderOfThePixels) {
  constexpr std::size_t kPixels = 400;
  const Sample sample(kPixels, 21);
  const MarginalSample marginal_sample(kPixels, 22);
  std::vector<std::size_t> order(kPixels);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(23));
  Sample shuffled = sample;
  MarginalSample shuffled_marginals = marginal_sample;
  for (std::size_t a = 0; a < kPixels; ++a) {
    shuffled.estimate[a] = sample.estimate[order[a]];
    shuffled.truth[a] = sample.truth[order[a]];
    shuffled.uncertainty[a] = sample.uncertainty[order[a]];
    shuffled_marginals.estimate[a] = marginal_sample.estimate[order[a]];
    shuffled_marginals.truth[a] = marginal_sample.truth[order[a]];
    std::ranges::copy(marginal_sample.marginals.row(order[a]),
                      shuffled_marginals.marginals.row(a).begin());
  }
  const DisparityErrors errors = CompareDisparities(sample.estimate, sample.truth);
  const DisparityErrors same = CompareDisparities(shuffled.estimate, shuffled.truth);
  EXPECT_EQ(errors.bad_half, same.bad_half);
  EXPECT_EQ(errors.bad_two, same.bad_two);
  EXPECT_DOUBLE_EQ(errors.mean_absolute, same.mean_absolute);

  const Sparsification curve = Sparsify(sample.estimate, sample.truth, sample.uncertainty);
  const Sparsification same_curve =
      Sparsify(shuffled.estimate, shuffled.truth, shuffled.uncertainty);
  EXPECT_EQ(curve.by_uncertainty, same_curve.by_uncertainty);
  EXPECT_EQ(curve.oracle, same_curve.oracle);

  const Calibration calibration =
      Calibrate(marginal_sample.marginals, marginal_sample.estimate, marginal_sample.truth);
  const Calibration same_calibration = Calibrate(
      shuffled_marginals.marginals, shuffled_marginals.estimate, shuffled_marginals.truth);
  EXPECT_EQ(calibration.count, same_calibration.count);
  EXPECT_EQ(calibration.frequency, same_calibration.frequency);
  EXPECT_THAT(calibration.confidence, Pointwise(DoubleEq(), same_calibration.confidence));
}

TEST(Evaluation, BadSizesAreNamed) {
  const std::vector<float> three(3, 1.0F);
  const std::vector<float> four(4, 1.0F);
  const std::vector<std::uint8_t> mask(4, 1);
  ExpectInvalid([&] { CompareDisparities(four, three); }, "the estimate has 4 pixels, the truth");
  ExpectInvalid([&] { CompareDisparities(three, three, mask); }, "the mask has 4 pixels");
  ExpectInvalid([&] { Sparsify(three, three, four); }, "the uncertainty has 4 pixels");
  ExpectInvalid([&] { Sparsify(three, three, three, {}, 1.0, 0); }, "steps is 0");
  ExpectInvalid([&] { Sparsify(three, three, three, {}, 1.0, 10001); }, "steps is 10001");
  ExpectInvalid([&] { Sparsify(three, three, three, {}, -1.0); }, "threshold is -1");
  ExpectInvalid([&] { Sparsify(three, three, three, {}, std::nan("")); }, "threshold is nan");
  ExpectInvalid([&] { Calibrate(Matrix<float>(4, 2, 0.5F), three, three); },
                "the matrix of marginals has 4 pixels");
  ExpectInvalid([&] { Calibrate(Matrix<float>(3, 2, 0.5F), three, three, {}, -1); }, "bins is -1");
}

TEST(Evaluation, BadValuesAreNamed) {
  const std::vector<float> good = {1, 2, 3};
  const std::vector<float> unknown(3, kNaN);
  const std::vector<std::uint8_t> nothing(3, 0);
  ExpectInvalid([&] { CompareDisparities(good, unknown); }, "none of the 3 pixels");
  ExpectInvalid([&] { CompareDisparities(good, good, nothing); }, "inside the mask");
  ExpectInvalid([&] { CompareDisparities({}, {}); }, "none of the 0 pixels");
  for (const float bad : {kNaN, kInfinity, -kInfinity}) {
    const std::vector<float> values = {1, 2, bad};
    ExpectInvalid([&] { CompareDisparities(values, good); }, "the estimate of pixel 2 is");
    ExpectInvalid([&] { Sparsify(good, good, values); }, "the uncertainty of pixel 2 is");
    if (std::isinf(bad)) {
      ExpectInvalid([&] { CompareDisparities(good, values); }, "true disparity of pixel 2 is");
    }
    Matrix<float> marginals(3, 2, 0.5F);
    marginals(1, 1) = bad;
    ExpectInvalid([&] { Calibrate(marginals, good, good); }, "the marginal of pixel 1, label 1 is");
  }
  Matrix<float> marginals(3, 2, 0.5F);
  marginals(2, 0) = -0.25F;
  ExpectInvalid([&] { Calibrate(marginals, good, good); }, "pixel 2, label 0 is -0.25");
  marginals(2, 0) = 0.25F;
  ExpectInvalid([&] { Calibrate(marginals, good, good); }, "pixel 2 sum to 0.75, expected 1");
  ExpectInvalid([&] { Calibrate(Matrix<float>(3, 0), good, good); }, "pixel 0 sum to 0");
}

}  // namespace
}  // namespace submarine::internal
