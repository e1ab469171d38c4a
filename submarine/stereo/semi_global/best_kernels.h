// The cheapest disparities of one row of pixels (semi_global/best_disparities.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace submarine::internal {

// `costs`: `stride` per pixel, of which those in the padding are kPaddingCost. Writes the least of the
// cheapest disparities of each pixel to `best`. Entry width - 1 - x of `right_cost` and `right_best`,
// which hold width + stride and begin as kPaddingCost and 0, is for pixel x of the right view.
void BestOfRow(const std::uint16_t* costs, int width, std::size_t stride, std::uint16_t* best,
               std::uint16_t* right_cost, std::uint16_t* right_best);

}  // namespace submarine::internal
