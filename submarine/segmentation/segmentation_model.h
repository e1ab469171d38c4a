// The dense CRF that refines what a classifier says about a picture: two kernels, one of positions and one
// of positions and colours, over the unaries of its softmax.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/model/dense_crf.h"

namespace submarine {

// The defaults are those that pydensecrf's README made common. What `submarine fit` finds is such a set, as a
// file (io/segmentation/segmentation_parameters.h).
struct SegmentationParameters {
  double position_sigma = 3.0;  // pixels
  double position_weight = 3.0;
  double bilateral_sigma = 80.0;  // pixels
  double colour_sigma = 13.0;     // of samples from 0 to 255
  double bilateral_weight = 10.0;
  int iterations = 5;  // of mean field; 0: until it converges
  KernelNormalisation normalisation = KernelNormalisation::kSymmetric;  // or kNone
  double softmax_temperature = 1.0;  // above 1: the classifier is trusted less

  bool operator==(const SegmentationParameters&) const = default;
};

// Throws InvalidInput: sigmas and the temperature must be finite and > 0, weights finite and >= 0, iterations
// from 0 to 1000000, the normalisation symmetric or none.
void CheckParameters(const SegmentationParameters& parameters);

// A picture as kernels see it: samples from 0 to 255 whatever their depth was, channels innermost.
struct PictureView {
  int width = 0;
  int height = 0;
  int channels = 3;
  std::span<const float> samples = {};
};

// Those with a weight above 0, marked for their normalisation (bound/verify/dense/normalisation.h).
std::vector<GaussianKernel> SegmentationKernels(const PictureView& picture,
                                                const SegmentationParameters& parameters);

// Pairs are counted once. `softmax` has a row per pixel (softmax.h) and is not checked again; without `labels` the
// metric is Potts. Throws InvalidInput where sizes or parameters are wrong.
DenseCrf SegmentationModel(const Matrix<float>& softmax, const PictureView& picture,
                           const SegmentationParameters& parameters,
                           const std::optional<LabelSpace>& labels = {});

}  // namespace submarine
