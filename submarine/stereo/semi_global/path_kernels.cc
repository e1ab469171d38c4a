#include "submarine/base/fixed_width_simd.h"  // must come before every Highway header

// Highway compiles this file once per instruction set (foreach_target.h includes it again) and
// picks the best one on the CPU at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "submarine/stereo/semi_global/path_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
// clang-format off
#include <hwy/highway.h>
// clang-format on

#include <array>
#include <cstddef>
#include <cstdint>

#include "submarine/stereo/semi_global/cost_volume.h"
#include "submarine/stereo/semi_global/path_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// 16 numbers, or fewer where registers are smaller: the padding suits both.
using Costs = hn::CappedTag<std::uint16_t, kDisparityLanes>;
using CostVector = hn::Vec<Costs>;

struct PathState {
  const std::uint16_t* before;
  std::uint16_t* here;
  const std::uint16_t* right_steps;
  CostVector least_before;
  CostVector one;
  CostVector one_at_step;
  CostVector more;  // with the least sum before
  CostVector more_at_step;
  CostVector least;

  HWY_INLINE void Start(const std::uint16_t* prior, std::uint16_t least_prior, std::uint16_t* to,
                        const std::uint16_t* steps, const PathPenalties& penalties) {
    const Costs d;
    before = prior;
    here = to;
    right_steps = steps;
    least_before = hn::Set(d, least_prior);
    one = hn::Set(d, penalties.one);
    one_at_step = hn::Set(d, penalties.one_at_step);
    more = hn::SaturatedAdd(least_before, hn::Set(d, penalties.more));
    more_at_step = hn::SaturatedAdd(least_before, hn::Set(d, penalties.more_at_step));
    least = hn::Set(d, kPaddingCost);
  }

  HWY_INLINE CostVector Next(CostVector cost, std::size_t k) {
    const Costs d;
    const auto step = hn::MaskFromVec(hn::LoadU(d, right_steps + k));
    const auto neighbour = hn::Min(hn::LoadU(d, before + k - 1), hn::LoadU(d, before + k + 1));
    const auto by_one = hn::SaturatedAdd(neighbour, hn::IfThenElse(step, one_at_step, one));
    const auto best = hn::Min(hn::Min(hn::LoadU(d, before + k), by_one),
                              hn::IfThenElse(step, more_at_step, more));
    const auto sum = hn::SaturatedAdd(cost, hn::SaturatedSub(best, least_before));
    hn::StoreU(sum, d, here + k);
    least = hn::Min(least, sum);
    return sum;
  }
};

void SumRow(const PathRow& row) {
  const Costs d;
  const std::size_t slot = row.slot();
  // Path 1 comes from the pixel before in the order of this row, 2 from the same column, 3 from the
  // next.
  const int order = row.backward ? -1 : 1;
  std::array<int, kPathsOfRow> from = {0, -order, 0, order};
  for (int i = 0; i < row.width; ++i) {
    const int x = row.backward ? row.width - 1 - i : i;
    std::array<PathState, kPathsOfRow> paths;
    for (int r = 0; r < kPathsOfRow; ++r) {
      const auto column = static_cast<std::size_t>(r == 0 ? i % 2 : x + 1 + from[r]);
      const auto to = static_cast<std::size_t>(r == 0 ? (i + 1) % 2 : x + 1);
      const std::uint16_t* before = r == 0 ? row.here[0] : row.before[r];
      const std::uint16_t* least = r == 0 ? row.least_here[0] : row.least_before[r];
      paths[r].Start(before + column * slot + kDisparityLanes, least[column],
                     row.here[r] + to * slot + kDisparityLanes,
                     row.right_steps[r] + (row.width - 1 - x),
                     row.penalties[row.left_steps[r][x] != 0 ? 1 : 0]);
    }
    const std::uint16_t* costs = row.costs + static_cast<std::size_t>(x) * row.stride;
    std::uint16_t* sums = row.sums + static_cast<std::size_t>(x) * row.stride;
    for (std::size_t k = 0; k < row.stride; k += hn::Lanes(d)) {
      const auto cost = hn::LoadU(d, costs + k);
      const auto two = hn::SaturatedAdd(paths[0].Next(cost, k), paths[1].Next(cost, k));
      const auto others = hn::SaturatedAdd(paths[2].Next(cost, k), paths[3].Next(cost, k));
      const auto all = hn::SaturatedAdd(two, others);
      hn::StoreU(row.adds ? hn::SaturatedAdd(hn::LoadU(d, sums + k), all) : all, d, sums + k);
    }
    for (int r = 0; r < kPathsOfRow; ++r) {
      const auto to = static_cast<std::size_t>(r == 0 ? (i + 1) % 2 : x + 1);
      row.least_here[r][to] = hn::GetLane(hn::MinOfLanes(d, paths[r].least));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace submarine::internal {

HWY_EXPORT(SumRow);

std::size_t PathRow::slot() const { return stride + kDisparityLanes; }

void SumPathsOfRow(const PathRow& row) { HWY_DYNAMIC_DISPATCH(SumRow)(row); }

}  // namespace submarine::internal
#endif  // HWY_ONCE
