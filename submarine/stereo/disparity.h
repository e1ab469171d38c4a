// Converts marginals over whole-pixel disparities to one number per pixel, and estimates the number
// of disparities.
#pragma once

#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/stereo/matching_cost.h"

namespace submarine {

// The mean disparity of each marginal over the labels l - 1, l, l + 1 around the pixel's label l: a
// sub-pixel estimate that is never further than one from the labeling. If the marginal is zero
// there, the label is returned. Throws InvalidInput for sizes that disagree.
std::vector<float> RefinedDisparities(const Matrix<float>& marginals, std::span<const int> labels);

// Estimates how many disparities 0..K-1 the pair needs: census costs over small windows are matched
// left to right and right to left on copies about 200 pixels wide. Of the pixels that agree both
// ways without a close second, at most one in 500 lies beyond; a margin is added. At least 8, at
// most a third of the columns (and kMaxLabels); the maximum for views too small to tell.
int GuessDisparities(const StereoView& left, const StereoView& right);

}  // namespace submarine
