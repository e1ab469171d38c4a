// Stereo, from a pair of pictures to a model, and the evaluation of what is solved against ground truth.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/cli/reading_limits.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solve/solve.h"
#include "submarine/stereo/evaluation.h"
#include "submarine/stereo/match/stereo_crf.h"
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

// Both views at 1/shrink of their resolution. If only one is grey, both become grey. Throws
// FileError for files that are not pictures, InvalidInput for views of different sizes, and what
// `limits` throws.
StereoPair ReadStereoPair(const std::string& left, const std::string& right, int shrink,
                          const ReadingLimits& limits);

// "FILE" or "FILE,FACTOR": a picture whose samples are FACTOR times the disparity, 0 for unknown
// (the default factor is 1, for 16-bit pictures 256), or a .npy of disparities, NaN or infinite for
// unknown. In the result, unknown is NaN. The size must be that of the views before shrinking.
std::vector<float> ReadTruth(const std::string& spec, const StereoPair& pair, int shrink,
                             const ReadingLimits& limits);

// The pixels to evaluate: those where the picture is not 0.
std::vector<std::uint8_t> ReadMask(const std::string& file, const StereoPair& pair, int shrink,
                                   const ReadingLimits& limits);

struct StereoSettings {
  int disparities = 0;  // 0: GuessDisparities
  // Unaries of semi-global evidence; none: of `matching`, and kernels by the numbers below it.
  std::optional<StereoCrfOptions> semi_global;
  MatchingOptions matching;
  std::string metric;
  double position_sigma = 0.0;
  double position_weight = 0.0;  // 0: no such kernel
  double bilateral_sigma = 0.0;
  double bilateral_colour_sigma = 0.0;
  double bilateral_weight = 0.0;
  bool guide_by_right =
      false;  // use the right view's colours in the bilateral kernel, a published mistake
};

inline constexpr double kStereoGap = 0.05;  // default gap of the certificate

// What `submarine stereo` does without options: semi-global evidence.
StereoSettings SemiGlobalSettings();
// The plain model for all pairs, chosen on nine Middlebury pairs together (docs/experiments.md).
StereoSettings DefaultStereoSettings();

// Throws what MatchingCosts, ParseMetricSpec and the kernels throw. Sets `settings->disparities` if
// it is 0. `check` is called with the kernels and the labels before the views are compared, and may
// throw if they do not fit the limits, which saves the comparison. If disparities must be guessed,
// it is first called for their smallest number.
using StereoCheck = std::function<void(std::span<const GaussianKernel>, const LabelSpace&)>;
DenseCrf BuildStereoModel(const StereoPair& pair, StereoSettings* settings,
                          const StereoCheck& check = {});

// The same for settings with semi-global evidence, which is returned, too: disparities of labels are made
// from it. `check` is called before the views are matched, and may throw.
struct StereoProblem {
  std::optional<DenseCrf> model;  // none unless asked for
  internal::SemiGlobalMatch match;
};
StereoProblem MatchStereoPair(const StereoPair& pair, bool solves, StereoSettings* settings,
                              const std::function<void(int disparities)>& check = {});

struct StereoEvaluation {
  internal::DisparityErrors all;
  // Of the pixels of the mask, and of all others.
  std::optional<internal::DisparityErrors> visible;
  std::optional<internal::DisparityErrors> occluded;
  // Where there are marginals: of pixels off by more than 1 px, by uncertainty.
  std::optional<internal::Sparsification> sparsification;
  std::optional<internal::Calibration> calibration;
};

// `marginals` may be null, `uncertainty` and `mask` empty.
StereoEvaluation EvaluateStereo(const std::vector<float>& disparities,
                                const Matrix<float>* marginals,
                                const std::vector<float>& uncertainty,
                                const std::vector<float>& truth,
                                const std::vector<std::uint8_t>& mask);

}  // namespace submarine::apps
