#include "submarine/segmentation/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "submarine/segmentation/evaluation.h"
#include "submarine/segmentation/softmax.h"

namespace submarine {
namespace {

using internal::ScoreProbabilities;

constexpr std::size_t kPixels = 30000;
constexpr std::size_t kLabels = 3;

// Distributions of all strengths, and true labels drawn from them.
struct Drawn {
  Matrix<float> softmax{kPixels, kLabels};
  std::vector<int> truth;
  Drawn() {
    std::mt19937 random(5);
    std::normal_distribution<double> normal(0.0, 2.0);
    for (std::size_t a = 0; a < kPixels; ++a) {
      std::vector<double> weights(kLabels);
      double sum = 0.0;
      for (double& weight : weights) sum += weight = std::exp(normal(random));
      for (std::size_t l = 0; l < kLabels; ++l)
        softmax(a, l) = static_cast<float>(weights[l] / sum);
      truth.push_back(std::discrete_distribution<int>(weights.begin(), weights.end())(random));
    }
  }
};

// p^(1/T), normalised.
Matrix<float> Tempered(const Matrix<float>& p, double temperature) {
  Matrix<float> tempered(p.rows(), p.cols());
  for (std::size_t a = 0; a < p.rows(); ++a) {
    double sum = 0.0;
    for (const float value : p.row(a)) sum += std::pow(value, 1.0 / temperature);
    for (std::size_t l = 0; l < p.cols(); ++l)
      tempered(a, l) = static_cast<float>(std::pow(p(a, l), 1.0 / temperature) / sum);
  }
  return tempered;
}

std::vector<std::size_t> Best(const Matrix<float>& p) {
  std::vector<std::size_t> best;
  for (std::size_t a = 0; a < p.rows(); ++a) {
    const auto row = p.row(a);
    best.push_back(
        static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return best;
}

TEST(CalibrateMarginals, GoesHalfWayToTheClassifier) {
  const Drawn drawn;
  const Matrix<float> unary = UnariesFromSoftmax(drawn.softmax);
  // Marginals that are three times as sure as the classifier, which is right about itself.
  Matrix<float> marginals = Tempered(drawn.softmax, 1.0 / 3.0);
  const double before = ScoreProbabilities(marginals, drawn.truth).calibration_error;
  const auto best = Best(marginals);
  EXPECT_NEAR(CalibrateMarginals(unary, &marginals), std::sqrt(3.0), 0.02);
  EXPECT_EQ(Best(marginals), best);
  EXPECT_LT(ScoreProbabilities(marginals, drawn.truth).calibration_error, 0.65 * before);
  const Matrix<float> expected = Tempered(drawn.softmax, 1.0 / std::sqrt(3.0));
  for (std::size_t a = 0; a < kPixels; a += 17) {
    float sum = 0.0F;
    for (std::size_t l = 0; l < kLabels; ++l) {
      EXPECT_NEAR(marginals(a, l), expected(a, l), 5e-3);
      sum += marginals(a, l);
    }
    EXPECT_NEAR(sum, 1.0F, 1e-5);
  }
}

TEST(CalibrateMarginals, TakesCostsWithLabelsFirst) {
  const Drawn drawn;
  const Matrix<float> unary = UnariesFromSoftmax(drawn.softmax);
  Matrix<float> marginals = Tempered(drawn.softmax, 0.5);
  Matrix<float> same = marginals;
  std::vector<float> planes;
  for (std::size_t l = 0; l < kLabels; ++l)
    for (std::size_t a = 0; a < kPixels; ++a) planes.push_back(unary(a, l));
  const double temperature = CalibrateMarginals(unary, &marginals);
  EXPECT_GT(temperature, 1.3);
  EXPECT_EQ(CalibrateMarginals(planes.data(), 1, kPixels, kLabels, {same.data(), same.size()}),
            temperature);
  EXPECT_TRUE(std::equal(same.data(), same.data() + same.size(), marginals.data()));
}

TEST(CalibrateMarginals, NeverMakesThemSurer) {
  const Drawn drawn;
  const Matrix<float> unary = UnariesFromSoftmax(drawn.softmax);
  Matrix<float> marginals = Tempered(drawn.softmax, 2.0);
  const Matrix<float> before = marginals;
  EXPECT_EQ(CalibrateMarginals(unary, &marginals), 1.0);
  EXPECT_TRUE(std::equal(before.data(), before.data() + before.size(), marginals.data()));
}

TEST(CalibrateMarginals, LeavesScribblesAsTheyAre) {
  const Drawn drawn;
  Matrix<float> unary = UnariesFromSoftmax(drawn.softmax);
  for (std::size_t a = 0; a < kPixels; ++a) {
    if (a % 5 < 3) std::fill(unary.row(a).begin(), unary.row(a).end(), 1.0F);
  }
  Matrix<float> marginals = Tempered(drawn.softmax, 0.2);
  EXPECT_EQ(CalibrateMarginals(unary, &marginals), 1.0);
  Matrix<float> none(7, 2, 0.5F);
  EXPECT_EQ(CalibrateMarginals(Matrix<float>(7, 2, 3.0F), &none), 1.0);
}

TEST(CalibrateMarginals, KeepsTheLabelsOfNearTiesAndSaturatedRows) {
  Matrix<float> unary(3000, 3);
  Matrix<float> marginals(3000, 3);
  for (std::size_t a = 0; a < 3000; ++a) {
    unary(a, 0) = 0.1F;
    // The second by the least that a float can say, the third likewise; 0 and 1.
    const float half = 0.4F;
    const float more = std::nextafter(half, 1.0F);
    marginals(a, 0) = a % 3 == 0 ? half : 0.0F;
    marginals(a, 1) = a % 3 == 2 ? 0.0F : more;
    marginals(a, 2) = a % 3 == 0 ? 0.2F : a % 3 == 1 ? half : 1.0F;
  }
  const auto best = Best(marginals);
  EXPECT_GT(CalibrateMarginals(unary, &marginals), 1.0);
  EXPECT_EQ(Best(marginals), best);
  for (std::size_t a = 0; a < 3000; ++a)
    for (const float value : marginals.row(a)) EXPECT_TRUE(value >= 0.0F && value <= 1.001F);
}

}  // namespace
}  // namespace submarine
