#include "submarine/stereo/filling/plane_kernels.h"

#include <algorithm>

#include "submarine/base/simd/wide_registers.h"

namespace submarine::internal {
namespace {

// In the same order whatever the registers.
SUBMARINE_FOR_WIDE_REGISTERS
float Dot(const float* a, const float* b, std::size_t count) {
  float lanes[kSampleLanes] = {};
  for (std::size_t j = 0; j < count; j += kSampleLanes) {
    for (std::size_t l = 0; l < kSampleLanes; ++l) lanes[l] += a[j + l] * b[j + l];
  }
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
         ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// w, w dx and w dy.
SUBMARINE_FOR_WIDE_REGISTERS
void Weigh(const float* __restrict dx, const float* __restrict dy,
           const float* __restrict disparity, const float* __restrict weight, std::size_t count,
           float at, float slope_x, float slope_y, float tolerance, float* __restrict w,
           float* __restrict wx, float* __restrict wy) {
  for (std::size_t j = 0; j < count; ++j) {
    const float residual = (disparity[j] - at - slope_x * dx[j] - slope_y * dy[j]) / tolerance;
    const float rest = std::max(0.0F, 1.0F - residual * residual);
    w[j] = weight[j] * rest * rest;
    wx[j] = w[j] * dx[j];
    wy[j] = w[j] * dy[j];
  }
}

}  // namespace

PlaneMoments MomentsOf(const DisparitySamples& samples, const Plane& plane, float tolerance,
                       std::vector<float>* scratch) {
  const std::size_t count = (samples.count + kSampleLanes - 1) / kSampleLanes * kSampleLanes;
  scratch->resize(4 * samples.weight.size(), 1.0F);
  const float* ones = scratch->data();
  float* w = scratch->data() + samples.weight.size();
  float* wx = w + samples.weight.size();
  float* wy = wx + samples.weight.size();
  const float* dx = samples.dx.data();
  const float* dy = samples.dy.data();
  const float* d = samples.disparity.data();
  Weigh(dx, dy, d, samples.weight.data(), count, plane.at, plane.slope_x, plane.slope_y, tolerance,
        w, wx, wy);
  return {.n = Dot(w, ones, count),
          .x = Dot(wx, ones, count),
          .y = Dot(wy, ones, count),
          .xx = Dot(wx, dx, count),
          .xy = Dot(wx, dy, count),
          .yy = Dot(wy, dy, count),
          .d = Dot(w, d, count),
          .xd = Dot(wx, d, count),
          .yd = Dot(wy, d, count)};
}

}  // namespace submarine::internal
