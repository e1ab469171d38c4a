#include "submarine/io/segmentation/softmax_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "submarine/base/error.h"
#include "submarine/io/file/npy.h"
#include "submarine/segmentation/evaluation.h"

namespace submarine::internal {

LoadedSoftmax ReadSoftmax(const std::filesystem::path& path, ImageSize picture,
                          std::optional<SoftmaxLayout> given) {
  NpyReader reader(path);
  const SoftmaxLayout layout =
      RecogniseSoftmaxLayout(reader.shape(), picture.width, picture.height, path.string(), given);
  const auto labels = static_cast<std::size_t>(
      layout == SoftmaxLayout::kLabelsLast ? reader.shape()[2] : reader.shape()[0]);
  LoadedSoftmax loaded{Matrix<float>(reader.count() / labels, labels), layout};
  if (layout == SoftmaxLayout::kLabelsLast) {
    reader.ReadTo(std::span<float>(loaded.rows.data(), loaded.rows.size()));
  } else {
    std::vector<float> values(reader.count());
    reader.ReadTo(std::span<float>(values));
    loaded.rows = SoftmaxByPixel(values, layout, picture.width, picture.height, labels);
  }
  CheckSoftmax(loaded.rows, picture.width, path.string());
  return loaded;
}

std::vector<int> LabelsFromImage(const Image& image, int num_labels, int unknown,
                                 const std::filesystem::path& path) {
  std::vector<int> labels(image.samples.begin(), image.samples.end());
  for (std::size_t a = 0; a < labels.size(); ++a) {
    if (labels[a] == unknown) {
      labels[a] = kUnknownLabel;
    } else if (labels[a] >= num_labels) {
      const auto width = static_cast<std::size_t>(image.width);
      throw InvalidInput(
          fmt::format("{} has the label {} at pixel ({}, {}), expected 0 to {}, or {} for unknown",
                      path.string(), labels[a], a % width, a / width, num_labels - 1, unknown));
    }
  }
  if (std::all_of(labels.begin(), labels.end(), [](int l) { return l == kUnknownLabel; })) {
    throw InvalidInput(
        fmt::format("{} has no pixel with a known label: all are {}", path.string(), unknown));
  }
  return labels;
}

}  // namespace submarine::internal
