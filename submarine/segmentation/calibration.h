// Probabilities that are about as often right as they say. After a few updates mean field's are too
// sure: what neighbours say is counted as if they had seen something else.
#pragma once

#include <cstddef>
#include <span>

#include "submarine/base/matrix.h"

namespace submarine {

// Raises marginals q to the power 1/T, T >= 1, and normalises them, which keeps every pixel's most
// probable label. The classifier, which has not seen the picture's edges, believes the labels too
// little and mean field believes them too much: sqrt(T') is taken, half-way between no change and
// the T' at which the marginals predict the classifier's own probabilities best (least
// cross-entropy). Pixels where the classifier prefers no label say nothing; where those are most of
// them (scribbles) nothing is changed. Returns T.
double CalibrateMarginals(const Matrix<float>& unary, Matrix<float>* marginals);
// The same for costs in any layout, strides counting floats, and marginals with the labels innermost.
double CalibrateMarginals(const float* costs, std::ptrdiff_t pixel_stride,
                          std::ptrdiff_t label_stride, std::size_t labels,
                          std::span<float> marginals);

}  // namespace submarine
