#include "apps/stereo/stereo_depth.h"

#include <cstddef>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/io/file/npy.h"
#include "submarine/stereo/match/stereo_crf.h"

namespace submarine::apps {
namespace {

constexpr double kShare = 0.9;  // of the marginals that the interval holds

float DepthOf(double scale, float disparity) {
  return disparity > 0.0F ? static_cast<float>(scale / disparity)
                          : std::numeric_limits<float>::infinity();
}

}  // namespace

void CheckCamera(const StereoCamera& camera) {
  if (camera.focal.has_value() != camera.baseline.has_value())
    throw InvalidInput("depth takes both --focal and --baseline, of which one is given");
}

void WriteDepth(const Bundle& bundle, const StereoPair& pair, const StereoCamera& camera,
                int shrink, const StereoResult& result, const SolveResult* outcome) {
  if (!camera.focal) return;
  const double scale = *camera.focal / shrink * *camera.baseline;
  const internal::NpyShape shape = {pair.height, pair.width};
  std::vector<float> depth;
  depth.reserve(result.disparities.size());
  for (const float disparity : result.disparities) depth.push_back(DepthOf(scale, disparity));
  internal::WriteNpy(bundle.File("depth.npy"), std::span<const float>(depth), shape);
  if (outcome == nullptr) return;
  const DisparityIntervals intervals =
      StereoIntervals(std::get<Matrix<float>>(outcome->marginals), result.disparities, kShare);
  std::vector<float> ends;
  ends.reserve(2 * depth.size());
  for (std::size_t a = 0; a < depth.size(); ++a) {
    ends.push_back(DepthOf(scale, intervals.high[a]));
    ends.push_back(DepthOf(scale, intervals.low[a]));
  }
  internal::WriteNpy(bundle.File("depth_interval.npy"), std::span<const float>(ends),
                     internal::NpyShape{pair.height, pair.width, 2});
}

}  // namespace submarine::apps
