// The cost of matching a pixel of the left view with one of the right, for every disparity: the
// unaries of a stereo model.
//
// Disparity k = 0..K-1 of the left pixel (x, y) means that it shows the same point as the right
// pixel (x - k, y). If that is outside the right view, nothing can be compared, and the cost is the
// largest one of the comparison ("outside" below), truncated like every other.
#pragma once

#include <limits>
#include <span>
#include <string>

#include "submarine/base/matrix.h"

namespace submarine {

// One view: rows from the top, channels innermost, samples scaled to 0 to 255 from any depth.
struct StereoView {
  int width = 0;
  int height = 0;
  int channels = 1;  // 1 or 3
  std::span<const float> samples = {};
};

// What is known of a pair beside its views, one entry per pixel of the left view. Empty: nothing.
struct StereoGiven {
  // Costs of matches, of a network or another matcher, instead of comparing the views: a row of
  // disparities per pixel. Only their differences relative to each other count, not the unit. Not
  // finite: nothing is known of that match.
  std::span<const float> costs = {};
  // The range that a pixel's disparity is in. NaN: any.
  std::span<const float> low = {};
  std::span<const float> high = {};
};

enum class MatchingKind {
  // Sum over channels of |left - right|. Outside: 255 x channels.
  kAbsoluteDifference,
  // The number of neighbours in a 9 x 7 window, 0 to 62, whose comparison with the centre's grey
  // value differs between the views: independent of exposure. Neighbours outside a view are its
  // nearest pixels. Outside: 62.
  kCensus,
  // Birchfield and Tomasi's: like absolute differences, but with the nearest value that either view
  // takes within half a pixel, linearly interpolated: insensitive to sampling. At the ends of a row
  // the interval is one-sided. Outside: 255 x channels.
  kBirchfieldTomasi,
};

struct MatchingOptions {
  MatchingKind kind = MatchingKind::kAbsoluteDifference;
  // 0 to 100: each cost becomes the mean over the (2 radius + 1)^2 window, over those of its pixels
  // that are in the left view and whose match is in the right. A pixel whose own match is outside
  // keeps its cost.
  int radius = 0;
  double truncate = std::numeric_limits<double>::infinity();  // > 0; no cost is above it
  double factor = 1.0;  // > 0; multiplies every cost after the truncation
};

// "ad", "census", "bt", or with windows of radius 2 "sad:2", "census:2", "bt:2". Throws
// InvalidInput for any other text.
MatchingOptions ParseMatchingKind(const std::string& text);
std::string ToString(const MatchingOptions& options);

// width * height rows, one column per disparity. Throws InvalidInput for views that differ in size
// or channels, samples that are too few or not finite, and fewer than 2 disparities or more than
// columns.
Matrix<float> MatchingCosts(const StereoView& left, const StereoView& right, int disparities,
                            const MatchingOptions& options);

namespace internal {
// Throws what MatchingCosts throws for such views and this number of disparities.
void CheckViews(const StereoView& left, const StereoView& right, int disparities);
}  // namespace internal

}  // namespace submarine
