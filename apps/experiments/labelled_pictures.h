// Pictures with a classifier's softmax and true labels, which segment-bench and fit read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/segmentation/segmentation_model.h"

namespace submarine::apps {

struct LabelledFiles {
  std::string name;  // of the softmax without its ending
  std::filesystem::path picture;
  std::filesystem::path softmax;
  std::filesystem::path labels;
};

// Every input is a directory with X.png (or .jpg, .jpeg, .bmp, .tif, .tiff, .ppm, .pgm), X.softmax.npy and X.labels.png, or a list: a text
// file with the three files of a picture in a line, separated by tabs, relative to the list; lines that begin with # are
// comments. In the order of the inputs, those of a directory by name. Throws FileError, and InvalidInput: a directory without any softmax, a
// picture or its labels missing, a line that has not three fields, two softmaxes of the same name.
std::vector<LabelledFiles> FindLabelledPictures(const std::vector<std::string>& inputs);

struct LabelledPicture {
  std::string name;
  int width = 0;
  int height = 0;
  int channels = 3;
  std::vector<float> samples;  // 0 to 255
  Matrix<float> softmax;
  std::vector<int> truth;
  std::uint64_t contents = 0;  // a hash of all of it

  PictureView view() const { return {width, height, channels, samples}; }
  int num_labels() const { return static_cast<int>(softmax.cols()); }
};

// The sample `unknown` of the labels is no label. Throws FileError and InvalidInput naming the file.
LabelledPicture ReadLabelledPicture(const LabelledFiles& files, int unknown);

// Throws InvalidInput where two pictures differ in their number of labels.
void RequireSameLabels(const LabelledPicture& first, const LabelledPicture& other);

}  // namespace submarine::apps
