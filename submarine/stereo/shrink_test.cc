#include "submarine/stereo/shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "submarine/base/error_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::ElementsAre;
using testing::ExpectInvalid;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> RandomImage(std::size_t samples, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> image(samples);
  for (float& v : image) v = std::uniform_real_distribution<float>(0.0F, 255.0F)(random);
  return image;
}

TEST(ShrinkImage, AveragesBlocksAndDropsTheRemainder) {
  // 5 x 3 in grey by 2: two blocks; the last column and the last row are dropped.
  const std::vector<float> grey = {0,  2,  10, 20, 99,  //
                                   4,  6,  30, 40, 99,  //
                                   99, 99, 99, 99, 99};
  EXPECT_THAT(ShrinkImage(grey, 5, 3, 1, 2), ElementsAre(3.0F, 25.0F));
  EXPECT_THAT(ShrinkImage(grey, 5, 3, 1, 3), ElementsAre(349.0F / 9.0F));
}

TEST(ShrinkImage, KeepsChannelsApart) {
  const std::vector<float> two = {1, 10, 3, 30,  //
                                  5, 50, 7, 70};
  EXPECT_THAT(ShrinkImage(two, 2, 2, 2, 2), ElementsAre(4.0F, 40.0F));
}

TEST(ShrinkImage, ByOneChangesNothing) {
  const std::vector<float> image = RandomImage(7 * 5 * 3, 1);
  EXPECT_EQ(ShrinkImage(image, 7, 5, 3, 1), image);
}

TEST(ShrinkImage, EqualsTheAverageTakenSampleBySample) {
  constexpr int kWidth = 23, kHeight = 17, kChannels = 3;
  const std::vector<float> image = RandomImage(kWidth * kHeight * kChannels, 2);
  for (const int factor : {2, 3, 4, 7, 17}) {
    const std::vector<float> small = ShrinkImage(image, kWidth, kHeight, kChannels, factor);
    const int columns = kWidth / factor;
    const int rows = kHeight / factor;
    ASSERT_EQ(small.size(), columns * rows * kChannels);
    std::vector<double> sums(small.size());
    for (int y = 0; y < rows * factor; ++y) {
      for (int x = 0; x < columns * factor; ++x) {
        for (int c = 0; c < kChannels; ++c) {
          sums[((y / factor) * columns + x / factor) * kChannels + c] +=
              image[(y * kWidth + x) * kChannels + c];
        }
      }
    }
    for (std::size_t k = 0; k < sums.size(); ++k) {
      EXPECT_FLOAT_EQ(small[k], static_cast<float>(sums[k] / (factor * factor)));
    }
  }
}

// The claim at the top of shrink.h: small views of a pair with disparity factor D match at D.
TEST(ShrinkImage, OfAPairMatchesAtTheDividedDisparity) {
  constexpr int kWidth = 36, kHeight = 8, kFactor = 4, kSmallDisparity = 2;
  constexpr int kDisparity = kFactor * kSmallDisparity;
  const std::vector<float> left = RandomImage(kWidth * kHeight, 3);
  std::vector<float> right = RandomImage(kWidth * kHeight, 4);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = kDisparity; x < kWidth; ++x) {
      right[y * kWidth + x - kDisparity] = left[y * kWidth + x];
    }
  }
  const std::vector<float> truth(kWidth * kHeight, kDisparity);
  const std::vector<float> small_left = ShrinkImage(left, kWidth, kHeight, 1, kFactor);
  const std::vector<float> small_right = ShrinkImage(right, kWidth, kHeight, 1, kFactor);
  const std::vector<float> small_truth = ShrinkTruth(truth, kWidth, kHeight, kFactor);
  for (int y = 0; y < kHeight / kFactor; ++y) {
    for (int x = kSmallDisparity; x < kWidth / kFactor; ++x) {
      const int a = y * (kWidth / kFactor) + x;
      ASSERT_EQ(small_truth[a], kSmallDisparity);
      EXPECT_EQ(small_left[a], small_right[a - kSmallDisparity]);
    }
  }
}

TEST(ShrinkTruth, TakesTheMedianOfWhatIsKnown) {
  const std::vector<float> disparity = {8, 4, kNaN, 6,  kNaN, kNaN,  //
                                        2, 6, kNaN, 12, kNaN, 7};
  const std::vector<float> small = ShrinkTruth(disparity, 6, 2, 2);
  ASSERT_EQ(small.size(), 3u);
  EXPECT_EQ(small[0], 2.0F);  // {2,4,6,8}: the smaller middle one is 4
  EXPECT_EQ(small[1], 3.0F);  // {6,12}, half of the block is known: 6
  EXPECT_TRUE(std::isnan(small[2]));
}

TEST(ShrinkTruth, OddBlocksNeedMoreThanFourOfNine) {
  std::vector<float> disparity(9, kNaN);
  for (int k = 0; k < 4; ++k) disparity[k] = 3.0F;
  EXPECT_TRUE(std::isnan(ShrinkTruth(disparity, 3, 3, 3)[0]));
  disparity[8] = 30.0F;
  EXPECT_EQ(ShrinkTruth(disparity, 3, 3, 3)[0], 1.0F);
}

TEST(ShrinkTruth, EqualsTheSortedMiddle) {
  constexpr int kWidth = 22, kHeight = 15;
  std::vector<float> disparity = RandomImage(kWidth * kHeight, 5);
  std::mt19937_64 random(6);
  for (float& d : disparity) {
    if (random() % 5 < 2) d = kNaN;
  }
  int unknown = 0;
  for (const int factor : {1, 2, 3, 5}) {
    const std::vector<float> small = ShrinkTruth(disparity, kWidth, kHeight, factor);
    const int columns = kWidth / factor;
    ASSERT_EQ(small.size(), columns * (kHeight / factor));
    for (int A = 0; A < static_cast<int>(small.size()); ++A) {
      std::vector<float> block;
      for (int k = 0; k < factor * factor; ++k) {
        const int y = A / columns * factor + k / factor;
        const int x = A % columns * factor + k % factor;
        const float d = disparity[y * kWidth + x];
        if (d == d) block.push_back(d);
      }
      std::sort(block.begin(), block.end());
      if (2 * static_cast<int>(block.size()) < factor * factor) {
        EXPECT_TRUE(std::isnan(small[A]));
        ++unknown;
      } else {
        EXPECT_EQ(small[A], block[(block.size() - 1) / 2] / static_cast<float>(factor));
      }
    }
  }
  EXPECT_GT(unknown, 100);  // both cases have been met
}

TEST(Shrink, BadArgumentsAreNamed) {
  std::vector<float> image(12);
  ExpectInvalid([&] { ShrinkImage(image, 0, 3, 1, 1); }, "0 x 3 x 1 channels");
  ExpectInvalid([&] { ShrinkImage(image, 4, -3, 1, 1); }, "4 x -3 x 1 channels");
  ExpectInvalid([&] { ShrinkImage(image, 4, 3, 0, 1); }, "4 x 3 x 0 channels");
  ExpectInvalid([&] { ShrinkImage(image, 4, 3, 1, 0); }, "the factor is 0, expected 1 to 3");
  ExpectInvalid([&] { ShrinkImage(image, 4, 3, 1, 4); }, "the factor is 4, expected 1 to 3");
  ExpectInvalid([&] { ShrinkImage(image, 4, 3, 3, 2); }, "12 samples, expected 4 x 3 x 3");
  ExpectInvalid([&] { ShrinkImage(image, 5, 3, 1, 2); }, "12 samples, expected 5 x 3 x 1");
  ExpectInvalid([&] { ShrinkImage({}, 1 << 30, 1 << 30, 1 << 30, 2); }, "0 samples");
  ExpectInvalid([&] { ShrinkTruth(image, 4, 2, 2); }, "12 samples");
  ExpectInvalid([&] { ShrinkTruth(image, 4, 3, -1); }, "the factor is -1");
  image[7] = kNaN;
  ExpectInvalid([&] { ShrinkImage(image, 2, 3, 2, 2); }, "pixel 3, channel 1 is nan");
  image[7] = kInfinity;
  ExpectInvalid([&] { ShrinkTruth(image, 4, 3, 2); }, "pixel 7 is inf");
}

}  // namespace
}  // namespace submarine::internal
