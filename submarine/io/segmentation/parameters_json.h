// Parameters of segmentation as the JSON of their file, without its kind.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "submarine/segmentation/segmentation_model.h"

namespace submarine::internal {

nlohmann::ordered_json ToJson(const SegmentationParameters& parameters);

}  // namespace submarine::internal
