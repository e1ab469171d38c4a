#include "submarine/stereo/filling/median_kernels.h"

#include "submarine/base/simd/wide_registers.h"

namespace submarine::internal {
namespace {

// Lane by lane, the smaller ones to `low`.
inline void Sort(float* __restrict low, float* __restrict high) {
#pragma GCC unroll 1
  for (std::size_t l = 0; l < kMedianLanes; ++l) {
    const float a = low[l];
    const float b = high[l];
    low[l] = a < b ? a : b;
    high[l] = a < b ? b : a;
  }
}

// The medians of kMedianLanes neighbouring windows. Of 25 numbers, the least and the largest of any 14 cannot be the
// median: both are dropped and another number is taken in, until there are three.
SUBMARINE_FOR_WIDE_REGISTERS
void MediansOfBlock(const float* const* rows, std::size_t from, float* medians) {
  constexpr std::size_t kNumbers = 25;
  constexpr std::size_t kFirst = 14;
  float kept[kFirst][kMedianLanes];
  std::size_t next = 0;
  const auto take = [&](float* place) {
    const float* value = rows[next / 5] + from + next % 5;
    for (std::size_t l = 0; l < kMedianLanes; ++l) place[l] = value[l];
    ++next;
  };
  for (auto& place : kept) take(place);
  for (std::size_t count = kFirst; count >= 3; --count) {
    // The least to the first place, the largest to the last.
    for (std::size_t j = 1; j < count; ++j) Sort(kept[0], kept[j]);
    for (std::size_t j = 1; j + 1 < count; ++j) Sort(kept[j], kept[count - 1]);
    // Both are dropped: the next number comes to the first place, and the last one is not counted.
    if (next < kNumbers) take(kept[0]);
  }
  for (std::size_t l = 0; l < kMedianLanes; ++l) medians[l] = kept[1][l];
}

}  // namespace

void MediansOf25(const std::array<const float*, 5>& rows, std::size_t count, float* medians) {
  for (std::size_t j = 0; j < count; j += kMedianLanes) MediansOfBlock(rows.data(), j, medians + j);
}

}  // namespace submarine::internal
