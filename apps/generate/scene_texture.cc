#include "apps/generate/scene_texture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace submarine::apps {
namespace {

// Finer octaves are left out: pixels cannot show them, and they would differ between the views.
constexpr double kFinestWavelength = 2.5;
constexpr double kPersistence = 0.62;  // amplitude of an octave relative to the one above

double Smooth(double t) { return t * t * t * (t * (6.0 * t - 15.0) + 10.0); }

double Mix(double from, double to, double t) { return from + (to - from) * t; }

// Random numbers on the integer grid, interpolated with continuous second derivatives; in [0, 1).
double ValueNoise(std::uint64_t seed, double x, double y) {
  const double column = std::floor(x);
  const double row = std::floor(y);
  const auto i = static_cast<std::int64_t>(column);
  const auto j = static_cast<std::int64_t>(row);
  const double u = Smooth(x - column);
  const double v = Smooth(y - row);
  return Mix(Mix(HashUniform(seed, i, j), HashUniform(seed, i + 1, j), u),
             Mix(HashUniform(seed, i, j + 1), HashUniform(seed, i + 1, j + 1), u), v);
}

// Octaves of value noise from wavelength `largest` down; mean 1/2, spread over most of [0, 1].
double FractalNoise(std::uint64_t seed, double largest, double x, double y) {
  double sum = 0.0;
  double power = 0.0;
  double amplitude = 1.0;
  for (double wavelength = largest; wavelength >= kFinestWavelength; wavelength *= 0.5) {
    // Each octave is rotated by the angle of a 3-4-5 triangle, so that their grids do not align.
    const double turned_x = 0.8 * x - 0.6 * y;
    y = 0.6 * x + 0.8 * y;
    x = turned_x;
    seed = MixBits(seed);
    sum += amplitude * (ValueNoise(seed, x / wavelength, y / wavelength) - 0.5);
    power += amplitude * amplitude;
    amplitude *= kPersistence;
  }
  if (power == 0.0) return 0.5;
  return std::clamp(0.5 + sum / std::sqrt(power), 0.0, 1.0);
}

Colour FromPalette(const std::array<Colour, 3>& palette, double tone) {
  const double t = 2.0 * std::clamp(tone, 0.0, 1.0);
  const std::size_t k = t < 1.0 ? 0 : 1;
  Colour colour;
  for (std::size_t c = 0; c < 3; ++c) {
    colour[c] = Mix(palette[k][c], palette[k + 1][c], t - static_cast<double>(k));
  }
  return colour;
}

double Marble(const Texture& texture, double x, double y) {
  const double ridge = FractalNoise(texture.seed, texture.size, x, y);
  return 1.0 - std::min(1.0, 2.6 * std::abs(ridge - 0.5));
}

// Tree rings: a slow ramp across the grain, wrapped, bent by stretched noise.
double Wood(const Texture& texture, double x, double y) {
  const double along = x / 6.0;
  const double bend = FractalNoise(texture.seed, texture.size, along, y);
  const double phase = 2.5 * y / texture.size + 2.0 * bend;
  const double saw = phase - std::floor(phase);
  const double ring = 1.0 - std::abs(2.0 * saw - 1.0);
  return 0.75 * ring + 0.4 * (FractalNoise(MixBits(texture.seed), 12.0, along, y) - 0.3);
}

double Tiles(const Texture& texture, double x, double y) {
  const double side = 0.45 * texture.size;
  const double column = std::floor(x / side);
  const double row = std::floor(y / side);
  const double tone =
      HashUniform(texture.seed, static_cast<std::int64_t>(column), static_cast<std::int64_t>(row));
  const double from_joint = side * std::min({x / side - column, column + 1.0 - x / side,
                                             y / side - row, row + 1.0 - y / side});
  const double joint = std::clamp(from_joint - 0.03 * side, 0.0, 1.0);
  return joint * Mix(0.25, 0.85, tone);
}

}  // namespace

std::uint64_t MixBits(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

double HashUniform(std::uint64_t seed, std::int64_t i, std::int64_t j) {
  // Odd multipliers spread neighbouring i and j over all bits before the single round of mixing.
  const std::uint64_t bits = MixBits(seed ^ (static_cast<std::uint64_t>(i) * 0x8cb92ba72f3d8dd7u +
                                             static_cast<std::uint64_t>(j) * 0xd6e8feb86659fd93u));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

Colour ColourAt(const Texture& texture, double x, double y) {
  const double u = texture.direction[0] * x + texture.direction[1] * y;
  const double v = texture.direction[0] * y - texture.direction[1] * x;
  const double clouds = FractalNoise(MixBits(texture.seed ^ 1), texture.size, u, v);
  double tone = clouds;
  switch (texture.material) {
    case Material::kClouds:
      break;
    case Material::kMarble:
      tone = 0.75 * Marble(texture, u, v) + 0.25 * clouds;
      break;
    case Material::kWood:
      tone = 0.8 * Wood(texture, u, v) + 0.2 * clouds;
      break;
    case Material::kTiles:
      tone = Tiles(texture, u, v) + 0.35 * (clouds - 0.5);
      break;
  }
  // Fine grain on every material: there is something to match at every pixel.
  const double grain = 0.8 + 0.4 * FractalNoise(MixBits(texture.seed ^ 2), 6.0, u, v);
  Colour colour = FromPalette(texture.palette, tone);
  for (double& channel : colour) channel *= grain;
  return colour;
}

}  // namespace submarine::apps
