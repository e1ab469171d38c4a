// Disparities of a stereo pair by semi-global matching, from coarse to fine.
#pragma once

#include <cstdint>
#include <vector>

#include "submarine/stereo/matching_cost.h"
#include "submarine/stereo/semi_global/census_difference.h"
#include "submarine/stereo/semi_global/cost_volume.h"
#include "submarine/stereo/semi_global/filling.h"
#include "submarine/stereo/semi_global/path_sums.h"

namespace submarine::internal {

struct SemiGlobalOptions {
  CensusDifferenceOptions costs;
  PathOptions paths;
  FillingOptions filling;
  // Each level is half the size of the one before. Where a coarser one passed the check of both views, a
  // disparity that is further than `free` from its costs up to `weight`, reached at `reach` further.
  int levels = 3;
  double prior_weight = 0.1;
  int prior_free = 2;
  int prior_reach = 8;
};

struct SemiGlobalMatch {
  CostVolume sums;
  std::vector<std::uint8_t> visible;  // whether both views agree
  std::vector<int> disparities;       // filled where they do not
};

SemiGlobalMatch MatchSemiGlobal(const StereoView& left, const StereoView& right, int disparities,
                                const SemiGlobalOptions& options);

// Whole disparities moved by up to half a pixel to where two lines of equal slope through their costs and
// those of their neighbours meet. Those that are not cheaper than both neighbours stay.
std::vector<float> RefineByCosts(const CostVolume& sums, const std::vector<int>& disparities);

}  // namespace submarine::internal
