// One run of a segmentation benchmark: a picture, a set of parameters, a method.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/experiments/labelled_pictures.h"
#include "submarine/segmentation/segmentation_model.h"

namespace submarine::apps {

struct SegmentMethod {
  enum class Kind {
    kUnary,       // the softmax alone
    kMeanField,   // the classic update, as `submarine segment` makes it
    kConverged,   // mean field until it converges, damped
    kPydensecrf,  // the update of that package, including self terms
    kAuto,
    kRouted,
  };
  Kind kind = Kind::kUnary;
  int iterations = 0;  // kMeanField and kPydensecrf

  bool operator==(const SegmentMethod&) const = default;
};
std::string ToString(const SegmentMethod& method);  // "mf5"
// "unary", "mfN", "mf", "pydensecrfN", "auto", "routed", N from 1 to 9999.
std::optional<SegmentMethod> ParseSegmentMethod(const std::string& name);
std::vector<SegmentMethod> DefaultSegmentMethods();

struct NamedParameters {
  std::string name;
  SegmentationParameters parameters;
};
nlohmann::ordered_json ToJson(const SegmentationParameters& parameters);

// Over the pixels whose true label is known. Labels are the most probable ones.
struct SegmentResult {
  double accuracy = 0.0;
  double mean_iou = 0.0;
  // Accuracy within 3 and 6 pixels of a boundary; none if the truth has no boundary.
  std::optional<double> boundary_3, boundary_6;
  double calibration_error = 0.0;
  double negative_log_likelihood = 0.0;
  double seconds = 0.0;      // from picture and softmax in memory to marginals
  double cpu_seconds = 0.0;  // of all threads
  std::string termination;
};

// The parameters of a run: runs with the same parameters have the same result, except for seconds.
nlohmann::ordered_json RunParameters(const LabelledPicture& picture,
                                     const SegmentationParameters& parameters,
                                     const SegmentMethod& method, double time_limit);

// The scores of probabilities (one row per pixel) and of their labels.
SegmentResult Score(const LabelledPicture& picture, const Matrix<float>& probabilities);

// `watch` is called with the current activity and returns false to stop, which gives no result.
// `time_limit` applies to auto and routed.
using SegmentWatch = std::function<bool(const std::string& doing)>;
std::optional<SegmentResult> RunSegmentMethod(const LabelledPicture& picture,
                                              const SegmentationParameters& parameters,
                                              const SegmentMethod& method, double time_limit,
                                              const SegmentWatch& watch);

// Marginals after this many classic updates; 0: until convergence.
Matrix<float> MeanFieldMarginals(const LabelledPicture& picture,
                                 const SegmentationParameters& parameters, int iterations);

}  // namespace submarine::apps
