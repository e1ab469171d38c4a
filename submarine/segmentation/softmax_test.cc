#include "submarine/segmentation/softmax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/error_test_util.h"

namespace submarine {
namespace {

using internal::testing::ExpectInvalid;

using Shape = std::vector<std::int64_t>;

SoftmaxLayout Recognise(const Shape& shape, int width, int height,
                        std::optional<SoftmaxLayout> given = {}) {
  return RecogniseSoftmaxLayout(shape, width, height, "p.npy", given);
}

TEST(RecogniseSoftmaxLayout, GoesByTheSizeOfThePicture) {
  EXPECT_EQ(Recognise({213, 320, 21}, 320, 213), SoftmaxLayout::kLabelsLast);
  EXPECT_EQ(Recognise({21, 213, 320}, 320, 213), SoftmaxLayout::kLabelsFirst);
  EXPECT_EQ(Recognise({8, 8, 3}, 8, 8), SoftmaxLayout::kLabelsLast);
  EXPECT_EQ(Recognise({3, 8, 8}, 8, 8), SoftmaxLayout::kLabelsFirst);
}

TEST(RecogniseSoftmaxLayout, DoesNotGuess) {
  ExpectInvalid(
      [] {
        Recognise({8, 8, 8}, 8, 8);
      },
      "p.npy has shape (8, 8, 8), which may be (height, width, labels) or (labels, "
      "height, width)");
  EXPECT_EQ(Recognise({8, 8, 8}, 8, 8, SoftmaxLayout::kLabelsFirst), SoftmaxLayout::kLabelsFirst);
  EXPECT_EQ(Recognise({8, 8, 8}, 8, 8, SoftmaxLayout::kLabelsLast), SoftmaxLayout::kLabelsLast);
}

TEST(RecogniseSoftmaxLayout, RefusesWhatFitsNeitherWay) {
  ExpectInvalid(
      [] {
        Recognise({100, 200, 21}, 320, 213);
      },
      "p.npy has shape (100, 200, 21), expected (213, 320, labels) or (labels, 213, 320) "
      "for the picture of 320 x 213");
  ExpectInvalid([] { Recognise({320, 213, 21}, 320, 213); }, "seem to be exchanged");
  ExpectInvalid([] { Recognise({21, 320, 213}, 320, 213); }, "seem to be exchanged");
  ExpectInvalid([] { Recognise({213, 320}, 320, 213); }, "shape (213, 320), expected");
  ExpectInvalid([] { Recognise({7}, 320, 213); }, "shape (7,), expected");
  ExpectInvalid([] { Recognise({213, 320, 1}, 320, 213); }, "1 labels, expected 2 to 1024");
  ExpectInvalid([] { Recognise({2000, 213, 320}, 320, 213); }, "2000 labels");
  ExpectInvalid(
      [] {
        Recognise({21, 213, 320}, 320, 213, SoftmaxLayout::kLabelsLast);
      },
      "expected (213, 320, labels) for");
}

TEST(SoftmaxByPixel, PutsLabelsInnermost) {
  // (labels 2, height 1, width 3)
  const std::vector<float> first = {0.0F, 1.0F, 2.0F, 10.0F, 11.0F, 12.0F};
  const std::vector<float> last = {0.0F, 10.0F, 1.0F, 11.0F, 2.0F, 12.0F};
  const Matrix<float> rows = SoftmaxByPixel(first, SoftmaxLayout::kLabelsFirst, 3, 1, 2);
  EXPECT_EQ(rows(2, 0), 2.0F);
  EXPECT_EQ(rows(2, 1), 12.0F);
  EXPECT_EQ(SoftmaxByPixel(last, SoftmaxLayout::kLabelsLast, 3, 1, 2), rows);
  ExpectInvalid([&] { SoftmaxByPixel(last, SoftmaxLayout::kLabelsLast, 3, 2, 2); },
                "6 values, expected 3 x 2 x 2 labels");
}

TEST(CheckSoftmax, NamesTheFirstPixelThatIsNoDistribution) {
  Matrix<float> rows(6, 2, 0.5F);  // 3 x 2
  EXPECT_EQ(SoftmaxProblem(rows, 3), "");
  rows(1, 0) = 0.508F;  // as half precision leaves it
  EXPECT_EQ(SoftmaxProblem(rows, 3), "");
  rows(4, 1) = 0.25F;
  ExpectInvalid([&] { CheckSoftmax(rows, 3, "p.npy"); },
                "p.npy sums to 0.75 over the 2 labels of pixel (1, 1), expected 1");
  rows(4, 1) = -2.0F;
  ExpectInvalid([&] { CheckSoftmax(rows, 3, "p.npy"); },
                "p.npy is -2 at pixel (1, 1), label 1, expected probabilities from 0 to 1 (are");
  rows(4, 1) = 1.5F;
  ExpectInvalid([&] { CheckSoftmax(rows, 3, "p.npy"); }, "is 1.5 at pixel (1, 1)");
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    rows(4, 1) = bad;
    ExpectInvalid([&] { CheckSoftmax(rows, 3, "p.npy"); }, "at pixel (1, 1), label 1");
  }
}

TEST(UnariesFromSoftmax, AreMinusTheLogarithm) {
  Matrix<float> rows(1, 4);
  rows(0, 0) = 0.5F;
  rows(0, 1) = 0.0F;
  rows(0, 2) = 1.0F;
  rows(0, 3) = -0.001F;  // within what is tolerated
  const Matrix<float> unary = UnariesFromSoftmax(rows);
  EXPECT_NEAR(unary(0, 0), std::log(2.0), 1e-6);
  EXPECT_NEAR(unary(0, 1), -std::log(kSoftmaxClip), 1e-5);
  EXPECT_EQ(unary(0, 2), 0.0F);
  EXPECT_NEAR(unary(0, 3), -std::log(kSoftmaxClip), 1e-5);
  EXPECT_NEAR(UnariesFromSoftmax(rows, 2.0)(0, 0), 0.5 * std::log(2.0), 1e-6);
  EXPECT_NEAR(UnariesFromSoftmax(rows, 1.0, 0.1)(0, 1), std::log(10.0), 1e-6);
}

TEST(UnariesFromSoftmax, RefusesParametersOutOfRange) {
  const Matrix<float> rows(1, 2, 0.5F);
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    ExpectInvalid([&] { UnariesFromSoftmax(rows, bad); }, "temperature is");
    ExpectInvalid([&] { UnariesFromSoftmax(rows, 1.0, bad); }, "the clip is");
  }
  ExpectInvalid([&] { UnariesFromSoftmax(rows, 1.0, 1.0); }, "the clip is 1");
}

}  // namespace
}  // namespace submarine
