#include <algorithm>
#include <bit>
#include <cstdlib>

#include "submarine/stereo/semi_global/cost_kernels.h"
#include "submarine/stereo/semi_global/cost_volume.h"

namespace submarine::internal::scalar {

void CompareRow(const CostRow& row) {
  for (int x = 0; x < row.width; ++x) {
    for (int k = 0; k < static_cast<int>(row.stride); ++k) {
      std::uint16_t& cost = row.costs[static_cast<std::size_t>(x) * row.stride + k];
      cost = k < row.disparities ? row.outside : kPaddingCost;
      if (k >= row.disparities || k > x) continue;
      const int reversed = row.width - 1 - (x - k);
      int difference = 0;
      for (int c = 0; c < row.channels; ++c)
        difference += std::abs(int{row.left[c][x]} - int{row.right[c][reversed]});
      const int bits = std::popcount(row.left_census[x] ^ row.right_census[reversed]);
      cost = static_cast<std::uint16_t>(row.by_bits[bits] + row.by_difference[difference]);
    }
  }
}

void CensusOfRow(const float* grey, int width, int height, int y, std::uint64_t* words) {
  const auto at = [&](int column, int row) {
    return grey[static_cast<std::size_t>(std::clamp(row, 0, height - 1)) * width +
                std::clamp(column, 0, width - 1)];
  };
  for (int x = 0; x < width; ++x) {
    words[x] = 0;
    for (int dy = -3; dy <= 3; ++dy) {
      for (int dx = -4; dx <= 4; ++dx) {
        if (dx != 0 || dy != 0) words[x] = 2 * words[x] + (at(x + dx, y + dy) < at(x, y) ? 1 : 0);
      }
    }
  }
}

}  // namespace submarine::internal::scalar
