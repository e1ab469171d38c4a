#include "submarine/segmentation/segmentation_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

constexpr int kMaxUpdates = 1000000;

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

// Below this a kernel of positions would change next to nothing.
constexpr double kLeastSpeckle = 0.005;

// The share of pairs that are `apart` along an axis with different labels.
double Disagreement(std::span<const std::uint16_t> best, std::span<const int> extent,
                    std::size_t apart) {
  std::size_t pairs = 0;
  std::size_t different = 0;
  std::size_t step = 1;  // between neighbours along an axis, the last one first
  for (std::size_t axis = extent.size(); axis-- > 0;) {
    const auto side = static_cast<std::size_t>(extent[axis]);
    const std::size_t block = step * side;
    for (std::size_t start = 0; side > 2 && start < best.size(); start += block) {
      const std::size_t end = start + block - apart * step;
      for (std::size_t a = start; a < end; ++a)
        different += best[a] != best[a + apart * step] ? 1 : 0;
      pairs += end - start;
    }
    step = block;
  }
  return pairs == 0 ? 0.0 : static_cast<double>(different) / static_cast<double>(pairs);
}

}  // namespace

ClassifierProfile ProfileOf(const float* costs, std::span<const int> extent, std::size_t labels,
                            std::ptrdiff_t pixel_stride, std::ptrdiff_t label_stride) {
  std::size_t pixels = 1;
  for (const int side : extent) pixels *= static_cast<std::size_t>(side);
  std::vector<std::uint16_t> best(pixels);
  const double most = -std::log(kSoftmaxClip);
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
    sum += std::min(most, static_cast<double>(second) - static_cast<double>(least));
    ++decided;
  }
  ClassifierProfile profile;
  if (decided == 0) return profile;
  profile.decided = static_cast<double>(decided) / static_cast<double>(pixels);
  profile.confidence = sum / static_cast<double>(decided);
  profile.speckle =
      std::clamp(2.0 * Disagreement(best, extent, 1) - Disagreement(best, extent, 2), 0.0, 1.0);
  return profile;
}

ClassifierProfile ProfileOf(const Matrix<float>& unary, std::span<const int> extent) {
  return ProfileOf(unary.data(), extent, unary.cols(), static_cast<std::ptrdiff_t>(unary.cols()),
                   1);
}

SegmentationParameters ParametersFor(std::span<const int> extent,
                                     const ClassifierProfile& profile) {
  SegmentationParameters parameters;
  const bool picture = extent.size() == 2;
  if (picture && profile.decided > 0.0 && profile.decided < 0.5) return parameters;
  const double side = picture ? std::sqrt(static_cast<double>(extent[0]) * extent[1]) / kSide : 1.0;
  parameters.bilateral_sigma = picture ? 67.0 * side : 3.0;
  parameters.colour_sigma = 8.0;
  parameters.bilateral_weight =
      ((picture ? 0.5 : 1.0) + 2.0 * profile.speckle) * profile.confidence;
  parameters.position_sigma = 1.0;
  parameters.position_weight =
      profile.speckle < kLeastSpeckle ? 0.0 : 8.0 * profile.speckle * profile.confidence;
  return parameters;
}

void CheckParameters(const SegmentationParameters& parameters) {
  CheckPositive("position_sigma", parameters.position_sigma);
  CheckWeight("position_weight", parameters.position_weight);
  CheckPositive("bilateral_sigma", parameters.bilateral_sigma);
  CheckPositive("colour_sigma", parameters.colour_sigma);
  CheckWeight("bilateral_weight", parameters.bilateral_weight);
  CheckPositive("softmax_temperature", parameters.softmax_temperature);
  for (const double size : parameters.superpixel_sizes) CheckPositive("a superpixel size", size);
  CheckWeight("superpixel_gamma", parameters.superpixel_gamma);
  if (!(parameters.superpixel_share > 0.0 && parameters.superpixel_share <= 0.5)) {
    throw InvalidInput(
        fmt::format("segmentation parameters: superpixel_share is {:g}, expected a number above 0 "
                    "and at most 0.5",
                    parameters.superpixel_share));
  }
  if (parameters.updates < 0 || parameters.updates > kMaxUpdates) {
    throw InvalidInput(
        fmt::format("segmentation parameters: updates is {}, expected 0 (until it converges) to "
                    "{}",
                    parameters.updates, kMaxUpdates));
  }
  if (parameters.normalisation != KernelNormalisation::kSymmetric &&
      parameters.normalisation != KernelNormalisation::kNone) {
    throw InvalidInput(
        "segmentation parameters: the normalisation is one-sided, expected symmetric or none");
  }
}

std::vector<GaussianKernel> SegmentationKernels(const PictureView& picture,
                                                const SegmentationParameters& parameters) {
  return SegmentationKernels(std::array{picture.width, picture.height}, std::array{1.0, 1.0},
                             picture.channels, picture.samples, parameters);
}

std::vector<GaussianKernel> SegmentationKernels(std::span<const int> size,
                                                std::span<const double> spacing, int channels,
                                                std::span<const float> samples,
                                                const SegmentationParameters& parameters) {
  CheckParameters(parameters);
  const auto sigmas = [&](double length) {
    std::vector<double> sigma;
    for (const double step : spacing) sigma.push_back(length / step);
    return sigma;
  };
  std::vector<GaussianKernel> kernels;
  if (parameters.position_weight > 0.0) {
    kernels.push_back(
        PositionKernel(size, sigmas(parameters.position_sigma), parameters.position_weight));
  }
  if (parameters.bilateral_weight > 0.0) {
    kernels.push_back(BilateralKernel(size, channels, samples, sigmas(parameters.bilateral_sigma),
                                      std::array{parameters.colour_sigma},
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
