// A picture with a classifier's softmax and its true labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/segmentation/segmentation_model.h"

namespace submarine::internal {

struct LabelledPicture {
  std::string name;
  int width = 0;
  int height = 0;
  int channels = 3;
  std::vector<float> samples;  // 0 to 255, channels innermost
  Matrix<float> softmax;       // one row per pixel
  std::vector<int> truth;      // kUnknownLabel where it is not known
  std::uint64_t contents = 0;  // a hash of everything, for results that are kept in files

  PictureView view() const { return {width, height, channels, samples}; }
  int num_labels() const { return static_cast<int>(softmax.cols()); }
};

}  // namespace submarine::internal
