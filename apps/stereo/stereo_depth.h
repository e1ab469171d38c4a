// From disparities to depths, with intervals.
#pragma once

#include <optional>

#include "apps/solve/bundle.h"
#include "apps/stereo/stereo.h"
#include "apps/stereo/stereo_output.h"

namespace submarine::apps {

struct StereoCamera {
  std::optional<double> focal;     // pixels of the files
  std::optional<double> baseline;  // depth has its unit
};

// Throws InvalidInput if only one of the two is given.
void CheckCamera(const StereoCamera& camera);

// depth.npy: focal baseline / disparity, infinite where that is 0; and, if there are marginals,
// depth_interval.npy (height, width, 2): the nearest and farthest depth of the central 90% of each
// pixel's marginal. Nothing without a camera.
void WriteDepth(const Bundle& bundle, const StereoPair& pair, const StereoCamera& camera,
                int shrink, const StereoResult& result, const SolveResult* outcome);

}  // namespace submarine::apps
