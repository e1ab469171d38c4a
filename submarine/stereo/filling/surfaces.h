// From whole disparities to surfaces: where the views agree to where their costs say, else onto planes.
#pragma once

#include <cstdint>
#include <vector>

#include "submarine/stereo/matching_cost.h"
#include "submarine/stereo/semi_global/cost_volume.h"

namespace submarine::internal {

// Whole disparities moved by up to half a pixel to where two lines of equal slope through their costs and
// those of their neighbours meet. Those that are not cheaper than both neighbours stay.
std::vector<float> RefineByCosts(const CostVolume& sums, const std::vector<int>& disparities);

struct PlaneOptions {
  // Of every step-th pixel and row within the radius that are known, weighted by colour (colour_weights.h).
  int radius = 60;
  int step = 5;
  double colour_scale = 8.0;
  // Those further than `reach` from the disparity do not count at first, and those further than a third of
  // that from the plane in the end.
  float reach = 2.5F;
  float most = 20.0F;    // the disparity is moved by at most this much
  float support = 5.0F;  // least sum of weights
  float ridge = 4.0F;    // squared pixels: slopes seen over less than this are small
};

// The known ones of `refined`, and those that are not known moved onto a plane through known ones around.
std::vector<float> FitPlanes(const std::vector<int>& filled, const std::vector<float>& refined,
                             const std::vector<std::uint8_t>& known, const StereoView& view,
                             const PlaneOptions& options);

// The median over windows of 5 x 5, over what of them is in the picture (of an even number the smaller
// middle one).
std::vector<float> Median5x5(const std::vector<float>& values, int width, int height);

}  // namespace submarine::internal
