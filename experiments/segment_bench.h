// A segmentation benchmark: pictures by several methods, with several sets of parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/fit/labelled_pictures.h"
#include "experiments/experiment.h"
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

// One task per set of parameters and method. They refer to all arguments. `time_limit` applies to
// auto and routed.
std::vector<Task> SegmentTasks(const LabelledPicture& picture,
                               const std::vector<NamedParameters>& parameters,
                               const std::vector<SegmentMethod>& methods, double time_limit);

}  // namespace submarine::apps
