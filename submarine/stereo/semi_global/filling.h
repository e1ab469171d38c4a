// Disparities where the two views do not agree: from similar pixels around, else from the background.
#pragma once

#include <cstdint>
#include <vector>

#include "submarine/stereo/matching_cost.h"

namespace submarine::internal {

struct FillingOptions {
  // Votes: the pixels of a cross-shaped region (Zhang, Lu, Lafruit 2009) whose arms end where a channel
  // differs by `colour` from the centre's, by `far_colour` beyond `near` pixels, and after `far`.
  int rounds = 5;
  int least_votes = 20;
  double least_share = 0.4;
  int near_arm = 17;
  int far_arm = 34;
  float colour = 20.0F;
  float far_colour = 6.0F;
  // The weighted median over what was filled: exp(-difference / colour_scale), the mean over channels.
  int radius = 12;
  double colour_scale = 8.0;
};

// Disparities of pixels that are not `known` are replaced, in this order: by what most pixels of the
// region have, if there are enough; else the smaller of the nearest known ones of the row (or of the rows
// above and below); and then by the median of the pixels around, weighted by their colours. If no pixel is
// known, they stay as they are.
std::vector<int> FillDisparities(const std::vector<int>& disparities,
                                 const std::vector<std::uint8_t>& known, const StereoView& view,
                                 const FillingOptions& options);

// The median over windows of 5 x 5, over what of them is in the picture (of an even number the smaller
// middle one).
std::vector<float> Median5x5(const std::vector<float>& values, int width, int height);

}  // namespace submarine::internal
