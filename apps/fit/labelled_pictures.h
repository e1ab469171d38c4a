// Pictures with a classifier's softmax and true labels, as read by segment-bench and fit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "submarine/segmentation/labelled_picture.h"

namespace submarine::apps {

struct LabelledFiles {
  std::string name;  // of the softmax without its extension
  std::filesystem::path picture;
  std::filesystem::path softmax;
  std::filesystem::path labels;
};

// Every input is either a directory with X.png (or .jpg, .jpeg, .bmp, .tif, .tiff, .ppm, .pgm),
// X.softmax.npy and X.labels.png, or a list: a text file with the three files of a picture on each
// line, separated by tabs, relative to the list; lines that begin with # are comments. Returned in
// the order of the inputs, those of a directory by name. Throws FileError, and InvalidInput for a
// directory without any softmax, a missing picture or labels, a line without exactly three fields,
// two softmaxes of the same name.
std::vector<LabelledFiles> FindLabelledPictures(const std::vector<std::string>& inputs);

using internal::LabelledPicture;

// The sample `unknown` in the labels means unknown. Throws FileError and InvalidInput naming the
// file.
LabelledPicture ReadLabelledPicture(const LabelledFiles& files, int unknown);

// Throws InvalidInput if two pictures differ in their number of labels.
void RequireSameLabels(const LabelledPicture& first, const LabelledPicture& other);

}  // namespace submarine::apps
