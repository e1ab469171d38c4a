#include "submarine/segmentation/segmentation_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/model/image_features.h"
#include "submarine/segmentation/softmax.h"

namespace submarine {
namespace {

constexpr int kMaxIterations = 1000000;

void CheckPositive(std::string_view name, double value) {
  if (!(value > 0.0) || !std::isfinite(value)) {
    throw InvalidInput(fmt::format(
        "segmentation parameters: {} is {:g}, expected a finite number > 0", name, value));
  }
}

void CheckWeight(std::string_view name, double value) {
  if (!(value >= 0.0) || !std::isfinite(value)) {
    throw InvalidInput(fmt::format(
        "segmentation parameters: {} is {:g}, expected a finite number >= 0", name, value));
  }
}

// The geometric mean of the sides of the pictures that the rule was found on, 500 x 375.
constexpr double kSide = 433.0127;  // sqrt(500 * 375)

}  // namespace

ClassifierProfile ProfileOf(const float* costs, std::span<const int> extent, std::size_t labels,
                            std::ptrdiff_t pixel_stride, std::ptrdiff_t label_stride) {
  std::size_t pixels = 1;
  for (const int side : extent) pixels *= static_cast<std::size_t>(side);
  std::vector<std::uint16_t> best(pixels);
  double sum = 0.0;
  std::size_t decided = 0;
  for (std::size_t a = 0; a < pixels; ++a) {
    const float* cost = costs + static_cast<std::ptrdiff_t>(a) * pixel_stride;
    float least = std::numeric_limits<float>::infinity();
    float second = least;
    float largest = -least;
    for (std::size_t l = 0; l < labels; ++l, cost += label_stride) {
      if (*cost < least) {
        second = least;
        least = *cost;
        best[a] = static_cast<std::uint16_t>(l);
      } else {
        second = std::min(second, *cost);
      }
      largest = std::max(largest, *cost);
    }
    if (!(largest > least)) continue;
    sum += static_cast<double>(second) - static_cast<double>(least);
    ++decided;
  }
  std::size_t pairs = 0;
  std::size_t different = 0;
  std::size_t step = 1;  // between neighbours along an axis, the last one first
  for (std::size_t axis = extent.size(); axis-- > 0;) {
    const auto side = static_cast<std::size_t>(extent[axis]);
    for (std::size_t a = 0; a < pixels; ++a) {
      if (a / step % side + 1 == side) continue;
      ++pairs;
      different += best[a] != best[a + step] ? 1 : 0;
    }
    step *= side;
  }
  const auto mean = [](double total, std::size_t count) {
    return count == 0 ? 0.0 : total / static_cast<double>(count);
  };
  return {mean(sum, decided), mean(static_cast<double>(different), pairs)};
}

ClassifierProfile ProfileOf(const Matrix<float>& unary, std::span<const int> extent) {
  return ProfileOf(unary.data(), extent, unary.cols(), static_cast<std::ptrdiff_t>(unary.cols()),
                   1);
}

SegmentationParameters ParametersFor(std::span<const int> extent,
                                     const ClassifierProfile& profile) {
  SegmentationParameters parameters;
  parameters.position_sigma = 1.0;
  parameters.bilateral_sigma = 3.0;  // voxels
  if (extent.size() == 2) {
    const double side = std::sqrt(static_cast<double>(extent[0]) * extent[1]) / kSide;
    parameters.position_sigma = std::max(1.0, side);
    parameters.bilateral_sigma = 67.0 * side;
  }
  const double unit = profile.confidence * std::min(2.0, 0.2 + 40.0 * profile.disagreement);
  parameters.position_weight = 0.75 * unit;
  parameters.colour_sigma = 8.0;
  parameters.bilateral_weight = 0.7 * unit;
  return parameters;
}

void CheckParameters(const SegmentationParameters& parameters) {
  CheckPositive("position_sigma", parameters.position_sigma);
  CheckWeight("position_weight", parameters.position_weight);
  CheckPositive("bilateral_sigma", parameters.bilateral_sigma);
  CheckPositive("colour_sigma", parameters.colour_sigma);
  CheckWeight("bilateral_weight", parameters.bilateral_weight);
  CheckPositive("softmax_temperature", parameters.softmax_temperature);
  if (parameters.iterations < 0 || parameters.iterations > kMaxIterations) {
    throw InvalidInput(
        fmt::format("segmentation parameters: iterations is {}, expected 0 (until it converges) to "
                    "{}",
                    parameters.iterations, kMaxIterations));
  }
  if (parameters.normalisation != KernelNormalisation::kSymmetric &&
      parameters.normalisation != KernelNormalisation::kNone) {
    throw InvalidInput(
        "segmentation parameters: the normalisation is one-sided, expected symmetric or none");
  }
}

std::vector<GaussianKernel> SegmentationKernels(const PictureView& picture,
                                                const SegmentationParameters& parameters) {
  CheckParameters(parameters);
  std::vector<GaussianKernel> kernels;
  if (parameters.position_weight > 0.0) {
    kernels.push_back(PositionKernel(picture.width, picture.height, parameters.position_sigma,
                                     parameters.position_sigma, parameters.position_weight));
  }
  if (parameters.bilateral_weight > 0.0) {
    const double colour_sigma[] = {parameters.colour_sigma};
    kernels.push_back(BilateralKernel(picture.width, picture.height, picture.channels,
                                      picture.samples, parameters.bilateral_sigma,
                                      parameters.bilateral_sigma, colour_sigma,
                                      parameters.bilateral_weight));
  }
  for (GaussianKernel& kernel : kernels) kernel.normalisation = parameters.normalisation;
  return kernels;
}

DenseCrf SegmentationModel(const Matrix<float>& softmax, const PictureView& picture,
                           const SegmentationParameters& parameters,
                           const std::optional<LabelSpace>& labels) {
  const auto pixels =
      static_cast<std::size_t>(picture.width) * static_cast<std::size_t>(picture.height);
  if (softmax.rows() != pixels) {
    throw InvalidInput(fmt::format("the softmax has {} pixels, expected {} x {} like the picture",
                                   softmax.rows(), picture.width, picture.height));
  }
  std::vector<GaussianKernel> kernels = SegmentationKernels(picture, parameters);
  return DenseCrf(UnariesFromSoftmax(softmax, parameters.softmax_temperature), std::move(kernels),
                  labels ? *labels : PottsLabels(static_cast<int>(softmax.cols())),
                  PairCounting::kOnce);
}

}  // namespace submarine
