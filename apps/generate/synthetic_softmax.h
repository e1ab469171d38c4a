// A classifier's probabilities simulated from true labels, wrong in the ways that networks are:
// coarse, smooth, noisy, and in places another class. For experiments that anyone can repeat with
// their own pictures.
#pragma once

#include <cstdint>
#include <span>

#include "submarine/base/matrix.h"

namespace submarine::apps {

struct SyntheticSoftmax {
  int cell = 8;            // side of the square cells that share their logits, in pixels, 1 to 256
  double blur = 1.0;       // standard deviation of the smoothing, in cells, 0 to 20
  double noise = 1.0;      // standard deviation of Gaussian noise of the logits, per cell, 0 to 20
  double confusion = 0.1;  // fraction of patches (4 x 4 cells) that lean to another class, 0 to 1
  std::uint64_t seed = 1;
};

// One row per pixel. `truth` holds labels below `num_labels`, or a negative number for unknown:
// there all labels are equally likely before noise. The same arguments give the same numbers on
// every platform. Throws InvalidInput.
Matrix<float> SoftmaxFromTruth(std::span<const int> truth, int width, int height, int num_labels,
                               const SyntheticSoftmax& options);

}  // namespace submarine::apps
