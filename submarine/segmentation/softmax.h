// A classifier's probabilities for a picture, and the unaries made from them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "submarine/base/matrix.h"

namespace submarine {

// The position of the labels in an array of probabilities.
enum class SoftmaxLayout {
  kLabelsLast,   // (height, width, labels)
  kLabelsFirst,  // (labels, height, width)
};
std::string_view ToString(SoftmaxLayout layout);  // "(height, width, labels)"

// Recognises the layout from the size of the picture. `name` begins the message. Throws
// InvalidInput unless there are three axes and the array fits one way (both ways is an error unless
// one is `given`), with 2 to kMaxLabels labels.
SoftmaxLayout RecogniseSoftmaxLayout(std::span<const std::int64_t> shape, int width, int height,
                                     std::string_view name,
                                     std::optional<SoftmaxLayout> given = {});

// One row per pixel from the values of such an array in C order.
Matrix<float> SoftmaxByPixel(std::span<const float> values, SoftmaxLayout layout, int width,
                             int height, std::size_t labels);

// Empty if every row is a distribution: values from 0 to 1 that sum to 1, both up to 0.01, the
// precision of half floats or 8 bits. Otherwise one sentence, without its subject, about the first
// pixel that is not: "is nan at pixel (3, 5), label 2, expected ...".
std::string SoftmaxProblem(const Matrix<float>& softmax, int width);
// Throws InvalidInput with that sentence after `name`.
void CheckSoftmax(const Matrix<float>& softmax, int width, std::string_view name);

// Smaller probabilities are raised to this before the logarithm, as in pydensecrf's
// unary_from_softmax.
inline constexpr double kSoftmaxClip = 1e-5;

// -log(max(p, clip)) / temperature. A temperature above 1 trusts the classifier less. Throws
// InvalidInput unless 0 < clip < 1 and the temperature is finite and > 0. Does not check the rows.
Matrix<float> UnariesFromSoftmax(const Matrix<float>& softmax, double temperature = 1.0,
                                 double clip = kSoftmaxClip);

}  // namespace submarine
