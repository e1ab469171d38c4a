// The dense CRF that refines a classifier's output for a picture: two kernels, one of positions and
// one of positions and colours, over the unaries of the classifier's softmax.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/labels/label_cuts.h"
#include "submarine/model/dense_crf.h"

namespace submarine {

// Without anything else, those of pydensecrf's README, which are in common use.
struct SegmentationParameters {
  double position_sigma = 3.0;  // pixels
  double position_weight = 3.0;
  double bilateral_sigma = 80.0;  // pixels
  double colour_sigma = 13.0;     // of samples from 0 to 255
  double bilateral_weight = 10.0;
  int updates = 5;  // of mean field; 0: until it converges
  KernelNormalisation normalisation = KernelNormalisation::kSymmetric;  // or kNone
  double softmax_temperature = 1.0;  // above 1: the classifier is trusted less
  // Of superpixels, as pixels along a side, one for every scale; none: there are no superpixels. All scales have the same
  // terms (superpixels.h).
  std::vector<double> superpixel_sizes = {};
  double superpixel_gamma = 0.1;
  double superpixel_share = 0.2;

  bool operator==(const SegmentationParameters&) const = default;
};

// What a classifier's costs say about its errors.
struct ClassifierProfile {
  // The share of pixels with a label that costs less than another; few of them are scribbles.
  double decided = 0.0;
  // How sure it is: the mean over these pixels of the difference between the two least costs, in
  // nats. Differences count up to that of a certain label (kSoftmaxClip).
  double confidence = 0.0;
  // How speckled, from 0 to 1: 2 D(1) - D(2), where D(k) is the share of pairs of pixels, k apart
  // along an axis, with different best labels. Across borders of regions D grows with the distance,
  // so that they add nothing; noise in single pixels makes D(1) = D(2).
  double speckle = 0.0;
};
// `extent` is that of a picture (height, width) or volume; costs in any layout, strides count floats.
ClassifierProfile ProfileOf(const float* costs, std::span<const int> extent, std::size_t labels,
                            std::ptrdiff_t pixel_stride, std::ptrdiff_t label_stride);
ClassifierProfile ProfileOf(const Matrix<float>& unary, std::span<const int> extent);

// The default kernels (docs/parameters.md). Of positions and colours: its length in units of the
// picture's size (of a volume: voxels), its weight in units of the classifier's confidence, as what
// moves an unsure classifier too far leaves a sure one as it is. Of positions, of one pixel: only
// against speckle, for it rounds off objects. Scribbles on a picture get pydensecrf's.
SegmentationParameters ParametersFor(std::span<const int> extent, const ClassifierProfile& profile);

// Throws InvalidInput unless sigmas and the temperature are finite and > 0, weights finite and >=
// 0, updates from 0 to 1000000, and the normalisation symmetric or none.
void CheckParameters(const SegmentationParameters& parameters);

// A picture for kernels: samples scaled to 0 to 255 from any depth, channels innermost.
struct PictureView {
  int width = 0;
  int height = 0;
  int channels = 3;
  std::span<const float> samples = {};
};

// The kernels of positive weight, marked for their normalisation,
// which Solve does.
std::vector<GaussianKernel> SegmentationKernels(const PictureView& picture,
                                                const SegmentationParameters& parameters);
// The same of pictures or volumes of this size, (width, height) or (width, height, depth), whose pixels are as far apart as
// `spacing` says, in the unit of the parameters' lengths.
std::vector<GaussianKernel> SegmentationKernels(std::span<const int> size,
                                                std::span<const double> spacing, int channels,
                                                std::span<const float> samples,
                                                const SegmentationParameters& parameters);

// Without superpixels, which SegmentationCliques (superpixels.h) makes. Pairs are counted once. `softmax` has one row per pixel (softmax.h) and is not checked again;
// without `labels` the metric is Potts. Throws InvalidInput for wrong sizes or parameters.
DenseCrf SegmentationModel(const Matrix<float>& softmax, const PictureView& picture,
                           const SegmentationParameters& parameters,
                           const std::optional<LabelSpace>& labels = {});

}  // namespace submarine
