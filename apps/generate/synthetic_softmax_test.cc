#include "apps/generate/synthetic_softmax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/segmentation/evaluation.h"
#include "submarine/segmentation/softmax.h"

namespace submarine::apps {
namespace {

using internal::testing::ExpectInvalid;

constexpr int kWidth = 60;
constexpr int kHeight = 44;
constexpr int kLabels = 4;

// Two halves and a box with a rim that is unknown.
std::vector<int> Truth() {
  std::vector<int> truth;
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const int from_box = std::max(std::abs(x - 20), std::abs(y - 20));
      truth.push_back(from_box < 8 ? 2 : from_box == 8 ? -1 : x < 30 ? 0 : 1);
    }
  }
  return truth;
}

double Accuracy(const Matrix<float>& softmax, const std::vector<int>& truth) {
  std::vector<int> labels;
  for (std::size_t a = 0; a < softmax.rows(); ++a) {
    const auto row = softmax.row(a);
    labels.push_back(static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return internal::ScoreLabels(internal::CountLabels(truth, labels, kLabels)).accuracy;
}

Matrix<float> Make(const SyntheticSoftmax& options) {
  return SoftmaxFromTruth(Truth(), kWidth, kHeight, kLabels, options);
}

TEST(SoftmaxFromTruth, IsTheTruthWhereNothingDisturbsIt) {
  const Matrix<float> softmax =
      Make({.cell = 1, .blur = 0.0, .noise = 0.0, .confusion = 0.0, .seed = 1});
  EXPECT_EQ(SoftmaxProblem(softmax, kWidth), "");
  EXPECT_EQ(Accuracy(softmax, Truth()), 1.0);
  EXPECT_NEAR(softmax(0, 0), 0.9925, 1e-6);  // 1% is uniform
}

TEST(SoftmaxFromTruth, GetsWorseWithEveryDisturbance) {
  const std::vector<int> truth = Truth();
  const SyntheticSoftmax clean{.cell = 2, .blur = 0.0, .noise = 0.0, .confusion = 0.0, .seed = 3};
  const double best = Accuracy(Make(clean), truth);
  SyntheticSoftmax coarse = clean, blurred = clean, noisy = clean, confused = clean;
  coarse.cell = 16;
  blurred.blur = 4.0;
  noisy.noise = 4.0;
  confused.confusion = 0.7;
  for (const SyntheticSoftmax& worse : {coarse, blurred, noisy, confused}) {
    const Matrix<float> softmax = Make(worse);
    EXPECT_EQ(SoftmaxProblem(softmax, kWidth), "");
    EXPECT_LT(Accuracy(softmax, truth), best - 0.01);
  }
}

TEST(SoftmaxFromTruth, IsNamedByItsSeed) {
  EXPECT_EQ(Make({.seed = 5}), Make({.seed = 5}));
  EXPECT_FALSE(Make({.seed = 5}) == Make({.seed = 6}));
}

TEST(SoftmaxFromTruth, RefusesWhatIsOutOfRange) {
  ExpectInvalid([] { Make({.cell = 0}); }, "--cell is 0, expected 1 to 256");
  ExpectInvalid([] { Make({.blur = -1.0}); }, "--blur is -1");
  ExpectInvalid([] { Make({.noise = std::nan("")}); }, "--noise is nan");
  ExpectInvalid([] { Make({.confusion = 1.5}); }, "--confusion is 1.5, expected 0 to 1");
  ExpectInvalid([] { SoftmaxFromTruth(Truth(), kWidth, kHeight, 2, {}); }, "has the label 2");
  ExpectInvalid([] { SoftmaxFromTruth(Truth(), kWidth, 3, kLabels, {}); }, "expected 60 x 3");
}

}  // namespace
}  // namespace submarine::apps
