// Semi-global sums (Hirschmueller 2008): for every pixel and disparity, the least costs of eight straight
// paths that end there, each with penalties for changes of disparity along it.
#pragma once

#include "submarine/stereo/matching_cost.h"
#include "submarine/stereo/semi_global/cost_volume.h"

namespace submarine::internal {

struct PathOptions {
  double one = 0.7;   // penalty of a change by one disparity
  double more = 3.0;  // and by more
  // Penalties are divided where one view, or both, have a step of colour along the path: a difference of
  // at least `step` grey levels in some channel. The right view's step is that between the pixels that this
  // disparity matches.
  float step = 12.0F;
  double one_view = 4.0;
  double both_views = 10.0;
};

// The same numbers whatever the number of threads.
CostVolume PathSums(const CostVolume& costs, const StereoView& left, const StereoView& right,
                    const PathOptions& options);

}  // namespace submarine::internal
