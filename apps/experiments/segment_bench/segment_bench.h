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
    kPydensecrf,  // that package's update, self terms and all
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

// All of pixels whose true label is known. Labels are the most probable ones.
struct SegmentResult {
  double accuracy = 0.0;
  double mean_iou = 0.0;
  // Accuracy within 3 and 6 pixels of a boundary; nothing where the truth has none.
  std::optional<double> boundary_3, boundary_6;
  double calibration_error = 0.0;
  double negative_log_likelihood = 0.0;
  double seconds = 0.0;      // from picture and softmax in memory to marginals
  double cpu_seconds = 0.0;  // of all threads
  std::string termination;
};

// What a run is about: two runs with the same parameters have the same result, but for seconds.
nlohmann::ordered_json RunParameters(const LabelledPicture& picture,
                                     const SegmentationParameters& parameters,
                                     const SegmentMethod& method, double time_limit);

// The scores of probabilities, a row per pixel, and of their labels.
SegmentResult Score(const LabelledPicture& picture, const Matrix<float>& probabilities);

// `watch` is told what is going on and returns false to stop: then there is no result. `time_limit` is for auto and routed.
using SegmentWatch = std::function<bool(const std::string& doing)>;
std::optional<SegmentResult> RunSegmentMethod(const LabelledPicture& picture,
                                              const SegmentationParameters& parameters,
                                              const SegmentMethod& method, double time_limit,
                                              const SegmentWatch& watch);

// Marginals after so many classic updates; 0: until it converges.
Matrix<float> MeanFieldMarginals(const LabelledPicture& picture,
                                 const SegmentationParameters& parameters, int iterations);

}  // namespace submarine::apps
