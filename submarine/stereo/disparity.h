// From marginals over whole-pixel disparities to one number per pixel, and how many disparities there
// are to choose from.
#pragma once

#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/stereo/matching_cost.h"

namespace submarine {

// The mean disparity of each marginal among the labels l - 1, l, l + 1 around the pixel's label l: between
// pixels where the marginal is, and never further than that from the labeling. A marginal that is
// zero there leaves the label as it is. Throws InvalidInput for sizes that disagree.
std::vector<float> RefinedDisparities(const Matrix<float>& marginals, std::span<const int> labels);

// How many disparities 0..K-1 the pair needs, from the pair itself: matched by census over small
// windows, left to right and right to left, on copies about 200 pixels wide, the greatest disparity that at least
// one in 500 of the pixels that agree both ways and without a close second has, and a little more. At least 8, at most a third of the
// columns (and kMaxLabels). Views too small to tell: as many as there may be.
int GuessDisparities(const StereoView& left, const StereoView& right);

}  // namespace submarine
