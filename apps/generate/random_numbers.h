// Random numbers that are the same on every platform.
#pragma once

#include <random>

namespace submarine::apps {

// Uniform in [0, 1) from the generator's bits alone: std::uniform_real_distribution may differ
// between standard libraries, and a seed should give the same model everywhere.
inline double Uniform(std::mt19937_64* rng) {
  return static_cast<double>((*rng)() >> 11) * 0x1p-53;
}

}  // namespace submarine::apps
