// A classifier's probabilities as .npy, and the labels that are true.
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

// The layout is recognised from the size of the picture unless it is `given`. Throws FileError, and InvalidInput
// naming the file for shapes and values that are no softmax of such a picture.
LoadedSoftmax ReadSoftmax(const std::filesystem::path& path, ImageSize picture,
                          std::optional<SoftmaxLayout> given = {});

// Labels from the samples of a picture of labels, kUnknownLabel for the sample `unknown`. Throws InvalidInput naming
// the file where a sample is no label, or where all are unknown.
std::vector<int> LabelsFromImage(const Image& image, int num_labels, int unknown,
                                 const std::filesystem::path& path);

}  // namespace submarine::internal
