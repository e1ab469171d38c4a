#include "submarine/io/image/colour_map.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace submarine {
namespace {

std::uint8_t GammaEncoded(double linear) {
  linear = std::clamp(linear, 0.0, 1.0);
  const double srgb =
      linear <= 0.0031308 ? 12.92 * linear : 1.055 * std::pow(linear, 1.0 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255.0 * srgb));
}

// Oklab (Ottosson 2020) to sRGB. Lightness in Oklab is perceived lightness, which makes steps even.
std::array<std::uint8_t, 3> FromOklab(double lightness, double a, double b) {
  const double l = std::pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = std::pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = std::pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  return {GammaEncoded(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          GammaEncoded(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          GammaEncoded(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

// A spiral through Oklab: lightness rises linearly while the hue turns from violet to yellow.
std::array<std::uint8_t, 3> SpiralColour(double t) {
  const double lightness = 0.22 + 0.73 * t;
  const double hue = (305.0 - 200.0 * t) * std::numbers::pi / 180.0;
  const double chroma = 0.085 + 0.055 * t * t * t;  // the most that stays inside sRGB everywhere
  return FromOklab(lightness, chroma * std::cos(hue), chroma * std::sin(hue));
}

}  // namespace

std::array<std::uint8_t, 3> ColourMap(double t) {
  if (std::isnan(t)) return {128, 128, 128};
  constexpr int kSteps = 1024;
  static const auto kTable = [] {
    std::array<std::array<std::uint8_t, 3>, kSteps + 1> table;
    for (int k = 0; k <= kSteps; ++k)
      table[static_cast<std::size_t>(k)] = SpiralColour(double(k) / kSteps);
    return table;
  }();
  return kTable[static_cast<std::size_t>(std::lround(std::clamp(t, 0.0, 1.0) * kSteps))];
}

}  // namespace submarine
