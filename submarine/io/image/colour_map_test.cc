#include "submarine/io/image/colour_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace submarine {
namespace {

double Luminance(const std::array<std::uint8_t, 3>& colour) {
  double sum = 0.0;
  const double weight[] = {0.2126, 0.7152, 0.0722};
  for (std::size_t c = 0; c < 3; ++c) {
    const double v = colour[c] / 255.0;
    sum += weight[c] * (v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4));
  }
  return sum;
}

TEST(ColourMap, LightnessRisesEvenly) {
  // CIE lightness of equal steps: monotone, and no step more than twice the average.
  double previous = 116 * std::cbrt(Luminance(ColourMap(0.0))) - 16;
  const double first = previous;
  double largest = 0.0;
  for (int k = 1; k <= 32; ++k) {
    const double lightness = 116 * std::cbrt(Luminance(ColourMap(k / 32.0))) - 16;
    EXPECT_GT(lightness, previous) << k;
    largest = std::max(largest, lightness - previous);
    previous = lightness;
  }
  EXPECT_GT(previous - first, 75.0);
  EXPECT_LT(largest, 2.0 * (previous - first) / 32);
}

TEST(ColourMap, ClampsAndMarksNan) {
  EXPECT_EQ(ColourMap(-3.0), ColourMap(0.0));
  EXPECT_EQ(ColourMap(std::numeric_limits<double>::infinity()), ColourMap(1.0));
  EXPECT_EQ(ColourMap(std::nan("")), (std::array<std::uint8_t, 3>{128, 128, 128}));
}

}  // namespace
}  // namespace submarine
