#include "submarine/segmentation/segmentation_model.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

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

}  // namespace

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
