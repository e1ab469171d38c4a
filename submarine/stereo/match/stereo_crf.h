// The dense CRF over semi-global evidence: what it says of every pixel, and how sure it is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/model/dense_crf.h"
#include "submarine/stereo/match/semi_global.h"
#include "submarine/stereo/matching_cost.h"

namespace submarine {

struct StereoCrfOptions {
  // Unaries of visible pixels: min(scale (S - min S), limit), S the sums over eight paths.
  double scale = 0.8;
  double limit = 20.0;
  // Of the others: min(filled_scale |d - filled|, filled_limit).
  double filled_scale = 0.4;
  double filled_limit = 6.4;
  // One kernel of positions and colours, normalised; metric is truncated:truncation.
  double sigma = 20.0;        // pixels
  double colour_sigma = 8.0;  // grey levels
  double weight = 2.0;
  int truncation = 2;
  int updates = 3;  // of mean field
};

std::vector<GaussianKernel> StereoKernels(const StereoView& left, const StereoCrfOptions& options);
LabelSpace StereoLabels(int disparities, const StereoCrfOptions& options);

// With these kernels and labels, of so many rows of pixels from first_row on (0: all); pairs are counted once.
DenseCrf StereoCrf(const internal::SemiGlobalMatch& match, std::vector<GaussianKernel> kernels,
                   const StereoCrfOptions& options, int first_row = 0, int rows = 0);

// Sub-pixel disparities: the marginals' most probable ones, moved to where lines through the costs meet, where the
// views agree; elsewhere what was filled in, which is right more often. Then the median of 5 x 5.
std::vector<float> StereoDisparities(const internal::SemiGlobalMatch& match,
                                     const Matrix<float>& marginals);
// The same without a CRF.
std::vector<float> FastDisparities(const internal::SemiGlobalMatch& match);

// 1 where the right view does not confirm a disparity, else 0.
std::vector<std::uint8_t> Occluded(const internal::SemiGlobalMatch& match);

// For every pixel, the probability that its disparity is off by more than a pixel.
std::vector<float> StereoUncertainty(const Matrix<float>& marginals,
                                     std::span<const float> disparities);

// For every pixel the narrowest interval around its disparity, as far to either side as the marginal says, that
// leaves out at most (1 - share) / 2 of the marginal at each end. A label stands for the half pixels around it.
struct DisparityIntervals {
  std::vector<float> low;  // may be below 0
  std::vector<float> high;
};
DisparityIntervals StereoIntervals(const Matrix<float>& marginals,
                                   std::span<const float> disparities, double share);

}  // namespace submarine
