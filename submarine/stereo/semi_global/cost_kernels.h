// Costs of one row of pixels (semi_global/census_difference.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace submarine::internal {

inline constexpr std::size_t kMostDifferingBits = 64;
inline constexpr int kMostChannels = 3;
inline constexpr std::size_t kMostDifference = 255 * kMostChannels;

struct CostRow {
  int width = 0;
  int channels = 1;
  int disparities = 0;
  std::size_t stride = 0;  // from pixel to pixel of `costs`
  // The right view's row is reversed: entry width - 1 - x. Samples by channel.
  const std::uint64_t* left_census = nullptr;
  const std::uint64_t* right_census = nullptr;
  std::array<const std::uint8_t*, kMostChannels> left = {};
  std::array<const std::uint8_t*, kMostChannels> right = {};
  const std::uint16_t* by_bits = nullptr;        // cost by the number of differing bits
  const std::uint16_t* by_difference = nullptr;  // and by the sum of differences
  std::uint16_t outside = 0;                     // where there is no pixel to match
  std::uint16_t* costs = nullptr;
};

void CompareRow(const CostRow& row);

// The census of row y of a grey picture: a bit for each neighbour in a 9 x 7 window, whether it is
// darker. Neighbours outside are their nearest pixels.
void CensusOfRow(const float* grey, int width, int height, int y, std::uint64_t* words);

}  // namespace submarine::internal
