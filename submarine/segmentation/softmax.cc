#include "submarine/segmentation/softmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/labels/label_cuts.h"

namespace submarine {
namespace {

using internal::kRowGrain;
using internal::ParallelFor;

constexpr double kTolerance = 0.01;

std::string ShapeText(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

// The sentence about one row, or "" if it is valid.
std::string RowProblem(std::span<const float> row, std::size_t pixel, std::size_t width) {
  double sum = 0.0;
  for (std::size_t label = 0; label < row.size(); ++label) {
    if (!(row[label] >= -kTolerance && row[label] <= 1.0 + kTolerance)) {
      return fmt::format(
          "is {:g} at pixel ({}, {}), label {}, expected probabilities from 0 to 1{}", row[label],
          pixel % width, pixel / width, label,
          std::isfinite(row[label]) ? " (are they logits or costs? take a softmax first)" : "");
    }
    sum += row[label];
  }
  if (std::abs(sum - 1.0) > kTolerance) {
    return fmt::format(
        "sums to {:.6g} over the {} labels of pixel ({}, {}), expected 1 (is the order of the axes "
        "right, are labels missing?)",
        sum, row.size(), pixel % width, pixel / width);
  }
  return "";
}

}  // namespace

std::string_view ToString(SoftmaxLayout layout) {
  return layout == SoftmaxLayout::kLabelsLast ? "(height, width, labels)"
                                              : "(labels, height, width)";
}

SoftmaxLayout RecogniseSoftmaxLayout(std::span<const std::int64_t> shape, int width, int height,
                                     std::string_view name, std::optional<SoftmaxLayout> given) {
  const bool last = shape.size() == 3 && shape[0] == height && shape[1] == width;
  const bool first = shape.size() == 3 && shape[1] == height && shape[2] == width;
  if (last && first && !given) {
    throw InvalidInput(
        fmt::format("{} has shape {}, which may be (height, width, labels) or (labels, height, "
                    "width) for a picture of {} x {}: say which",
                    name, ShapeText(shape), width, height));
  }
  const SoftmaxLayout layout =
      given.value_or(last ? SoftmaxLayout::kLabelsLast : SoftmaxLayout::kLabelsFirst);
  if (!(layout == SoftmaxLayout::kLabelsLast ? last : first)) {
    const bool turned = shape.size() == 3 && ((shape[0] == width && shape[1] == height) ||
                                              (shape[1] == width && shape[2] == height));
    const std::string labels_last = fmt::format("({}, {}, labels)", height, width);
    const std::string labels_first = fmt::format("(labels, {}, {})", height, width);
    throw InvalidInput(fmt::format(
        "{} has shape {}, expected {} for the picture of {} x {}{}", name, ShapeText(shape),
        !given                                 ? labels_last + " or " + labels_first
        : layout == SoftmaxLayout::kLabelsLast ? labels_last
                                               : labels_first,
        width, height, turned ? " (width and height seem to be exchanged)" : ""));
  }
  const std::int64_t labels = layout == SoftmaxLayout::kLabelsLast ? shape[2] : shape[0];
  if (labels < 2 || labels > kMaxLabels) {
    throw InvalidInput(fmt::format("{} has shape {}: {} labels, expected 2 to {}", name,
                                   ShapeText(shape), labels, kMaxLabels));
  }
  return layout;
}

Matrix<float> SoftmaxByPixel(std::span<const float> values, SoftmaxLayout layout, int width,
                             int height, std::size_t labels) {
  const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  if (values.size() != pixels * labels) {
    throw InvalidInput(fmt::format("the softmax has {} values, expected {} x {} x {} labels",
                                   values.size(), width, height, labels));
  }
  Matrix<float> rows(pixels, labels);
  if (layout == SoftmaxLayout::kLabelsLast) {
    std::copy(values.begin(), values.end(), rows.data());
    return rows;
  }
  ParallelFor(pixels, kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t l = 0; l < labels; ++l) {
      for (std::size_t a = begin; a < end; ++a) rows(a, l) = values[l * pixels + a];
    }
  });
  return rows;
}

std::string SoftmaxProblem(const Matrix<float>& softmax, int width) {
  for (std::size_t a = 0; a < softmax.rows(); ++a) {
    std::string problem = RowProblem(softmax.row(a), a, static_cast<std::size_t>(width));
    if (!problem.empty()) return problem;
  }
  return "";
}

void CheckSoftmax(const Matrix<float>& softmax, int width, std::string_view name) {
  const std::string problem = SoftmaxProblem(softmax, width);
  if (!problem.empty()) throw InvalidInput(fmt::format("{} {}", name, problem));
}

Matrix<float> UnariesFromSoftmax(const Matrix<float>& softmax, double temperature, double clip) {
  if (!(clip > 0.0 && clip < 1.0))
    throw InvalidInput(fmt::format("the clip is {:g}, expected a number between 0 and 1", clip));
  if (!(temperature > 0.0) || !std::isfinite(temperature)) {
    throw InvalidInput(
        fmt::format("the softmax temperature is {:g}, expected a finite number > 0", temperature));
  }
  Matrix<float> unary(softmax.rows(), softmax.cols());
  const auto least = static_cast<float>(clip);
  const auto factor = static_cast<float>(-1.0 / temperature);
  ParallelFor(softmax.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin * softmax.cols(); k < end * softmax.cols(); ++k)
      unary.data()[k] = factor * std::log(std::clamp(softmax.data()[k], least, 1.0F));
  });
  return unary;
}

}  // namespace submarine
