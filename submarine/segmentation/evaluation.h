// The quality of a segmentation, and the calibration of its probabilities.
//
// All arrays hold one entry per pixel, a = y width + x. Labels are 0 to num_labels - 1; pixels
// whose true label is kUnknownLabel are not compared. All functions throw InvalidInput for sizes
// that do not match, labels out of range, and no pixel to compare.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine::internal {

inline constexpr int kUnknownLabel = -1;

// What scores are made of: per label the pixels that have it, that were given it, and both. Those of
// several pictures may be added, as the field does: scores are of the sums, no means of scores.
struct LabelCounts {
  std::vector<std::int64_t> truth, given, right;

  bool empty() const { return truth.empty(); }
  LabelCounts& operator+=(const LabelCounts& other);  // empty ones count nothing
  bool operator==(const LabelCounts&) const = default;
};

// A pixel is compared if its true label is known and its mask is not zero; an empty mask takes all
// pixels.
LabelCounts CountLabels(std::span<const int> truth, std::span<const int> labels, int num_labels,
                        std::span<const std::uint8_t> mask = {});

struct LabelScores {
  std::int64_t pixels = 0;  // number of pixels compared
  double accuracy = 0.0;    // the fraction of them with the true label
  // Per label, intersection over union of the pixels that have it and those that were given it; NaN
  // for a label that is not in the truth. `mean_iou` is the mean over the others.
  std::vector<double> iou;
  double mean_iou = 0.0;
};
LabelScores ScoreLabels(const LabelCounts& counts);

// 1 for pixels of thin parts: those that no square of 2 radius + 1 pixels covers whose pixels all
// have one true label. Unknown counts as another label; beyond the picture nothing does.
std::vector<std::uint8_t> ThinParts(std::span<const int> truth, int width, int height, int radius);
// One percent of the longer side, so that thin parts are less than two percent across.
int ThinRadius(int width, int height);

// The trimap: 1 for the pixels whose distance (between centres) to the nearest pixel of another
// true label is at most `radius` pixels (1 to 50). Unknown counts as another label, as objects are
// often drawn with unknown rims. All 0 if the truth has only one label.
std::vector<std::uint8_t> BoundaryBand(std::span<const int> truth, int width, int height,
                                       int radius);

// Smaller probabilities are raised to this in the negative log-likelihood: otherwise a single pixel
// that is wrong with certainty would make it infinite.
inline constexpr double kLikelihoodClip = 1e-5;

// Bins of equal width for the largest probability of each pixel.
inline constexpr int kCalibrationBins = 15;

struct ProbabilityScores {
  std::int64_t pixels = 0;
  // Over the bins, the mean of |fraction of correct labels - mean largest probability|, weighted by
  // pixels. A probability on a border belongs to the upper bin.
  double calibration_error = 0.0;
  double negative_log_likelihood = 0.0;  // mean of -log of the true label's probability, in nats
};

// Row a of `probabilities` is the distribution of pixel a. Also throws InvalidInput for a compared
// row with an entry that is negative or not finite, or with a sum further than 0.001 from 1.
ProbabilityScores ScoreProbabilities(const Matrix<float>& probabilities,
                                     std::span<const int> truth);

}  // namespace submarine::internal
