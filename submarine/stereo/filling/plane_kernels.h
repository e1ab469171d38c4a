// Planes through samples of disparities (filling/surfaces.h).
#pragma once

#include <cstddef>
#include <vector>

namespace submarine::internal {

// Kernels read whole groups of this many: room for as many more is held, of weight 0.
inline constexpr std::size_t kSampleLanes = 8;

// At offsets (dx, dy) from a pixel.
struct DisparitySamples {
  explicit DisparitySamples(std::size_t most)
      : dx(most + kSampleLanes),
        dy(most + kSampleLanes),
        disparity(most + kSampleLanes),
        weight(most + kSampleLanes) {}

  std::size_t count = 0;
  std::vector<float> dx;
  std::vector<float> dy;
  std::vector<float> disparity;
  std::vector<float> weight;
};

struct Plane {
  float at = 0.0F;
  float slope_x = 0.0F;
  float slope_y = 0.0F;
};

// Sums of w, w dx, ... over samples, w the weight of each times Tukey's of its distance from the plane: the less
// the further, and 0 beyond the tolerance.
struct PlaneMoments {
  float n;
  float x;
  float y;
  float xx;
  float xy;
  float yy;
  float d;
  float xd;
  float yd;
};

// The weights of the samples after the last must be 0 up to the next multiple of kSampleLanes. `scratch` holds
// what it is given to.
PlaneMoments MomentsOf(const DisparitySamples& samples, const Plane& plane, float tolerance,
                       std::vector<float>* scratch);

}  // namespace submarine::internal
