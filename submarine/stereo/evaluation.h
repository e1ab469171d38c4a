// The quality of an estimated disparity map, and how well its uncertainties predict its errors.
//
// All arrays hold one entry per pixel, a = y width + x. A pixel is compared if its true disparity
// is known (not NaN) and its mask is not zero; an empty mask takes all pixels. All functions throw
// InvalidInput for sizes that do not match, a true disparity that is infinite, an estimate or an
// uncertainty of a compared pixel that is not finite, and no pixel to compare. Pixels that are not
// compared may hold anything.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine::internal {

struct DisparityErrors {
  std::int64_t pixels = 0;  // number of pixels compared
  // Fractions, 0 to 1, of the compared pixels with |estimate - truth| > 0.5, 1 and 2.
  double bad_half = 0.0;
  double bad_one = 0.0;
  double bad_two = 0.0;
  double mean_absolute = 0.0;  // of |estimate - truth|, in pixels
};

DisparityErrors CompareDisparities(std::span<const float> estimate, std::span<const float> truth,
                                   std::span<const std::uint8_t> mask = {});

// The fraction of bad pixels that remain when the most uncertain pixels are removed.
struct Sparsification {
  std::vector<double> removed;  // the fraction of compared pixels removed: k / steps, k < steps
  std::vector<double> by_uncertainty;  // the fraction of bad pixels among the rest
  std::vector<double> oracle;  // the same with the largest errors removed first, the best order
  // Areas below the curves by the trapezoid rule, over the removed fractions 0 to 1 - 1 / steps.
  // For `random`, an uninformative uncertainty, the curve is the flat line through the first point.
  double area = 0.0;
  double oracle_area = 0.0;
  double random_area = 0.0;
};

// A pixel is bad if |estimate - truth| > threshold (finite, >= 0). `steps` is 1 to 10000.
//
// Pixels of equal uncertainty are removed in random order and the curve is the expectation over
// these orders: a group that is only partly removed keeps its own fraction of bad pixels. So the
// curve does not depend on the order of the pixels, and a constant uncertainty gives exactly the
// flat line. Where k / steps of the pixels is not a whole number, a fraction of a pixel counts in
// the same way.
Sparsification Sparsify(std::span<const float> estimate, std::span<const float> truth,
                        std::span<const float> uncertainty, std::span<const std::uint8_t> mask = {},
                        double threshold = 1.0, int steps = 20);

// Are the marginals calibrated? Among the pixels that put 80% of their mass within a pixel of their
// estimate, 80% should be within a pixel of the truth.
struct Calibration {
  // One entry per bin of confidences that holds a pixel, in ascending order.
  std::vector<double> confidence;   // the mean in this bin
  std::vector<double> frequency;    // the fraction of this bin with |estimate - truth| <= 1
  std::vector<std::int64_t> count;  // the number of pixels in this bin
  double expected_error = 0.0;      // sum of count |confidence - frequency| / pixels compared
};

// Row a of `marginals` is a distribution over the disparities 0, 1, ..., cols - 1. The confidence
// of a pixel is its mass on the labels l with |l - estimate| <= 1. `bins` (1 to 10000) bins of
// equal width divide [0,1]; a confidence on a border belongs to the upper bin, 1 to the last. Also
// throws InvalidInput if the row of a compared pixel has an entry that is negative or not finite,
// or a sum further than 0.001 from 1.
Calibration Calibrate(const Matrix<float>& marginals, std::span<const float> estimate,
                      std::span<const float> truth, std::span<const std::uint8_t> mask = {},
                      int bins = 10);

}  // namespace submarine::internal
