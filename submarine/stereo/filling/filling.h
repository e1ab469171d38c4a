// Disparities where the two views do not agree: from similar pixels around, else from the background.
#pragma once

#include <cstdint>
#include <vector>

#include "submarine/stereo/matching_cost.h"
#include "submarine/stereo/semi_global/best_disparities.h"

namespace submarine::internal {

struct FillingOptions {
  // Votes: the pixels of a cross-shaped region (Zhang, Lu, Lafruit 2009) whose arms end where a channel
  // differs by `colour` from the centre's, by `far_colour` beyond near_arm pixels, and after far_arm.
  int rounds = 5;
  int least_votes = 20;
  double least_share = 0.4;
  int near_arm = 17;
  int far_arm = 34;
  float colour = 20.0F;
  float far_colour = 6.0F;
  // A disparity is possible where the right view sees nothing further away than `slack` at its match.
  int slack = 2;
  // Weighted medians (colour_weights.h): of what was filled in, and where disparities jump.
  int radius = 12;
  int edge_radius = 3;
  double colour_scale = 5.0;
};

// Disparities that do not agree are replaced, in this order: by what most pixels of the region have, if
// there are enough; else the smaller of the nearest ones of the row (or of the rows above and below); and
// then by the median of the pixels around, weighted by their colours. What is not possible does not count:
// the right view would see the pixel there, in front of what it does see. If no pixel agrees, all stay as
// they are.
std::vector<int> FillDisparities(const BestDisparities& best,
                                 const std::vector<std::uint8_t>& agrees, const StereoView& view,
                                 const FillingOptions& options);

}  // namespace submarine::internal
