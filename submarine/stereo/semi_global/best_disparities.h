// The cheapest disparity of every pixel of either view, and where both agree.
#pragma once

#include <cstdint>
#include <vector>

#include "submarine/stereo/semi_global/cost_volume.h"

namespace submarine::internal {

struct BestDisparities {
  std::vector<int> left;   // the least of the cheapest ones
  std::vector<int> right;  // of the same costs: pixel x at disparity k is x + k of the left view
};

BestDisparities FindBest(const CostVolume& sums);

// Of the left view: whether the pixel that its disparity matches has one that differs by at most
// `tolerance`.
std::vector<std::uint8_t> Agreement(const BestDisparities& best, int width, int tolerance);

}  // namespace submarine::internal
