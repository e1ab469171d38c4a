#include "submarine/base/fixed_width_simd.h"  // must come before every Highway header

// Highway compiles this file once per instruction set (foreach_target.h includes it again) and
// picks the best one on the CPU at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "submarine/stereo/semi_global/best_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
// clang-format off
#include <hwy/highway.h>
// clang-format on

#include <cstddef>
#include <cstdint>

#include "submarine/stereo/semi_global/best_kernels.h"
#include "submarine/stereo/semi_global/cost_volume.h"

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Disparities = hn::CappedTag<std::uint16_t, kDisparityLanes>;

void BestRow(const std::uint16_t* costs, int width, std::size_t stride, std::uint16_t* best,
             std::uint16_t* right_cost, std::uint16_t* right_best) {
  const Disparities d;
  const std::size_t lanes = hn::Lanes(d);
  for (int x = 0; x < width; ++x) {
    const std::uint16_t* cost = costs + static_cast<std::size_t>(x) * stride;
    std::uint16_t* right = right_cost + (width - 1 - x);
    std::uint16_t* right_k = right_best + (width - 1 - x);
    auto k = hn::Iota(d, 0);
    auto least = hn::Set(d, kPaddingCost);
    auto least_k = hn::Zero(d);
    for (std::size_t j = 0; j < stride; j += lanes) {
      const auto c = hn::LoadU(d, cost + j);
      const auto less = hn::Lt(c, least);
      least = hn::Min(least, c);
      least_k = hn::IfThenElse(less, k, least_k);
      const auto before = hn::LoadU(d, right + j);
      const auto better = hn::Lt(c, before);
      hn::StoreU(hn::Min(c, before), d, right + j);
      hn::StoreU(hn::IfThenElse(better, k, hn::LoadU(d, right_k + j)), d, right_k + j);
      k = hn::Add(k, hn::Set(d, static_cast<std::uint16_t>(lanes)));
    }
    // Of equal ones the first.
    const auto all = hn::MinOfLanes(d, least);
    const auto at = hn::IfThenElse(hn::Eq(least, all), least_k, hn::Set(d, std::uint16_t{65535}));
    best[x] = hn::GetLane(hn::MinOfLanes(d, at));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace submarine::internal {

HWY_EXPORT(BestRow);

void BestOfRow(const std::uint16_t* costs, int width, std::size_t stride, std::uint16_t* best,
               std::uint16_t* right_cost, std::uint16_t* right_best) {
  HWY_DYNAMIC_DISPATCH(BestRow)(costs, width, stride, best, right_cost, right_best);
}

}  // namespace submarine::internal
#endif  // HWY_ONCE
