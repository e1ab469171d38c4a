// What callers know of a pair (StereoGiven), as costs of semi-global matching.
#pragma once

#include <span>

#include "submarine/stereo/matching_cost.h"
#include "submarine/stereo/semi_global/cost_volume.h"

namespace submarine::internal {

// No path through a pixel at this cost is as cheap as one at a cost that views can have and a change of
// disparity, and sums of eight still fit.
inline constexpr std::uint16_t kImpossibleCost = 4608;

// Throws InvalidInput for sizes that do not fit width x height pixels, costs none of which is finite, one end
// of ranges without the other, and ranges that are empty or hold none of the disparities.
void CheckGiven(const StereoGiven& given, int width, int height, int disparities);

// A row of disparities per pixel. What is not finite costs `outside`, as a match outside the other view
// does. The rest is moved and scaled so that a pixel's least cost, and how far the mean of its costs is
// above it, are in the median what they are where views are compared.
CostVolume ScaledCosts(std::span<const float> costs, int width, int height, int disparities,
                       double outside);

// Makes disparities outside of ranges impossible; a range begins at the whole number below its low end.
void ExcludeOutside(const StereoGiven& given, CostVolume* costs);
bool IsOutside(const StereoGiven& given, std::size_t pixel, int disparity);

}  // namespace submarine::internal
