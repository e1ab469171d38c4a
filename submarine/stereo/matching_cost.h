// What it costs to match a pixel of the left view with one of the right, for every disparity: the
// unaries of a stereo model.
//
// Disparity k = 0..K-1 of the left pixel (x, y) says that it shows what the right pixel (x - k, y)
// shows. Where that is outside the right view, nothing can be compared, and the cost is the largest
// that the comparison has ("outside" below), truncated like every other.
#pragma once

#include <limits>
#include <span>
#include <string>

#include "submarine/base/matrix.h"

namespace submarine {

// One view, rows from the top, channels innermost, samples from 0 to 255 whatever their depth was.
struct StereoView {
  int width = 0;
  int height = 0;
  int channels = 1;  // 1 or 3
  std::span<const float> samples = {};
};

enum class MatchingKind {
  // Sum over channels of |left - right|. Outside: 255 x channels.
  kAbsoluteDifference,
  // Comparisons of the grey value with its neighbours in a 9 x 7 window that come out differently, 0 to
  // 62: blind to exposure. Neighbours outside a view are its nearest pixels. Outside: 62.
  kCensus,
  // Birchfield and Tomasi's: like absolute differences, but with the nearest value that either view
  // takes within half a pixel, linearly interpolated: blind to sampling. At the ends of a row the
  // interval is one-sided. Outside: 255 x channels.
  kBirchfieldTomasi,
};

struct MatchingOptions {
  MatchingKind kind = MatchingKind::kAbsoluteDifference;
  // 0 to 100: costs become their mean over the (2 radius + 1)^2 window, of its pixels that are in the left
  // view and whose match is in the right. A pixel whose own match is outside keeps that cost.
  int radius = 0;
  double truncate = std::numeric_limits<double>::infinity();  // > 0; no cost is above it
  double factor = 1.0;  // > 0; what every cost is multiplied by, after the truncation
};

// "ad", "census", "bt", and over windows of radius 2 "sad:2", "census:2", "bt:2": as people write it. Throws InvalidInput for any other text.
MatchingOptions ParseMatchingKind(const std::string& text);
std::string ToString(const MatchingOptions& options);

// width * height rows, one column per disparity. Throws InvalidInput: views that differ in size or
// channels, samples that are too few or not finite, fewer than 2 disparities or more than columns.
Matrix<float> MatchingCosts(const StereoView& left, const StereoView& right, int disparities,
                            const MatchingOptions& options);

}  // namespace submarine
