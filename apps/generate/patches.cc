#include "apps/generate/patches.h"

#include <algorithm>

#include "apps/generate/random_numbers.h"

namespace submarine::apps {

std::vector<Patch> RandomPatches(int width, int height, int labels, std::mt19937_64* rng) {
  std::vector<Patch> patches(2 * static_cast<std::size_t>(labels));
  for (std::size_t p = 0; p < patches.size(); ++p) {
    patches[p].x = width * Uniform(rng);
    patches[p].y = height * Uniform(rng);
    for (double& channel : patches[p].colour) channel = 255.0 * Uniform(rng);
    patches[p].label = p % static_cast<std::size_t>(labels);
  }
  return patches;
}

const Patch& PatchAt(const std::vector<Patch>& patches, std::size_t pixel, int width) {
  const std::size_t row = pixel / static_cast<std::size_t>(width);
  const auto x = static_cast<double>(pixel % static_cast<std::size_t>(width));
  const auto y = static_cast<double>(row);
  const auto distance = [&](const Patch& patch) {
    return (patch.x - x) * (patch.x - x) + (patch.y - y) * (patch.y - y);
  };
  return *std::min_element(patches.begin(), patches.end(), [&](const Patch& p, const Patch& q) {
    return distance(p) < distance(q);
  });
}

std::array<float, 3> NoisyColour(const Patch& patch, std::mt19937_64* rng) {
  constexpr double kColourNoise = 20.0;
  std::array<float, 3> colour;
  for (std::size_t c = 0; c < 3; ++c) {
    const double noisy = patch.colour[c] + kColourNoise * (Uniform(rng) - 0.5);
    colour[c] = static_cast<float>(std::clamp(noisy, 0.0, 255.0));
  }
  return colour;
}

}  // namespace submarine::apps
