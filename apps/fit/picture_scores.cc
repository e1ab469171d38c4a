#include "apps/fit/picture_scores.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>
#include <vector>

#include "submarine/base/argmax.h"
#include "submarine/segmentation/evaluation.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {

using internal::ArgmaxLabels;
using internal::BoundaryBand;
using internal::CountLabels;
using internal::ScoreLabels;
using internal::ScoreProbabilities;

nlohmann::ordered_json ToJson(const SegmentationParameters& parameters) {
  return {{"position_sigma", parameters.position_sigma},
          {"position_weight", parameters.position_weight},
          {"bilateral_sigma", parameters.bilateral_sigma},
          {"colour_sigma", parameters.colour_sigma},
          {"bilateral_weight", parameters.bilateral_weight},
          {"normalisation",
           parameters.normalisation == KernelNormalisation::kNone ? "none" : "symmetric"},
          {"softmax_temperature", parameters.softmax_temperature}};
}

SegmentResult Score(const LabelledPicture& picture, const Matrix<float>& probabilities) {
  const std::vector<int> labels = ArgmaxLabels(probabilities);
  const int count = picture.num_labels();
  const auto scores = ScoreLabels(CountLabels(picture.truth, labels, count));
  SegmentResult result;
  result.accuracy = scores.accuracy;
  result.mean_iou = scores.mean_iou;
  for (const auto& [radius, boundary] :
       {std::pair(3, &result.boundary_3), std::pair(6, &result.boundary_6)}) {
    const auto band = BoundaryBand(picture.truth, picture.width, picture.height, radius);
    const auto counts = CountLabels(picture.truth, labels, count, band);
    if (std::any_of(counts.data(), counts.data() + counts.size(),
                    [](std::int64_t n) { return n > 0; }))
      *boundary = ScoreLabels(counts).accuracy;
  }
  const auto calibration = ScoreProbabilities(probabilities, picture.truth);
  result.calibration_error = calibration.calibration_error;
  result.negative_log_likelihood = calibration.negative_log_likelihood;
  return result;
}

SolveOptions MeanFieldOptions(int iterations) {
  SolveOptions options;
  options.method = Method::kMeanField;
  options.dense.marginals = DenseMarginals::kMeanField;
  options.dense.certify = Certify::kNone;
  options.dense.pairs.kind = OperatorKind::kLattice;
  if (iterations > 0) {
    options.dense.updates = iterations;
  }
  return options;
}

Matrix<float> MeanFieldMarginals(const LabelledPicture& picture,
                                 const SegmentationParameters& parameters, int iterations) {
  const DenseCrf model = SegmentationModel(picture.softmax, picture.view(), parameters);
  return std::move(std::get<Matrix<float>>(Solve(model, MeanFieldOptions(iterations)).marginals));
}

}  // namespace submarine::apps
