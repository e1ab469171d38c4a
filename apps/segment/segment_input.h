// The input of a segmentation: a picture with the output of a classifier or scribbles of a user.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/reading_limits.h"
#include "apps/segment/label_colours.h"
#include "apps/volume/nifti.h"
#include "submarine/base/matrix.h"
#include "submarine/io/image/image.h"
#include "submarine/segmentation/softmax.h"

namespace submarine::apps {

// The files of one picture; empty if not given. Exactly one of softmax, unary and scribbles is
// given.
struct SegmentFiles {
  std::string image;
  std::string softmax;
  std::string unary;
  std::string scribbles;
  std::string truth;
  std::string region;
};

// How to read them.
struct SegmentReading {
  double confidence = 0.7;              // of scribbles
  double softmax_temperature = 1.0;     // above 1: the classifier is trusted less
  std::optional<SoftmaxLayout> layout;  // if the shape is ambiguous
  int ignore = 255;                     // the value for unknown in the truth
  std::vector<std::string> classes;     // their names; empty: numbers, or the colours of scribbles
  std::vector<Colour> palette;          // empty: VOC's, or the colours of scribbles
};

struct SegmentPicture {
  Image image;                           // of a volume: its slices, one below the other
  std::shared_ptr<const Volume> volume;  // without its values; null: a picture
  Matrix<float> unary;                   // one row per pixel
  bool scribbled = false;                // by a user, not a classifier
  std::vector<int>
      before;  // the best label by the unaries; internal::kUnknownLabel where all are equal
  std::vector<int> truth;             // empty: none; internal::kUnknownLabel where unknown
  std::vector<char> region;           // empty: the whole picture; else not 0 inside
  std::vector<std::string> names;     // of labels
  std::vector<Colour> colours;        // one per label
  std::vector<std::string> notes;     // how the input was interpreted
  std::vector<std::string> warnings;  // probable mistakes

  // (height, width) or (depth, height, width)
  std::vector<int> extent() const;
};

// Throws InvalidInput and FileError for sizes that do not match, values that are not probabilities,
// and labels of the truth or numbers of classes or colours that do not fit. In scribbles, every
// colour but black is a label, in the order of their values (red first); black pixels are
// undecided, and all labels are equally likely there. Also throws what `limits` throws.
SegmentPicture ReadSegmentPicture(const SegmentFiles& files, const SegmentReading& reading,
                                  const ReadingLimits& limits);

// The fewest labels that the picture can have, by the beginnings of its files.
std::size_t LeastLabels(const SegmentFiles& files);

}  // namespace submarine::apps
