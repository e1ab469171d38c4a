// Segmentation parameters from labelled pictures: a simplex search over the logarithms of weights, widths and the softmax's temperature for
// the best score of mean field, and an honest estimate of what that is worth.
//
// Pictures are split into folds. For every fold parameters are found on the other pictures, and scored on those of the fold at
// their full size: no picture is scored by parameters that have seen it. What is returned is found on all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/experiments/labelled_pictures.h"
#include "apps/experiments/run_store.h"
#include "apps/experiments/segment_bench/segment_bench.h"
#include "submarine/segmentation/segmentation_model.h"

namespace submarine::apps {

enum class FitScore { kMeanIou, kAccuracy, kLikelihood };
std::string ToString(FitScore score);  // "iou", "accuracy", "nll"

struct FitSettings {
  FitScore score = FitScore::kMeanIou;
  int iterations = 5;      // of mean field
  int folds = 3;           // 2 to the number of pictures
  int evaluations = 60;    // of each search
  int pixels = 40000;      // searches are on pictures shrunk to at most so many
  std::uint64_t seed = 1;  // of the folds and the first steps
};

// What is to be made large: the mean over pictures of the score, minus it for NLL.
double ValueOf(const SegmentResult& result, FitScore score);

// The mean of every block of factor x factor pixels, and the label that most of its known pixels have (the
// smallest of several; unknown where none is known). What is left over at the right and at the bottom is dropped.
LabelledPicture Shrunk(const LabelledPicture& picture, int factor);
// The smallest factor that leaves at most `pixels`, and at least one pixel on either side.
int ShrinkFactor(int width, int height, int pixels);

struct HeldOut {
  std::string picture;
  int fold = 0;
  SegmentResult fitted;
  SegmentResult defaults;
};

struct FitSearch {
  SegmentationParameters parameters;
  double value = 0.0;               // on the shrunk pictures that it saw
  double default_value = 0.0;       // of the defaults on the same
  std::vector<double> best_so_far;  // values after each evaluation
};

struct FitResult {
  FitSearch all;
  std::vector<FitSearch> folds;
  std::vector<HeldOut> held_out;  // one per picture, in their order
};

// Throws InvalidInput for folds out of range and pictures that do not go together.
void CheckFit(const std::vector<LabelledPicture>& pictures, const FitSettings& settings);

// `watch` is told of what is going on and returns false to stop; then Interrupted is thrown, and the same call with the same
// `store` goes on where this one was. Throws as CheckFit does.
using FitWatch = std::function<bool(const std::string& doing)>;
FitResult FitParameters(const std::vector<LabelledPicture>& pictures, const FitSettings& settings,
                        RunStore* store, const FitWatch& watch);

}  // namespace submarine::apps
