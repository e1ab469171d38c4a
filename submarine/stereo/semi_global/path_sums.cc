#include "submarine/stereo/semi_global/path_sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/stereo/semi_global/path_kernels.h"

namespace submarine::internal {
namespace {

std::uint16_t Units(double penalty) {
  return static_cast<std::uint16_t>(std::lround(penalty * kCostUnit));
}

std::array<PathPenalties, 2> Penalties(const PathOptions& options) {
  const auto divided = [&](double by, double by_at_step) {
    return PathPenalties{Units(options.one / by), Units(options.more / by),
                         Units(options.one / by_at_step), Units(options.more / by_at_step)};
  };
  return {divided(1.0, options.one_view), divided(options.one_view, options.both_views)};
}

bool HasStep(const StereoView& view, int x, int y, int x2, int y2, float step) {
  if (x2 < 0 || x2 >= view.width || y2 < 0 || y2 >= view.height) return false;
  const auto at = [&](int column, int row) {
    return view.samples.data() + (static_cast<std::size_t>(row) * view.width + column) *
                                     static_cast<std::size_t>(view.channels);
  };
  const float* a = at(x, y);
  const float* b = at(x2, y2);
  for (int c = 0; c < view.channels; ++c) {
    if (std::abs(a[c] - b[c]) >= step) return true;
  }
  return false;
}

// The paths along rows in one direction and from the rows before, row by row.
class Pass {
 public:
  Pass(const CostVolume& costs, const StereoView& left, const StereoView& right,
       const PathOptions& options, bool backward, CostVolume* sums)
      : costs_(costs), left_(left), right_(right), options_(options), sums_(*sums) {
    const auto width = static_cast<std::size_t>(costs.width);
    row_.width = costs.width;
    row_.stride = costs.stride();
    row_.backward = backward;
    row_.penalties = Penalties(options);
    for (std::size_t r = 0; r < kPathsOfRow; ++r) {
      left_steps_[r].assign(width, 0);
      right_steps_[r].assign(width + row_.stride, 0);
      const std::size_t slots = r == 0 ? 2 : width + 2;
      for (int turn = 0; turn < (r == 0 ? 1 : 2); ++turn) {
        std::vector<std::uint16_t>& sums_here = rows_[turn][r];
        // One more slot, whose beginning ends the last.
        sums_here.assign((slots + 1) * row_.slot(), kPaddingCost);
        least_[turn][r].assign(slots, 0);
        Clear(&sums_here, 0);
        Clear(&sums_here, slots - 1);
      }
      row_.left_steps[r] = left_steps_[r].data();
      row_.right_steps[r] = right_steps_[r].data();
    }
    // Before the first row: no pixels.
    for (std::size_t r = 1; r < kPathsOfRow; ++r) {
      for (std::size_t slot = 0; slot < width + 2; ++slot) Clear(&rows_[1][r], slot);
    }
  }

  // The rows from `begin` to `end` in the order of this pass; what is there already is added to.
  void Run(int begin, int end, bool adds) {
    row_.adds = adds;
    for (int i = begin; i < end; ++i) Row(row_.backward ? costs_.height - 1 - i : i, i % 2);
  }

 private:
  void Clear(std::vector<std::uint16_t>* sums, std::size_t slot) const {
    const auto begin =
        sums->begin() + static_cast<std::ptrdiff_t>(slot * row_.slot() + kDisparityLanes);
    std::fill(begin, begin + static_cast<std::ptrdiff_t>(row_.stride), std::uint16_t{0});
  }

  void Row(int y, int turn) {
    const int order = row_.backward ? -1 : 1;
    const std::array<std::array<int, 2>, kPathsOfRow> before = {
        {{-order, 0}, {-order, -order}, {0, -order}, {order, -order}}};
    for (std::size_t r = 0; r < kPathsOfRow; ++r) {
      const auto [dx, dy] = before[r];
      for (int x = 0; x < costs_.width; ++x) {
        left_steps_[r][static_cast<std::size_t>(x)] =
            HasStep(left_, x, y, x + dx, y + dy, options_.step) ? 1 : 0;
        right_steps_[r][static_cast<std::size_t>(costs_.width - 1 - x)] =
            HasStep(right_, x, y, x + dx, y + dy, options_.step) ? 0xFFFF : 0;
      }
      row_.here[r] = rows_[r == 0 ? 0 : turn][r].data();
      row_.least_here[r] = least_[r == 0 ? 0 : turn][r].data();
      row_.before[r] = rows_[1 - turn][r].data();
      row_.least_before[r] = least_[1 - turn][r].data();
    }
    Clear(&rows_[0][0], 0);
    least_[0][0][0] = 0;
    row_.costs = costs_.at(0, y).data();
    row_.sums = sums_.at(0, y).data();
    SumPathsOfRow(row_);
  }

  const CostVolume& costs_;
  const StereoView& left_;
  const StereoView& right_;
  const PathOptions& options_;
  CostVolume& sums_;
  PathRow row_;
  std::array<std::vector<std::uint8_t>, kPathsOfRow> left_steps_;
  std::array<std::vector<std::uint16_t>, kPathsOfRow> right_steps_;
  std::array<std::array<std::vector<std::uint16_t>, kPathsOfRow>, 2> rows_;
  std::array<std::array<std::vector<std::uint16_t>, kPathsOfRow>, 2> least_;
};

}  // namespace

CostVolume PathSums(const CostVolume& costs, const StereoView& left, const StereoView& right,
                    const PathOptions& options) {
  CostVolume sums(costs.width, costs.height, costs.disparities);
  std::array<Pass, 2> passes = {Pass(costs, left, right, options, false, &sums),
                                Pass(costs, left, right, options, true, &sums)};
  // One pass from the top and one from the bottom, until they meet; then each adds to the other's rows.
  const int half = costs.height / 2;
  const std::array<int, 2> meeting = {half, costs.height - half};
  for (const bool adds : {false, true}) {
    ParallelFor(passes.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p)
        passes[p].Run(adds ? meeting[p] : 0, adds ? costs.height : meeting[p], adds);
    });
  }
  return sums;
}

}  // namespace submarine::internal
