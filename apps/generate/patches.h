// A picture of patches, each of one colour and one label: the pixels nearest to its centre.
#pragma once

#include <array>
#include <cstddef>
#include <random>
#include <vector>

namespace submarine::apps {

struct Patch {
  double x;
  double y;
  std::array<double, 3> colour;
  std::size_t label;
};

// Two patches per label.
std::vector<Patch> RandomPatches(int width, int height, int labels, std::mt19937_64* rng);

// The patch of pixel a = y width + x.
const Patch& PatchAt(const std::vector<Patch>& patches, std::size_t pixel, int width);

// Its colour with uniform noise, 0 to 255.
std::array<float, 3> NoisyColour(const Patch& patch, std::mt19937_64* rng);

}  // namespace submarine::apps
