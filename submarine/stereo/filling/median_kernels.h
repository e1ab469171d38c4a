// Medians over windows of 5 x 5 for a row of pixels (filling/surfaces.h).
#pragma once

#include <array>
#include <cstddef>

namespace submarine::internal {

inline constexpr std::size_t kMedianLanes = 16;

// medians[j] is over columns j to j + 4 of the five rows, for j < count, a multiple of kMedianLanes.
void MediansOf25(const std::array<const float*, 5>& rows, std::size_t count, float* medians);

}  // namespace submarine::internal
