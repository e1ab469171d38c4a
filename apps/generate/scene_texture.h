// Procedural colour textures: value noise in several octaves, shaped into a few materials.
#pragma once

#include <array>
#include <cstdint>

namespace submarine::apps {

using Colour = std::array<double, 3>;  // RGB, about 0 to 255

// 64 well mixed bits of `value` (the finaliser of splitmix64).
std::uint64_t MixBits(std::uint64_t value);
// A uniform number in [0, 1) that depends only on the arguments.
double HashUniform(std::uint64_t seed, std::int64_t i, std::int64_t j);

enum class Material {
  kClouds,  // soft blotches
  kMarble,  // veins
  kWood,    // grain along the direction
  kTiles,   // squares of one colour, with joints
};

struct Texture {
  Material material = Material::kClouds;
  std::uint64_t seed = 0;
  double size = 64.0;                        // of the largest features, in pixels
  std::array<double, 2> direction = {1, 0};  // a unit vector
  std::array<Colour, 3> palette = {};        // dark, middle, light
};

// Continuous in (x, y) except at the borders of tiles. Uses arithmetic, sqrt and floor only, whose
// results do not depend on the mathematical library.
Colour ColourAt(const Texture& texture, double x, double y);

}  // namespace submarine::apps
