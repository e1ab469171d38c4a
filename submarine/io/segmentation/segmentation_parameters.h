// Parameters of segmentation as a file:
//
//   {"submarine": "segmentation", "position_sigma": 3, "position_weight": 3, "bilateral_sigma": 80,
//    "colour_sigma": 13, "bilateral_weight": 10, "updates": 5, "normalisation": "symmetric",
//    "softmax_temperature": 1, "fit": {...}}
//
// Keys left out have their defaults; "fit" is for people and may hold anything. Any other key is an
// error.
#pragma once

#include <filesystem>
#include <string>

#include "submarine/segmentation/segmentation_model.h"

namespace submarine {

// Throws FileError naming file and key, also for values that CheckParameters refuses.
SegmentationParameters ReadSegmentationParameters(const std::filesystem::path& path);

// `fit`: the JSON text of that key, or empty. Throws InvalidInput for parameters that
// CheckParameters refuses and for a text that is not JSON; FileError.
void WriteSegmentationParameters(const std::filesystem::path& path,
                                 const SegmentationParameters& parameters,
                                 const std::string& fit = "");

}  // namespace submarine
