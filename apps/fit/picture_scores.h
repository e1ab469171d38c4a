// How good probabilities are on a picture with true labels.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "apps/fit/labelled_pictures.h"
#include "submarine/solve/method/options.h"

namespace submarine::apps {

nlohmann::ordered_json ToJson(const SegmentationParameters& parameters);

// Over the pixels whose true label is known. Labels are the most probable ones.
struct SegmentResult {
  double accuracy = 0.0;
  double mean_iou = 0.0;
  // Accuracy within 3 and 6 pixels of a boundary; none if the truth has no boundary.
  std::optional<double> boundary_3, boundary_6;
  double calibration_error = 0.0;
  double negative_log_likelihood = 0.0;
};

// The scores of probabilities (one row per pixel) and of their labels.
SegmentResult Score(const LabelledPicture& picture, const Matrix<float>& probabilities);

// Options of this many classic updates on lattices; 0: until convergence.
SolveOptions MeanFieldOptions(int iterations);
// The marginals that they give.
Matrix<float> MeanFieldMarginals(const LabelledPicture& picture,
                                 const SegmentationParameters& parameters, int iterations);

}  // namespace submarine::apps
