#include "apps/generate/scene_texture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace submarine::apps {
namespace {

constexpr Material kMaterials[] = {Material::kClouds, Material::kMarble, Material::kWood,
                                   Material::kTiles};

Texture MakeTexture(Material material, std::uint64_t seed) {
  return {.material = material,
          .seed = seed,
          .size = 40.0,
          .direction = {0.8, 0.6},
          .palette = {Colour{20, 40, 60}, Colour{100, 120, 90}, Colour{200, 220, 180}}};
}

TEST(HashUniform, IsUniformAndUncorrelatedBetweenNeighbours) {
  constexpr std::int64_t kSide = 300;
  double sum = 0.0, squares = 0.0, right = 0.0, below = 0.0;
  for (std::int64_t i = -kSide / 2; i < kSide / 2; ++i) {
    for (std::int64_t j = -kSide / 2; j < kSide / 2; ++j) {
      const double u = HashUniform(5, i, j);
      ASSERT_GE(u, 0.0);
      ASSERT_LT(u, 1.0);
      sum += u - 0.5;
      squares += (u - 0.5) * (u - 0.5);
      right += (u - 0.5) * (HashUniform(5, i + 1, j) - 0.5);
      below += (u - 0.5) * (HashUniform(5, i, j + 1) - 0.5);
    }
  }
  // Five standard errors; the variances are 1/12, 1/180 and (1/12)^2.
  constexpr double kCount = 1.0 * kSide * kSide;
  EXPECT_NEAR(sum / kCount, 0.0, 5.0 * std::sqrt(1.0 / 12.0 / kCount));
  EXPECT_NEAR(squares / kCount, 1.0 / 12.0, 5.0 * std::sqrt(1.0 / 180.0 / kCount));
  EXPECT_NEAR(right / kCount, 0.0, 5.0 / 12.0 / std::sqrt(kCount));
  EXPECT_NEAR(below / kCount, 0.0, 5.0 / 12.0 / std::sqrt(kCount));
}

TEST(ColourAt, StaysWithinThePaletteAndTheGrainAndUsesThem) {
  for (const Material material : kMaterials) {
    const Texture texture = MakeTexture(material, 7);
    double darkest = 1e9;
    double lightest = -1e9;
    for (int k = 0; k < 20000; ++k) {
      const Colour colour = ColourAt(texture, 1.37 * (k % 200) - 100.0, 1.91 * (k / 200.0) - 50.0);
      for (std::size_t c = 0; c < 3; ++c) {
        ASSERT_GE(colour[c], 0.8 * texture.palette[0][c]);
        ASSERT_LE(colour[c], 1.2 * texture.palette[2][c]);
      }
      darkest = std::min(darkest, colour[1]);
      lightest = std::max(lightest, colour[1]);
    }
    EXPECT_LT(darkest, 80.0) << static_cast<int>(material);
    EXPECT_GT(lightest, 160.0) << static_cast<int>(material);
  }
}

TEST(ColourAt, IsContinuous) {
  for (const Material material : {Material::kClouds, Material::kMarble, Material::kWood}) {
    const Texture texture = MakeTexture(material, 8);
    for (int k = 0; k < 2000; ++k) {
      const double x = -30.0 + 0.5 * (k % 100);
      const double y = -5.0 + 0.5 * (k / 100.0);
      const Colour here = ColourAt(texture, x, y);
      const Colour near = ColourAt(texture, x + 1e-7, y - 1e-7);
      for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(here[c], near[c], 1e-4);
    }
  }
}

TEST(ColourAt, DependsOnTheSeed) {
  for (const Material material : kMaterials) {
    const Colour p = ColourAt(MakeTexture(material, 1), 3.0, 4.0);
    const Colour q = ColourAt(MakeTexture(material, 2), 3.0, 4.0);
    EXPECT_NE(p, q);
    EXPECT_EQ(p, ColourAt(MakeTexture(material, 1), 3.0, 4.0));
  }
}

// No octave is wide enough to be shown: flat, but not a division by zero.
TEST(ColourAt, OfTinySizeIsFinite) {
  for (const Material material : kMaterials) {
    Texture texture = MakeTexture(material, 3);
    texture.size = 0.5;
    for (const double channel : ColourAt(texture, 17.3, -4.2)) EXPECT_TRUE(std::isfinite(channel));
  }
}

}  // namespace
}  // namespace submarine::apps
