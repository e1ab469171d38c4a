// Stereo pairs at a fraction of their resolution.
//
// Pixel X of the small image averages the pixels factor X, ..., factor X + factor - 1, so its
// centre lies at x = factor X + (factor - 1) / 2 of the large one. The offset is the same in both
// views and cancels: the point seen at x on the left and at x - d on the right has the small
// coordinates X and (x - d - (factor - 1) / 2) / factor = X - d / factor. Disparities of the small
// pair are those of the large one divided by the factor, without any half-pixel correction.
//
// The small image has floor(width / factor) x floor(height / factor) pixels; remaining columns and
// rows at the right and bottom are dropped (in both views alike, so the above still holds). All
// functions throw InvalidInput for sizes that are not positive or do not match, a factor below 1 or
// larger than width or height, infinite values, and NaN in images.
#pragma once

#include <span>
#include <vector>

namespace submarine::internal {

// The mean of every factor x factor block. Rows top-down, channels innermost.
std::vector<float> ShrinkImage(std::span<const float> values, int width, int height, int channels,
                               int factor);

// The median of the known (not NaN) disparities of every block divided by the factor; NaN unless at
// least half of the block is known. For an even number of values the smaller middle one is taken:
// at a depth edge, the mean of the two would be a depth where there is nothing.
std::vector<float> ShrinkTruth(std::span<const float> disparity, int width, int height, int factor);

}  // namespace submarine::internal
