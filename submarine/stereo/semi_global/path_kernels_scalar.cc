#include <algorithm>

#include "submarine/stereo/semi_global/cost_volume.h"
#include "submarine/stereo/semi_global/path_kernels.h"

namespace submarine::internal {

std::size_t PathRow::slot() const { return stride + kDisparityLanes; }

namespace scalar {
namespace {

std::uint16_t Saturated(int sum) { return static_cast<std::uint16_t>(std::min(sum, 65535)); }

}  // namespace

void SumPathsOfRow(const PathRow& row) {
  const std::size_t slot = row.slot();
  const int order = row.backward ? -1 : 1;
  const std::array<int, kPathsOfRow> from = {0, -order, 0, order};
  for (int i = 0; i < row.width; ++i) {
    const int x = row.backward ? row.width - 1 - i : i;
    std::uint16_t* sums = row.sums + static_cast<std::size_t>(x) * row.stride;
    if (!row.adds) std::fill(sums, sums + row.stride, std::uint16_t{0});
    for (int r = 0; r < kPathsOfRow; ++r) {
      const auto column = static_cast<std::size_t>(r == 0 ? i % 2 : x + 1 + from[r]);
      const auto to = static_cast<std::size_t>(r == 0 ? (i + 1) % 2 : x + 1);
      const std::uint16_t* before =
          (r == 0 ? row.here[0] : row.before[r]) + column * slot + kDisparityLanes;
      const int least_before = (r == 0 ? row.least_here[0] : row.least_before[r])[column];
      std::uint16_t* here = row.here[r] + to * slot + kDisparityLanes;
      const PathPenalties& penalties = row.penalties[row.left_steps[r][x] != 0 ? 1 : 0];
      std::uint16_t least = kPaddingCost;
      for (std::size_t k = 0; k < row.stride; ++k) {
        const bool step = row.right_steps[r][static_cast<std::size_t>(row.width - 1 - x) + k] != 0;
        const int one = step ? penalties.one_at_step : penalties.one;
        const int more = step ? penalties.more_at_step : penalties.more;
        const int best =
            std::min({static_cast<int>(before[k]), std::min(before[k - 1], before[k + 1]) + one,
                      least_before + more});
        here[k] = Saturated(row.costs[static_cast<std::size_t>(x) * row.stride + k] +
                            std::max(0, best - least_before));
        least = std::min(least, here[k]);
        sums[k] = Saturated(sums[k] + here[k]);
      }
      row.least_here[r][to] = least;
    }
  }
}

}  // namespace scalar
}  // namespace submarine::internal
