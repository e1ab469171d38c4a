// Reads a classifier's probabilities from .npy, and true labels.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/io/image/image.h"
#include "submarine/segmentation/softmax.h"

namespace submarine::internal {

struct LoadedSoftmax {
  Matrix<float> rows;  // one per pixel
  SoftmaxLayout layout = SoftmaxLayout::kLabelsLast;
};

// The layout is recognised from the size of the picture unless it is `given`. Throws FileError, and
// InvalidInput naming the file for shapes and values that are not a softmax of such a picture.
LoadedSoftmax ReadSoftmax(const std::filesystem::path& path, ImageSize picture,
                          std::optional<SoftmaxLayout> given = {});

// Labels from the samples of a label map; the sample `unknown` becomes kUnknownLabel. Throws
// InvalidInput naming the file if a sample is not a label, or if all are unknown.
std::vector<int> LabelsFromImage(const Image& image, int num_labels, int unknown,
                                 const std::filesystem::path& path);

}  // namespace submarine::internal
