// Stereo from a pair of pictures to a certified solve and its evaluation against ground truth.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submarine/model/dense_crf.h"
#include "submarine/solve/solve.h"
#include "submarine/stereo/evaluation.h"
#include "submarine/stereo/matching_cost.h"

namespace submarine::apps {

struct StereoPair {
  int width = 0;
  int height = 0;
  int channels = 1;
  std::vector<float> left;  // 0 to 255
  std::vector<float> right;

  StereoView LeftView() const { return {width, height, channels, left}; }
  StereoView RightView() const { return {width, height, channels, right}; }
};

// Both views at 1/shrink of their resolution. Grey and colour together become grey. Throws FileError for
// what is no picture, InvalidInput for views of different sizes.
StereoPair ReadStereoPair(const std::string& left, const std::string& right, int shrink);

// "FILE" or "FILE,FACTOR": a picture whose samples are FACTOR times the disparity and 0 where it is
// unknown (the default factor is 1, for 16-bit pictures 256), or a .npy of disparities, NaN or
// infinite where unknown. NaN is unknown in the result. Sizes must be those of the views before they are shrunk.
std::vector<float> ReadTruth(const std::string& spec, const StereoPair& pair, int shrink);

// Pixels that count, from a picture that is not 0 there.
std::vector<std::uint8_t> ReadMask(const std::string& file, const StereoPair& pair, int shrink);

struct StereoSettings {
  int disparities = 0;  // 0: GuessDisparities
  MatchingOptions matching;
  std::string metric;
  double spatial_sigma = 0.0;
  double spatial_weight = 0.0;  // 0: no such kernel
  double bilateral_sigma = 0.0;
  double bilateral_colour_sigma = 0.0;
  double bilateral_weight = 0.0;
  bool guide_by_right =
      false;  // colours of the right view in the bilateral kernel, by mistake as published
};

inline constexpr double kStereoGap = 0.05;  // of the certificate, where nobody says otherwise

// The setting of all pairs where nobody says otherwise: chosen on nine Middlebury pairs together
// (docs/experiments.md).
StereoSettings DefaultStereoSettings();

// Throws what MatchingCosts, ParseMetricSpec and the kernels throw. Sets `settings->disparities` where it
// is 0. `check` is called with the kernels and the labels before the views are compared, and may throw: what
// does not fit the limits is not worth the comparison. Where disparities have to be guessed, it is called
// for the fewest first.
using StereoCheck = std::function<void(std::span<const GaussianKernel>, const LabelSpace&)>;
DenseCrf BuildStereoModel(const StereoPair& pair, StereoSettings* settings,
                          const StereoCheck& check = {});

struct StereoJudgement {
  internal::DisparityErrors all;
  std::optional<internal::DisparityErrors> masked;
  internal::Sparsification sparsification;  // of bad pixels > 1 px by entropy
  internal::Calibration calibration;
};

StereoJudgement JudgeStereo(const std::vector<float>& disparities, const Matrix<float>& marginals,
                            const std::vector<float>& entropies, const std::vector<float>& truth,
                            const std::vector<std::uint8_t>& mask);

}  // namespace submarine::apps
