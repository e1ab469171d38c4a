// The cost of a match: how much the order of grey values around the pixels differs (census), and a little
// of how much their colours do.
#pragma once

#include "submarine/stereo/matching_cost.h"
#include "submarine/stereo/semi_global/cost_volume.h"

namespace submarine::internal {

// cost = 1 - exp(-bits / census_scale) + difference_weight (1 - exp(-difference / difference_scale)),
// bits of 62, difference the mean over channels.
struct CensusDifferenceOptions {
  double census_scale = 30.0;
  double difference_weight = 0.3;
  double difference_scale = 10.0;
  double outside = 0.5;  // of a match outside the other view: nothing is known of it
};

// Views alike and checked.
CostVolume CensusDifference(const StereoView& left, const StereoView& right, int disparities,
                            const CensusDifferenceOptions& options);

}  // namespace submarine::internal
