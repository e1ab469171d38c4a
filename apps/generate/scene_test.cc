#include "apps/generate/scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "submarine/base/error_test_util.h"
#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/stereo/disparity.h"

namespace submarine::apps {
namespace {

using internal::testing::ExpectInvalid;

constexpr int kWidth = 220, kHeight = 150, kMaxDisparity = 28;

const StereoScene& Example(int seed) {
  static const std::array<StereoScene, 3> kScenes = {MakeScene(kWidth, kHeight, kMaxDisparity, 1),
                                                     MakeScene(kWidth, kHeight, kMaxDisparity, 2),
                                                     MakeScene(kWidth, kHeight, kMaxDisparity, 3)};
  return kScenes.at(static_cast<std::size_t>(seed - 1));
}

float Truth(const StereoScene& scene, int x, int y) { return scene.disparity[y * scene.width + x]; }

// All pixels around (x, y) see the same plane in both views: none of them mixes two surfaces.
bool InsideASurface(const StereoScene& scene, int x, int y) {
  if (x < 2 || y < 1 || x + 2 >= scene.width || y + 1 >= scene.height) return false;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -2; dx <= 2; ++dx) {
      const float there = Truth(scene, x + dx, y + dy);
      const float opposite = Truth(scene, x - dx, y - dy);
      if (!(std::abs(there - opposite) < 1.6F)) return false;
      if (!(std::abs(there + opposite - 2.0F * Truth(scene, x, y)) < 1e-3F)) return false;
    }
  }
  return true;
}

double At(const std::vector<std::uint8_t>& image, const StereoScene& scene, double x, int y,
          int channel) {
  const int column = std::min(static_cast<int>(x), scene.width - 2);
  const double t = x - column;
  const int sample = 3 * (y * scene.width + column) + channel;
  return (1.0 - t) * image[sample] + t * image[sample + 3];
}

// left(x, y) and right(x - d + shift, y) in one channel, wherever that is inside a surface, not
// saturated, and d is within `off_grid` of a whole number.
struct Pairs {
  std::vector<double> left, right;

  Pairs(const StereoScene& scene, int channel, double shift, double off_grid) {
    for (int y = 0; y < scene.height; ++y) {
      for (int x = 0; x < scene.width; ++x) {
        const double d = Truth(scene, x, y);
        if (!InsideASurface(scene, x, y) || std::abs(d - std::round(d)) > off_grid) continue;
        const double x_right = x - d + shift;
        if (x_right < 0.0 || x_right > scene.width - 1.0) continue;
        const double l = At(scene.left, scene, x, y, channel);
        if (l > 235.0) continue;
        left.push_back(l);
        right.push_back(At(scene.right, scene, x_right, y, channel));
      }
    }
  }
  double Gain() const {
    double cross = 0.0, square = 0.0;
    for (std::size_t k = 0; k < left.size(); ++k) {
      cross += left[k] * right[k];
      square += left[k] * left[k];
    }
    return cross / square;
  }
  double Residual() const {
    const double gain = Gain();
    double sum = 0.0;
    for (std::size_t k = 0; k < left.size(); ++k) {
      const double r = right[k] - gain * left[k];
      sum += r * r;
    }
    return std::sqrt(sum / static_cast<double>(left.size()));
  }
};

TEST(MakeScene, ViewsAgreeAtTheTruthUpToNoise) {
  // Noise and rounding of both views.
  const double expected = std::sqrt(2.0 * (kSceneNoise * kSceneNoise + 1.0 / 12.0));
  for (const int seed : {1, 2, 3}) {
    for (const int channel : {0, 1, 2}) {
      const Pairs pairs(Example(seed), channel, 0.0, 0.02);
      ASSERT_GT(pairs.left.size(), 500u);
      EXPECT_NEAR(pairs.Gain(), 1.0, kSceneExposure);
      // Four standard errors of a standard deviation.
      EXPECT_NEAR(pairs.Residual(), expected,
                  4.0 * expected / std::sqrt(2.0 * static_cast<double>(pairs.left.size())));
    }
  }
}

// Interpolation between the columns of the right view adds little at the truth, and every other
// disparity is told apart from it, even one half a pixel off.
TEST(MakeScene, ViewsAgreeAtSubPixelDisparitiesOnly) {
  for (const int seed : {1, 2, 3}) {
    for (const int channel : {0, 1, 2}) {
      const Pairs pairs(Example(seed), channel, 0.0, 0.5);
      EXPECT_GT(pairs.left.size(), 0.6 * kWidth * kHeight);
      const double residual = pairs.Residual();
      EXPECT_LT(residual, 3.5);
      for (const double shift : {-1.0, -0.5, 0.5, 1.0}) {
        EXPECT_GT(Pairs(Example(seed), channel, shift, 0.5).Residual(), 2.0 * residual);
      }
    }
  }
}

TEST(MakeScene, ExposuresOfTheViewsDiffer) {
  double largest = 0.0;
  for (const int channel : {0, 1, 2}) {
    largest = std::max(largest, std::abs(Pairs(Example(3), channel, 0.0, 0.5).Gain() - 1.0));
  }
  EXPECT_GT(largest, 0.01);
}

TEST(MakeScene, DisparitiesStayInTheRangeAndUseMostOfIt) {
  for (std::uint64_t seed = 10; seed < 30; ++seed) {
    const StereoScene scene = MakeScene(64, 48, 16, seed);
    ASSERT_EQ(scene.disparity.size(), 64u * 48u);
    float smallest = 1e9F, largest = -1e9F;
    int known = 0;
    for (const float d : scene.disparity) {
      if (std::isnan(d)) continue;
      ++known;
      smallest = std::min(smallest, d);
      largest = std::max(largest, d);
    }
    EXPECT_GE(smallest, 0.0F);
    EXPECT_LE(largest, 16.0F);
    EXPECT_GT(largest - smallest, 0.5F * 16.0F) << "seed " << seed;
    EXPECT_GT(known, 64 * 48 / 2) << "seed " << seed;
    EXPECT_LT(known, 64 * 48);
    for (int y = 0; y < 48; ++y) EXPECT_TRUE(std::isnan(Truth(scene, 0, y)));  // outside
  }
}

TEST(MakeScene, TruthPointsIntoTheRightView) {
  const StereoScene& scene = Example(1);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const double d = Truth(scene, x, y);
      ASSERT_TRUE(std::isnan(d) || x - d >= 0.0) << x << ", " << y;
    }
  }
}

// A stretch of one row of the right view, between two neighbouring pixels of one surface.
struct Stretch {
  double begin, end, disparity;
};

std::vector<Stretch> StretchesOfRow(const StereoScene& scene, int y) {
  std::vector<Stretch> stretches;
  for (int x = 1; x < scene.width; ++x) {
    const double d = Truth(scene, x, y);
    const double before = Truth(scene, x - 1, y);
    if (std::abs(d - before) < 0.8)
      stretches.push_back({x - 1 - before, x - d, std::min(d, before)});
  }
  return stretches;
}

// What has a match in the right view is not hidden there by what else has one.
TEST(MakeScene, NothingKnownIsHidden) {
  for (const int seed : {1, 2, 3}) {
    const StereoScene& scene = Example(seed);
    for (int y = 0; y < kHeight; ++y) {
      const std::vector<Stretch> stretches = StretchesOfRow(scene, y);
      for (int x = 0; x < kWidth; ++x) {
        const double d = Truth(scene, x, y);
        for (const Stretch& stretch : stretches) {
          ASSERT_FALSE(stretch.disparity > d + 0.01 && stretch.begin < x - d && x - d < stretch.end)
              << "seed " << seed << " at " << x << ", " << y;
        }
      }
    }
  }
}

// And what has none is hidden there: where a surface breaks off, its continuation lands behind a
// nearer stretch. The exceptions are gaps that begin where the surface itself ends, at the border
// of an object, and tips of objects narrower than a pixel.
TEST(MakeScene, MostGapsBeginBehindANearerSurface) {
  int gaps = 0, hidden = 0;
  for (const int seed : {1, 2, 3}) {
    const StereoScene& scene = Example(seed);
    for (int y = 0; y < kHeight; ++y) {
      const std::vector<Stretch> stretches = StretchesOfRow(scene, y);
      for (int x = 2; x < kWidth; ++x) {
        const double before = Truth(scene, x - 1, y);
        const double slope = before - Truth(scene, x - 2, y);
        if (!std::isnan(Truth(scene, x, y)) || !(std::abs(slope) < 0.8)) continue;
        const double d = before + slope;
        ++gaps;
        hidden += std::any_of(stretches.begin(), stretches.end(), [&](const Stretch& stretch) {
          return stretch.disparity > d + 0.5 && stretch.begin - 1.0 < x - d &&
                 x - d < stretch.end + 1.0;
        });
      }
    }
  }
  EXPECT_GT(gaps, 500);
  EXPECT_GT(hidden, 0.85 * gaps);
}

TEST(MakeScene, DependsOnTheArgumentsOnly) {
  const StereoScene& scene = Example(2);
  internal::testing::SetThreadCount(1);
  const StereoScene again = MakeScene(kWidth, kHeight, kMaxDisparity, 2);
  internal::testing::SetThreadCount(0);
  EXPECT_EQ(scene.left, again.left);
  EXPECT_EQ(scene.right, again.right);
  ASSERT_EQ(scene.disparity.size(), again.disparity.size());
  for (std::size_t a = 0; a < scene.disparity.size(); ++a) {
    ASSERT_TRUE(scene.disparity[a] == again.disparity[a] ||
                (std::isnan(scene.disparity[a]) && std::isnan(again.disparity[a])));
  }
  EXPECT_NE(scene.left, Example(1).left);
  EXPECT_NE(scene.left, scene.right);
}

TEST(MakeScene, WorksAtTheSmallestSizesAndExtremeShapes) {
  for (const auto& [width, height, max_disparity] :
       {std::array{16, 16, 1}, std::array{16, 16, 8}, std::array{600, 16, 300},
        std::array{16, 600, 3}}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const StereoScene scene = MakeScene(width, height, max_disparity, seed);
      EXPECT_EQ(scene.width, width);
      EXPECT_EQ(scene.height, height);
      const std::size_t pixels = static_cast<std::size_t>(width * height);
      EXPECT_EQ(scene.left.size(), 3 * pixels);
      EXPECT_EQ(scene.right.size(), 3 * pixels);
      ASSERT_EQ(scene.disparity.size(), pixels);
      for (const float d : scene.disparity) {
        ASSERT_TRUE(std::isnan(d) || (d >= 0.0F && d <= static_cast<float>(max_disparity)));
      }
    }
  }
}

TEST(MakeScene, BadArgumentsAreNamed) {
  ExpectInvalid([] { MakeScene(15, 100, 4, 1); }, "the width is 15, expected 16 to 16384");
  ExpectInvalid([] { MakeScene(100, 0, 4, 1); }, "the height is 0");
  ExpectInvalid([] { MakeScene(100, -7, 4, 1); }, "the height is -7");
  ExpectInvalid([] { MakeScene(16385, 100, 4, 1); }, "the width is 16385");
  ExpectInvalid([] { MakeScene(16384, 4097, 4, 1); }, "16384 x 4097 pixels");
  ExpectInvalid([] { MakeScene(100, 100, 0, 1); }, "max_disparity is 0");
  ExpectInvalid([] { MakeScene(100, 100, 51, 1); }, "expected 1 to half the width, 50");
}

// Enough for the scene, and not much more than that.
TEST(GuessDisparities, CoversTheSceneWithoutWaste) {
  for (const int largest : {12, 24, 48}) {
    const StereoScene scene = MakeScene(320, 200, largest, static_cast<std::uint64_t>(largest));
    const std::vector<float> left(scene.left.begin(), scene.left.end());
    const std::vector<float> right(scene.right.begin(), scene.right.end());
    double most = 0.0;
    for (const float d : scene.disparity) most = d > most ? d : most;
    const int guess = GuessDisparities({320, 200, 3, left}, {320, 200, 3, right});
    EXPECT_GE(guess, most * 0.97) << largest;
    EXPECT_LE(guess, most * 1.25 + 6) << largest;
  }
}

}  // namespace
}  // namespace submarine::apps
