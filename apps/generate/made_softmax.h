// A classifier's probabilities made from true labels, wrong in the ways that networks are: coarse, smooth, noisy, and here and
// there another class. For experiments that anyone can repeat with pictures of their own.
#pragma once

#include <cstdint>
#include <span>

#include "submarine/base/matrix.h"

namespace submarine::apps {

struct MadeSoftmax {
  int cell = 8;            // pixels that share what is known about them: cell x cell, 1 to 256
  double blur = 1.0;       // standard deviation of the smoothing, in cells, 0 to 20
  double noise = 1.0;      // standard deviation of Gaussian noise of the logits, per cell, 0 to 20
  double confusion = 0.1;  // share of patches (4 x 4 cells) that lean to another class, 0 to 1
  std::uint64_t seed = 1;
};

// A row per pixel. `truth` holds labels below `num_labels`, or a negative number where nothing is known: there all labels are
// equally likely before noise. The same arguments give the same numbers everywhere. Throws InvalidInput.
Matrix<float> SoftmaxFromTruth(std::span<const int> truth, int width, int height, int num_labels,
                               const MadeSoftmax& options);

}  // namespace submarine::apps
