// Disparities of a stereo pair by semi-global matching, from coarse to fine.
#pragma once

#include <cstdint>
#include <vector>

#include "submarine/stereo/filling/filling.h"
#include "submarine/stereo/filling/surfaces.h"
#include "submarine/stereo/matching_cost.h"
#include "submarine/stereo/semi_global/census_difference.h"
#include "submarine/stereo/semi_global/cost_volume.h"
#include "submarine/stereo/semi_global/path_sums.h"

namespace submarine::internal {

struct SemiGlobalOptions {
  CensusDifferenceOptions costs;
  PathOptions paths;
  FillingOptions filling;
  PlaneOptions planes;
  // Each level is half the size of the one before. Where a coarser one passed the check of both views, a
  // disparity that is further than `free` from its costs up to `weight`, reached at `reach` further.
  int levels = 3;
  double prior_weight = 0.1;
  int prior_free = 2;
  int prior_reach = 8;
};

struct SemiGlobalMatch {
  CostVolume sums;
  StereoGiven given;  // as it was given: costs and ranges stay with the caller
  // Whether the right view's disparity at the match is the same, and whether it differs by at most 1.
  std::vector<std::uint8_t> agrees;
  std::vector<std::uint8_t> visible;
  std::vector<float> raw;          // sub-pixel, the cheapest ones alone: NaN where not visible
  std::vector<float> disparities;  // sub-pixel; filled where the views do not agree
};

// Given costs are summed at one level; what says how they change are the views. Throws InvalidInput as
// MatchingCosts and CheckGiven do.
SemiGlobalMatch MatchSemiGlobal(const StereoView& left, const StereoView& right, int disparities,
                                const SemiGlobalOptions& options, const StereoGiven& given = {});

// Moves disparities into their ranges, where there are any.
void ClampToRanges(const StereoGiven& given, std::vector<float>* disparities);

}  // namespace submarine::internal
