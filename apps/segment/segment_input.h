// What a segmentation starts from: a picture with what a classifier or a user says about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/segment/label_colours.h"
#include "submarine/base/matrix.h"
#include "submarine/io/image/image.h"
#include "submarine/segmentation/softmax.h"

namespace submarine::apps {

// Of one picture; empty where there is none. One of softmax, unary and scribbles is given.
struct SegmentFiles {
  std::string image;
  std::string softmax;
  std::string unary;
  std::string scribbles;
  std::string truth;
};

// How they are read.
struct SegmentReading {
  double confidence = 0.7;              // of scribbles
  double softmax_temperature = 1.0;     // above 1: the classifier is trusted less
  std::optional<SoftmaxLayout> layout;  // where the shape does not tell
  int ignore = 255;                     // what the truth has where it is unknown
  std::vector<std::string> classes;     // their names; empty: numbers, or the colours of scribbles
  std::vector<Colour> palette;          // empty: VOC's, or the colours of scribbles
};

struct SegmentPicture {
  Image image;
  Matrix<float> unary;  // a row per pixel
  std::vector<int>
      before;  // the best label by the unaries; internal::kUnknownLabel where all are equal
  std::vector<int> truth;          // empty without; internal::kUnknownLabel where it is not known
  std::vector<std::string> names;  // of labels
  std::vector<Colour> colours;     // one per label
  std::vector<std::string> notes;  // how the input was understood
  std::vector<std::string> warnings;  // what is probably a mistake
};

// Throws InvalidInput and FileError: sizes that do not match, probabilities that are none, labels of the
// truth or a number of classes or colours that do not fit. Of scribbles, every colour but black is a label, in the order of their
// values (red first); black pixels are undecided, and all labels are equally likely there.
SegmentPicture ReadSegmentPicture(const SegmentFiles& files, const SegmentReading& reading);

}  // namespace submarine::apps
