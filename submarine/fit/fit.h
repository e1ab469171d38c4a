// Fits segmentation parameters to labelled pictures: a simplex search over the logarithms of
// weights, sigmas and the softmax temperature for the best score of mean field, and a held-out
// estimate of whether that helps.
//
// Pictures are split into folds. For every fold, parameters are found on the other pictures and
// scored on those of the fold at full size: no picture is scored with parameters that were fitted
// to it. The parameters returned are found on all pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/segmentation/comparison.h"
#include "submarine/segmentation/evaluation.h"
#include "submarine/segmentation/labelled_picture.h"
#include "submarine/segmentation/segmentation_model.h"
#include "submarine/solve/method/options.h"

namespace submarine::internal {

enum class FitScore { kMeanIou, kAccuracy, kLikelihood };
std::string_view ToString(FitScore score);  // "iou", "accuracy", "nll"

struct FitOptions {
  FitScore score = FitScore::kMeanIou;
  int updates = 5;                        // of mean field
  int folds = 3;                          // 2 to the number of pictures
  int evaluations = 60;                   // of each search
  int pixels = 40000;                     // searches use pictures shrunk to at most this many
  std::uint64_t seed = 1;                 // for the folds and the first steps
  std::optional<LabelSpace> labels = {};  // the metric; without it Potts
  // Of superpixels, in pixels, one for every scale; gamma and Q are then searched for, too.
  std::vector<double> superpixel_sizes = {};
};

// Of one picture, from which the score of any set of pictures follows.
struct PictureScores {
  LabelCounts counts;
  ProbabilityScores probabilities;
};
PictureScores ScorePicture(const LabelledPicture& picture, const Matrix<float>& probabilities);
// The value to maximise, of the pixels of all pictures together; NLL is negated.
double ValueOf(std::span<const PictureScores> pictures, FitScore score);

// The mean of every block of factor x factor pixels, and the label that most of its known pixels
// have (the smallest of several; unknown if none is known). Remaining columns at the right and rows
// at the bottom are dropped.
LabelledPicture Shrunk(const LabelledPicture& picture, int factor);
// The smallest factor that leaves at most `pixels` pixels, and at least one along each side.
int ShrinkFactor(int width, int height, int pixels);

// The default parameters of this picture and its classifier.
SegmentationParameters DefaultsFor(const LabelledPicture& picture, int updates);
// This number of classic updates on lattices, as `segment` makes them; 0: until they converge.
SolveOptions MeanFieldOptions(int updates);
// The marginals that they give.
Matrix<float> MeanFieldMarginals(const LabelledPicture& picture,
                                 const SegmentationParameters& parameters, int updates,
                                 const std::optional<LabelSpace>& labels = {});

// A picture at its full size: the classifier alone, the default parameters, and those found without it.
struct HeldOut {
  std::string picture;
  int fold = 0;
  PictureScores classifier, defaults, fitted;
  LabelCounts thin_classifier, thin_defaults, thin_fitted;
};

struct FitSearch {
  SegmentationParameters parameters;
  double value = 0.0;  // on the shrunk pictures used for the search
  std::vector<double>
      best_so_far;  // values after each evaluation, the first that of the mean defaults
};

enum class FitAdvice { kFitted, kDefaults, kLeaveAlone };
std::string_view ToString(FitAdvice advice);  // "fitted", "defaults", "leave alone"

struct FitResult {
  FitSearch all;
  std::vector<FitSearch> folds;
  std::vector<HeldOut> held_out;  // one per picture, in order
  // Held out, against the classifier alone.
  Comparison fitted, defaults;
  // Of the score that was searched for, in its units, against the classifier alone.
  Change fitted_value, defaults_value;
  // What scores best, held out.
  FitAdvice advice = FitAdvice::kFitted;

  // Those found on all pictures; where the classifier is best left alone, without kernels.
  SegmentationParameters Advised() const;
};

// Scores on shrunk pictures that were computed before, for instance by a call that was interrupted;
// the key is a text of the parameters.
class FitMemory {
 public:
  virtual ~FitMemory() = default;
  virtual std::optional<PictureScores> Find(std::size_t picture, const std::string& key) = 0;
  virtual void Keep(std::size_t picture, const std::string& key, const PictureScores& scores) = 0;
};

// Throws InvalidInput for folds out of range and pictures with different numbers of labels.
void CheckFit(std::span<const LabelledPicture> pictures, const FitOptions& options);

// `watch` is called with the current activity and returns false to stop, which throws Interrupted;
// the same call with the same `memory`, which may be null, then continues where this one stopped.
// Throws as CheckFit does.
using FitWatch = std::function<bool(const std::string& doing)>;
FitResult FitParameters(std::span<const LabelledPicture> pictures, const FitOptions& options,
                        FitMemory* memory, const FitWatch& watch);

}  // namespace submarine::internal
