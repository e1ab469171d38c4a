// Segmentation of a picture: what a user marked, or the costs a classifier gave, refined by a dense CRF.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/io/image/image.h"

namespace submarine::apps {

using Colour = std::array<std::uint8_t, 3>;

// Unaries with what is known about their labels.
struct Segments {
  Matrix<float> unary;  // a row per pixel
  std::vector<std::string> names;
  std::vector<Colour> colours;  // one per label
};

// Every colour but black is a label, in the order of their values (red first); black pixels are
// undecided. A marked pixel has its label with probability `confidence`, in (1/labels, 1), the others
// share the rest; for an undecided pixel all are equally likely. Throws InvalidInput for a picture of another size, with fewer than
// 2 or more than 1024 colours.
Segments ReadScribbles(const std::string& file, const Image& image, double confidence);

// Costs (minus the logarithm of probabilities) of shape (height, width, labels).
Segments ReadUnaries(const std::string& file, const Image& image);

}  // namespace submarine::apps
