#include "submarine/segmentation/evaluation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "submarine/base/error_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::ElementsAre;
using testing::ExpectInvalid;

constexpr int kNo = kUnknownLabel;

TEST(ScoreLabels, CountsByHand) {
  // Label 2 is nowhere, label 3 only in the prediction.
  const std::vector<int> truth = {0, 0, 0, 1, 1, kNo, 1};
  const std::vector<int> labels = {0, 0, 1, 1, 3, 2, 1};
  const LabelScores scores = ScoreLabels(CountLabels(truth, labels, 4));
  EXPECT_EQ(scores.pixels, 6);
  EXPECT_DOUBLE_EQ(scores.accuracy, 4.0 / 6.0);
  ASSERT_EQ(scores.iou.size(), 4u);
  EXPECT_DOUBLE_EQ(scores.iou[0], 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(scores.iou[1], 2.0 / 4.0);
  // As the field counts it: a few stray pixels of a class that is not there cost those of the others.
  EXPECT_TRUE(std::isnan(scores.iou[2]));
  EXPECT_TRUE(std::isnan(scores.iou[3]));
  EXPECT_DOUBLE_EQ(scores.mean_iou, (2.0 / 3.0 + 0.5) / 2.0);
}

// Of a data set, counts are summed first: 18 of 20 and 0 of 2 right are 18 of 22, not 45%.
TEST(ScoreLabels, OfSeveralPicturesAreOfTheirSums) {
  LabelCounts all;
  all +=
      CountLabels(std::vector<int>(20, 1),
                  std::vector<int>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0}, 2);
  all += CountLabels(std::vector<int>{1, 1}, std::vector<int>{0, 0}, 2);
  EXPECT_DOUBLE_EQ(ScoreLabels(all).mean_iou, 18.0 / 22.0);
  EXPECT_DOUBLE_EQ(ScoreLabels(all).accuracy, 18.0 / 22.0);
}

TEST(ScoreLabels, OfPerfectLabelsIsOne) {
  const std::vector<int> truth = {2, 0, 1, 1, kNo};
  const LabelScores scores = ScoreLabels(CountLabels(truth, std::vector<int>{2, 0, 1, 1, 0}, 3));
  EXPECT_EQ(scores.accuracy, 1.0);
  EXPECT_EQ(scores.mean_iou, 1.0);
}

TEST(CountLabels, LeavesOutWhatTheMaskLeavesOut) {
  const std::vector<int> truth = {0, 1, 1, 0};
  const std::vector<int> labels = {0, 0, 1, 1};
  const LabelCounts counts = CountLabels(truth, labels, 2, std::vector<std::uint8_t>{1, 1, 0, 0});
  EXPECT_THAT(counts.truth, ElementsAre(1, 1));
  EXPECT_THAT(counts.given, ElementsAre(2, 0));
  EXPECT_THAT(counts.right, ElementsAre(1, 0));
}

TEST(CountLabels, RefusesWhatDoesNotFit) {
  const std::vector<int> truth = {0, 1};
  ExpectInvalid([&] { CountLabels(truth, std::vector<int>{0}, 2); },
                "the labeling has 1 pixels, the truth has 2");
  ExpectInvalid([&] { CountLabels(truth, truth, 2, std::vector<std::uint8_t>{1}); },
                "the mask has 1 pixels");
  ExpectInvalid(
      [&] {
        CountLabels(truth, std::vector<int>{0, 2}, 2);
      },
      "the label of pixel 1 is 2, expected 0 to 1");
  ExpectInvalid(
      [&] {
        CountLabels(std::vector<int>{0, 5}, truth, 2);
      },
      "the true label of pixel 1 is 5");
  ExpectInvalid([&] { CountLabels(truth, truth, 0); }, "0 labels");
  ExpectInvalid(
      [&] {
        ScoreLabels(CountLabels(std::vector<int>{kNo, kNo}, truth, 2));
      },
      "has a known true label");
}

TEST(BoundaryBand, IsBothSidesOfAnEdge) {
  const std::vector<int> truth = {0, 0, 0, 1, 1, 1, 1};
  EXPECT_THAT(BoundaryBand(truth, 7, 1, 1), ElementsAre(0, 0, 1, 1, 0, 0, 0));
  EXPECT_THAT(BoundaryBand(truth, 7, 1, 2), ElementsAre(0, 1, 1, 1, 1, 0, 0));
  EXPECT_THAT(BoundaryBand(std::vector<int>(7, 3), 7, 1, 3), ElementsAre(0, 0, 0, 0, 0, 0, 0));
}

// By the definition, pixel by pixel.
TEST(BoundaryBand, AgreesWithItsDefinition) {
  std::mt19937_64 random(3);
  const int width = 23;
  const int height = 17;
  std::vector<int> truth(static_cast<std::size_t>(width * height));
  for (std::size_t a = 0; a < truth.size(); ++a)
    truth[a] = random() % 40 == 0 ? kNo : (a % width < 11 ? 0 : 1);
  for (const int radius : {1, 3, 6}) {
    const std::vector<std::uint8_t> band = BoundaryBand(truth, width, height, radius);
    for (int p = 0; p < width * height; ++p) {
      bool near = false;
      for (int q = 0; q < width * height; ++q) {
        const int dx = p % width - q % width;
        const int dy = p / width - q / width;
        near = near || (dx * dx + dy * dy <= radius * radius &&
                        truth[static_cast<std::size_t>(p)] != truth[static_cast<std::size_t>(q)]);
      }
      EXPECT_EQ(band[static_cast<std::size_t>(p)], near ? 1 : 0) << p << " radius " << radius;
    }
  }
}

TEST(BoundaryBand, RefusesWhatDoesNotFit) {
  const std::vector<int> truth(6);
  ExpectInvalid([&] { BoundaryBand(truth, 4, 2, 1); }, "6 pixels, expected 4 x 2");
  ExpectInvalid([&] { BoundaryBand(truth, 3, 2, 0); }, "radius of the band is 0");
  ExpectInvalid([&] { BoundaryBand(truth, 3, 2, 51); }, "expected 1 to 50");
}

// By the definition, square by square.
TEST(ThinParts, AgreeWithTheirDefinition) {
  std::mt19937_64 random(4);
  const int width = 31;
  const int height = 19;
  std::vector<int> truth(static_cast<std::size_t>(width * height));
  for (int a = 0; a < width * height; ++a) {
    const int x = a % width;
    const int y = a / width;
    truth[static_cast<std::size_t>(a)] = random() % 60 == 0
                                             ? (random() % 2 == 0 ? kNo : 2)
                                             : (x < 9 || y == 12 || x - y == 5 ? 0 : 1);
  }
  for (const int radius : {1, 2, 4}) {
    const std::vector<std::uint8_t> thin = ThinParts(truth, width, height, radius);
    std::vector<std::uint8_t> expected(truth.size());
    for (std::size_t a = 0; a < truth.size(); ++a) expected[a] = truth[a] != kNo ? 1 : 0;
    for (int q = 0; q < width * height; ++q) {
      std::vector<std::size_t> square;
      for (int p = 0; p < width * height; ++p) {
        if (std::max(std::abs(p % width - q % width), std::abs(p / width - q / width)) <= radius)
          square.push_back(static_cast<std::size_t>(p));
      }
      const int label = truth[square.front()];
      if (label != kNo &&
          std::all_of(square.begin(), square.end(), [&](auto p) { return truth[p] == label; })) {
        for (const std::size_t p : square) expected[p] = 0;
      }
    }
    EXPECT_EQ(thin, expected) << "radius " << radius;
    EXPECT_GT(std::count(thin.begin(), thin.end(), 1), 20);
  }
  EXPECT_EQ(ThinRadius(500, 375), 5);
  EXPECT_EQ(ThinRadius(30, 20), 1);
  ExpectInvalid([&] { ThinParts(truth, width, height + 1, 1); }, "expected 31 x 20");
  ExpectInvalid([&] { ThinParts(truth, width, height, 0); }, "radius is 0");
}

Matrix<float> TwoLabels(const std::vector<float>& first) {
  Matrix<float> rows(first.size(), 2);
  for (std::size_t a = 0; a < first.size(); ++a) {
    rows(a, 0) = first[a];
    rows(a, 1) = 1.0F - first[a];
  }
  return rows;
}

TEST(ScoreProbabilities, CountsByHand) {
  // Two pixels of confidence 0.75 in one bin, one of them right; one of 1 in the last bin, right.
  const ProbabilityScores scores =
      ScoreProbabilities(TwoLabels({0.75F, 0.25F, 1.0F, 0.5F}), std::vector<int>{0, 0, 0, kNo});
  EXPECT_EQ(scores.pixels, 3);
  EXPECT_DOUBLE_EQ(scores.calibration_error, (2.0 * std::abs(0.5 - 0.75) + 0.0) / 3.0);
  EXPECT_DOUBLE_EQ(scores.negative_log_likelihood, -(std::log(0.75) + std::log(0.25)) / 3.0);
}

TEST(ScoreProbabilities, ClipsWhatIsWrongWithCertainty) {
  const ProbabilityScores scores = ScoreProbabilities(TwoLabels({1.0F}), std::vector<int>{1});
  EXPECT_DOUBLE_EQ(scores.negative_log_likelihood, -std::log(kLikelihoodClip));
  EXPECT_EQ(scores.calibration_error, 1.0);
}

// Labels drawn from the probabilities themselves are calibrated, but for chance: with n pixels in a bin the
// share of right ones has a standard deviation of at most 1 / (2 sqrt(n)).
TEST(ScoreProbabilities, FindsNoErrorInWhatIsCalibrated) {
  std::mt19937_64 random(8);
  const auto uniform = [&] { return std::uniform_real_distribution<double>(0.0, 1.0)(random); };
  const std::size_t pixels = 60000;
  std::vector<float> first(pixels);
  std::vector<int> truth(pixels);
  for (std::size_t a = 0; a < pixels; ++a) {
    first[a] = static_cast<float>(uniform());
    truth[a] = uniform() < first[a] ? 0 : 1;
  }
  const double chance = 0.5 * std::sqrt(kCalibrationBins / static_cast<double>(pixels));
  EXPECT_LT(ScoreProbabilities(TwoLabels(first), truth).calibration_error, 2.0 * chance);
  for (float& p : first) p = p > 0.5F ? 1.0F : 0.0F;  // the same labels, too sure of themselves
  EXPECT_NEAR(ScoreProbabilities(TwoLabels(first), truth).calibration_error, 0.25, 2.0 * chance);
}

TEST(ScoreProbabilities, RefusesWhatIsNoDistribution) {
  const std::vector<int> truth = {0, 1};
  Matrix<float> rows = TwoLabels({0.5F, 0.5F});
  rows(1, 0) = std::numeric_limits<float>::quiet_NaN();
  ExpectInvalid([&] { ScoreProbabilities(rows, truth); }, "pixel 1, label 0 is nan");
  EXPECT_EQ(ScoreProbabilities(rows, std::vector<int>{0, kNo}).pixels, 1);
  rows(1, 0) = 0.25F;
  ExpectInvalid([&] { ScoreProbabilities(rows, truth); }, "pixel 1 sum to 0.75");
  ExpectInvalid([&] { ScoreProbabilities(rows, std::vector<int>{0}); }, "matrix of probabilities");
  ExpectInvalid(
      [&] {
        ScoreProbabilities(rows, std::vector<int>{2, 0});
      },
      "true label of pixel 0 is 2");
  ExpectInvalid(
      [&] {
        ScoreProbabilities(rows, std::vector<int>{kNo, kNo});
      },
      "none of the 2 pixels");
}

}  // namespace
}  // namespace submarine::internal
