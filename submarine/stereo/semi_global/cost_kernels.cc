#include "submarine/base/fixed_width_simd.h"  // must come before every Highway header

// Highway compiles this file once per instruction set (foreach_target.h includes it again) and
// picks the best one on the CPU at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "submarine/stereo/semi_global/cost_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
// clang-format off
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "submarine/stereo/semi_global/cost_kernels.h"
#include "submarine/stereo/semi_global/cost_volume.h"

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

// Plain loops: the compiler has an instruction for the bits that differ where this target has one.
template <int kChannels>
void ComparePixels(const CostRow& row) {
  for (int x = 0; x < row.width; ++x) {
    std::uint16_t* costs = row.costs + static_cast<std::size_t>(x) * row.stride;
    const auto from = static_cast<std::size_t>(row.width - 1 - x);
    const std::uint64_t* census = row.right_census + from;
    const std::uint64_t own = row.left_census[x];
    const int inside = std::min(row.disparities, x + 1);
    for (int k = 0; k < inside; ++k) {
      int difference = 0;
      for (int c = 0; c < kChannels; ++c) {
        const int d = int{row.left[c][x]} - int{row.right[c][from + static_cast<std::size_t>(k)]};
        difference += d < 0 ? -d : d;
      }
      const int bits = __builtin_popcountll(own ^ census[k]);
      costs[k] = static_cast<std::uint16_t>(row.by_bits[bits] + row.by_difference[difference]);
    }
    std::fill(costs + inside, costs + row.disparities, row.outside);
    std::fill(costs + row.disparities, costs + row.stride, kPaddingCost);
  }
}

void CompareOneRow(const CostRow& row) {
  if (row.channels == 1) {
    ComparePixels<1>(row);
  } else {
    ComparePixels<3>(row);
  }
}

void CensusRow(const float* grey, int width, int height, int y, std::uint64_t* words) {
  constexpr int kColumns = 4;
  constexpr int kRows = 3;
  const auto w = static_cast<std::size_t>(width);
  std::vector<float> padded(w + 2 * kColumns);
  std::fill(words, words + w, std::uint64_t{0});
  const float* own = grey + static_cast<std::size_t>(y) * w;
  for (int dy = -kRows; dy <= kRows; ++dy) {
    const float* line = grey + static_cast<std::size_t>(std::clamp(y + dy, 0, height - 1)) * w;
    std::fill(padded.begin(), padded.begin() + kColumns, line[0]);
    std::copy(line, line + w, padded.begin() + kColumns);
    std::fill(padded.end() - kColumns, padded.end(), line[w - 1]);
    for (int dx = -kColumns; dx <= kColumns; ++dx) {
      if (dx == 0 && dy == 0) continue;
      const float* neighbour = padded.data() + kColumns + dx;
      for (std::size_t x = 0; x < w; ++x)
        words[x] = 2 * words[x] + static_cast<std::uint64_t>(neighbour[x] < own[x]);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace submarine::internal {

HWY_EXPORT(CompareOneRow);
HWY_EXPORT(CensusRow);

void CompareRow(const CostRow& row) { HWY_DYNAMIC_DISPATCH(CompareOneRow)(row); }

void CensusOfRow(const float* grey, int width, int height, int y, std::uint64_t* words) {
  HWY_DYNAMIC_DISPATCH(CensusRow)(grey, width, height, y, words);
}

}  // namespace submarine::internal
#endif  // HWY_ONCE
