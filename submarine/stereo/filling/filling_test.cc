#include "submarine/stereo/filling/filling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "submarine/stereo/filling/colour_weights.h"
#include "submarine/stereo/filling/plane_kernels.h"
#include "submarine/stereo/filling/surfaces.h"
#include "submarine/stereo/semi_global/semi_global_test_util.h"

namespace submarine::internal {
namespace {

// The plain forms, which the kernels are compared with.
namespace scalar {

PlaneMoments MomentsOf(const DisparitySamples& samples, const Plane& plane, float tolerance) {
  PlaneMoments m = {};
  for (std::size_t j = 0; j < samples.count; ++j) {
    const float dx = samples.dx[j];
    const float dy = samples.dy[j];
    const float d = samples.disparity[j];
    const float residual = (d - plane.at - plane.slope_x * dx - plane.slope_y * dy) / tolerance;
    const float rest = std::max(0.0F, 1.0F - residual * residual);
    const float w = samples.weight[j] * rest * rest;
    m.n += w;
    m.x += w * dx;
    m.y += w * dy;
    m.xx += w * dx * dx;
    m.xy += w * dx * dy;
    m.yy += w * dy * dy;
    m.d += w * d;
    m.xd += w * dx * d;
    m.yd += w * dy * d;
  }
  return m;
}

std::vector<float> Median5x5(const std::vector<float>& values, int width, int height) {
  std::vector<float> medians;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::vector<float> window;
      for (int v = std::max(0, y - 2); v <= std::min(height - 1, y + 2); ++v) {
        for (int u = std::max(0, x - 2); u <= std::min(width - 1, x + 2); ++u)
          window.push_back(values[static_cast<std::size_t>(v * width + u)]);
      }
      std::sort(window.begin(), window.end());
      medians.push_back(window[(window.size() - 1) / 2]);
    }
  }
  return medians;
}

}  // namespace scalar

constexpr int kWidth = 60;
constexpr int kHeight = 24;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

std::size_t At(int x, int y) {
  return static_cast<std::size_t>(y) * kWidth + static_cast<std::size_t>(x);
}

// A foreground of disparity 9 from column 35 on, before a background of 3: what lies 6 pixels left of the
// edge is seen by the left view only.
struct Scene {
  Scene() : grey(kPixels, 50.0F), view{kWidth, kHeight, 1, grey} {
    best.left.assign(kPixels, 3);
    best.right.assign(kPixels, 3);
    agrees.assign(kPixels, 1);
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        if (x >= 35) best.left[At(x, y)] = 9;
        if (x >= 35 - 9) best.right[At(x, y)] = 9;
        if (x < 3 || (x >= 29 && x < 35)) agrees[At(x, y)] = 0;
      }
    }
  }
  std::vector<float> grey;
  StereoView view;
  BestDisparities best;
  std::vector<std::uint8_t> agrees;
};

// Neither view has any texture, so colours cannot tell; what the right view sees can.
TEST(FillDisparities, FillsOcclusionsFromTheBackground) {
  Scene scene;
  std::mt19937 random(1);
  for (std::size_t a = 0; a < kPixels; ++a) {
    if (scene.agrees[a] == 0) scene.best.left[a] = static_cast<int>(random() % 12);
  }
  const std::vector<int> filled = FillDisparities(scene.best, scene.agrees, scene.view, {});
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) EXPECT_EQ(filled[At(x, y)], x < 35 ? 3 : 9) << x << ", " << y;
  }
}

TEST(FillDisparities, FillsHolesByColour) {
  Scene scene;
  scene.best.right.assign(kPixels, 9);  // everything is possible
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 31; x < kWidth; ++x) scene.grey[At(x, y)] = 150.0F;
  }
  const std::vector<int> filled = FillDisparities(scene.best, scene.agrees, scene.view, {});
  for (int y = 0; y < kHeight; ++y) {
    EXPECT_EQ(filled[At(30, y)], 3);
    EXPECT_EQ(filled[At(31, y)], 9);
  }
}

TEST(FillDisparities, TakesRowsAboveAndBelow) {
  Scene scene;
  std::fill(scene.agrees.begin(), scene.agrees.end(), 0);
  for (int x = 0; x < kWidth; ++x) scene.agrees[At(x, 10)] = 1;
  const std::vector<int> filled =
      FillDisparities(scene.best, scene.agrees, scene.view, {.rounds = 0});
  EXPECT_EQ(filled[At(5, 0)], 3);
  EXPECT_EQ(filled[At(50, kHeight - 1)], 9);
}

TEST(FillDisparities, LeavesAPictureWithoutAgreementAsItIs) {
  Scene scene;
  std::fill(scene.agrees.begin(), scene.agrees.end(), 0);
  EXPECT_EQ(FillDisparities(scene.best, scene.agrees, scene.view, {}), scene.best.left);
}

// A slanted surface continues where nothing is known of it; one of another colour does not matter.
TEST(FitPlanes, ContinuesSurfaces) {
  Scene scene;
  std::vector<float> truth(kPixels);
  std::vector<float> refined(kPixels, 0.0F);
  std::vector<int> filled(kPixels, 0);
  std::vector<std::uint8_t> known(kPixels, 1);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const std::size_t a = At(x, y);
      truth[a] = 10.0F + 0.1F * static_cast<float>(x) - 0.05F * static_cast<float>(y);
      if (y >= 20) {
        truth[a] = 13.0F;
        scene.grey[a] = 200.0F;
      }
      refined[a] = truth[a];
      known[a] = x < 15 ? 0 : 1;
      filled[a] = y >= 20 ? 13 : 11;
    }
  }
  const std::vector<float> fitted = FitPlanes(filled, refined, known, scene.view, {});
  for (std::size_t a = 0; a < kPixels; ++a) EXPECT_NEAR(fitted[a], truth[a], 0.25) << a;
}

TEST(FitPlanes, LeavesWhatFewPixelsSupport) {
  const Scene scene;
  std::vector<std::uint8_t> known(kPixels, 0);
  known[At(20, 10)] = 1;
  const std::vector<int> filled(kPixels, 7);
  const std::vector<float> fitted =
      FitPlanes(filled, std::vector<float>(kPixels, 7.5F), known, scene.view, {});
  for (std::size_t a = 0; a < kPixels; ++a) EXPECT_EQ(fitted[a], known[a] != 0 ? 7.5F : 7.0F);
}

// Costs |k - x| have their least at x.
TEST(RefineByCosts, FindsTheTip) {
  CostVolume sums(5, 1, 9);
  const std::vector<double> at = {3.0, 3.25, 2.6, 0.0, 8.0};
  std::vector<int> labels;
  for (std::size_t a = 0; a < at.size(); ++a) {
    for (std::size_t k = 0; k < sums.stride(); ++k) {
      sums.cells(a, k) = k < 9 ? static_cast<std::uint16_t>(
                                     std::lround(1000.0 * std::abs(static_cast<double>(k) - at[a])))
                               : kPaddingCost;
    }
    labels.push_back(static_cast<int>(std::lround(at[a])));
  }
  const std::vector<float> refined = RefineByCosts(sums, labels);
  for (std::size_t a = 0; a < at.size(); ++a) EXPECT_NEAR(refined[a], at[a], 1e-3);
  // Labels that are not the cheapest stay.
  EXPECT_EQ(RefineByCosts(sums, std::vector<int>(5, 5)), std::vector<float>(5, 5.0F));
}

TEST(Median5x5, IsTheMiddleOne) {
  std::mt19937 random(3);
  for (const auto& [width, height] :
       {std::pair(1, 1), std::pair(2, 3), std::pair(9, 7), std::pair(60, 8)}) {
    std::vector<float> values(static_cast<std::size_t>(width) * height);
    for (float& v : values) v = static_cast<float>(random() % 50);
    const std::vector<float> medians = Median5x5(values, width, height);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        std::vector<float> window;
        for (int y2 = 0; y2 < height; ++y2) {
          for (int x2 = 0; x2 < width; ++x2) {
            if (std::abs(x - x2) <= 2 && std::abs(y - y2) <= 2)
              window.push_back(values[static_cast<std::size_t>(y2) * width + x2]);
          }
        }
        std::sort(window.begin(), window.end());
        EXPECT_EQ(medians[static_cast<std::size_t>(y) * width + x],
                  window[(window.size() - 1) / 2]);
      }
    }
  }
}

TEST(Median5x5, OfLargePicturesIsItsDefinition) {
  std::mt19937 random(4);
  for (const int width : {25, 26, 41, 42, 43, 200}) {
    std::vector<float> values(static_cast<std::size_t>(width) * 30);
    for (float& v : values) v = static_cast<float>(random() % 1000) / 7.0F;
    EXPECT_EQ(Median5x5(values, width, 30), scalar::Median5x5(values, width, 30)) << width;
  }
}

TEST(PlaneMoments, AreTheirDefinition) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> scratch;
  for (const std::size_t count : {0, 1, 7, 8, 9, 100, 625}) {
    DisparitySamples samples(625);
    samples.count = count;
    for (std::size_t j = 0; j < count; ++j) {
      samples.dx[j] = 60.0F * uniform(random);
      samples.dy[j] = 60.0F * uniform(random);
      samples.disparity[j] = 4.0F * uniform(random);
      samples.weight[j] = 0.5F + 0.5F * uniform(random);
    }
    // What is left there counts only by its weight, which is 0.
    for (std::size_t j = count; j < count + kSampleLanes; ++j) samples.disparity[j] = 1.0F;
    const Plane plane{0.3F, 0.01F, -0.02F};
    const PlaneMoments m = MomentsOf(samples, plane, 2.5F, &scratch);
    const PlaneMoments expected = scalar::MomentsOf(samples, plane, 2.5F);
    const auto near = [count](float a, float b, float largest) {
      EXPECT_NEAR(a, b, 1e-5F * largest * static_cast<float>(count));
    };
    near(m.n, expected.n, 1.0F);
    near(m.x, expected.x, 60.0F);
    near(m.y, expected.y, 60.0F);
    near(m.xx, expected.xx, 3600.0F);
    near(m.xy, expected.xy, 3600.0F);
    near(m.yy, expected.yy, 3600.0F);
    near(m.d, expected.d, 4.0F);
    near(m.xd, expected.xd, 240.0F);
    near(m.yd, expected.yd, 240.0F);
  }
}

TEST(ColourWeights, AreTheirDefinition) {
  constexpr double kScale = 5.0;
  for (const int channels : {1, 3}) {
    for (const int step : {1, 5}) {
      const testing::RandomPair pair(43, 17, channels, 1, 6);
      const StereoView& view = pair.left;
      const ColourWeights weights(view, kScale, step);
      const int columns = (view.width + step - 1) / step;
      std::vector<int> run(static_cast<std::size_t>(columns) - 1);
      for (int v = 0; v * step < view.height; ++v) {
        const std::size_t a = 13;
        weights.OfRun(a, static_cast<std::size_t>(v * columns + 1), run.size(), run.data());
        for (int u = 1; u < columns; ++u) {
          const auto b = static_cast<std::size_t>(v * step * view.width + u * step);
          double sum = 0.0;
          for (int c = 0; c < channels; ++c)
            sum += std::abs(view.samples[a * channels + c] - view.samples[b * channels + c]);
          EXPECT_NEAR(run[static_cast<std::size_t>(u) - 1],
                      ColourWeights::kOne * std::exp(-sum / (channels * kScale)), 1.0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace submarine::internal
