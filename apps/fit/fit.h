// Fits segmentation parameters to labelled pictures: a simplex search over the logarithms of
// weights, sigmas and the softmax temperature for the best score of mean field, and a held-out
// estimate of that score.
//
// Pictures are split into folds. For every fold, parameters are found on the other pictures and
// scored on those of the fold at full size: no picture is scored with parameters that were fitted
// to it. The parameters returned are found on all pictures.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/fit/labelled_pictures.h"
#include "apps/fit/picture_scores.h"
#include "apps/fit/run_store.h"
#include "submarine/segmentation/segmentation_model.h"

namespace submarine::apps {

enum class FitScore { kMeanIou, kAccuracy, kLikelihood };
std::string ToString(FitScore score);  // "iou", "accuracy", "nll"

struct FitSettings {
  FitScore score = FitScore::kMeanIou;
  int iterations = 5;      // of mean field
  int folds = 3;           // 2 to the number of pictures
  int evaluations = 60;    // of each search
  int pixels = 40000;      // searches use pictures shrunk to at most this many
  std::uint64_t seed = 1;  // for the folds and the first steps
};

// The value to maximise: the mean score over pictures, negated for NLL.
double ValueOf(const SegmentResult& result, FitScore score);

// The mean of every block of factor x factor pixels, and the label that most of its known pixels
// have (the smallest of several; unknown if none is known). Remaining columns at the right and rows
// at the bottom are dropped.
LabelledPicture Shrunk(const LabelledPicture& picture, int factor);
// The smallest factor that leaves at most `pixels` pixels, and at least one along each side.
int ShrinkFactor(int width, int height, int pixels);

struct HeldOut {
  std::string picture;
  int fold = 0;
  SegmentResult fitted;
  SegmentResult defaults;
};

struct FitSearch {
  SegmentationParameters parameters;
  double value = 0.0;               // on the shrunk pictures used for the search
  double default_value = 0.0;       // of the defaults on the same pictures
  std::vector<double> best_so_far;  // values after each evaluation
};

struct FitResult {
  FitSearch all;
  std::vector<FitSearch> folds;
  std::vector<HeldOut> held_out;  // one per picture, in order
};

// Throws InvalidInput for folds out of range and pictures with different numbers of labels.
void CheckFit(const std::vector<LabelledPicture>& pictures, const FitSettings& settings);

// `watch` is called with the current activity and returns false to stop, which throws Interrupted;
// the same call with the same `store` then continues where this one stopped. Throws as CheckFit
// does.
using FitWatch = std::function<bool(const std::string& doing)>;
FitResult FitParameters(const std::vector<LabelledPicture>& pictures, const FitSettings& settings,
                        RunStore* store, const FitWatch& watch);

}  // namespace submarine::apps
