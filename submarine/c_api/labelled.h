// Functions of sm_call() on pictures whose truth is known.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "submarine/c_api/object.h"
#include "submarine/c_api/options.h"
#include "submarine/segmentation/segmentation_model.h"

namespace submarine::c_api {

// Is told what is done, and returns false to stop.
using Told = std::function<bool(const std::string& doing)>;

// Whether labels get better: arrays truth, before and after, each (height, width), of every picture; negative truth
// is unknown. Options: "num_labels".
std::unique_ptr<sm_object> FindComparison(Options* options, std::span<const sm_array> arrays,
                                          const Told& told);

// Parameters of segmentation: arrays picture, softmax (height, width, labels) and truth of every picture.
// Options: "score", "folds", "evaluations", "updates", "pixels", "seed", "threads".
std::unique_ptr<sm_object> FindFit(Options* options, std::span<const sm_array> arrays,
                                   const Told& told);

Json ParametersJson(const SegmentationParameters& parameters);

}  // namespace submarine::c_api
