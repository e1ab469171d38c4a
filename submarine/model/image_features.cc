#include "submarine/model/image_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "submarine/base/error.h"

namespace submarine {
namespace {

// Width, height and, for volumes, depth, with a sigma for each.
struct Grid {
  std::vector<std::int64_t> size;
  std::vector<double> sigma;

  std::size_t dimension() const { return size.size(); }
};

void CheckSigma(std::string_view kernel, std::string_view argument, double sigma) {
  if (!(sigma > 0.0) || !std::isfinite(sigma)) {
    throw InvalidInput(
        fmt::format("{} kernel: {} is {}, expected a finite number > 0", kernel, argument, sigma));
  }
}

std::size_t CheckedSize(std::string_view kernel, const Grid& grid) {
  static constexpr std::string_view kAxes[] = {"width", "height", "depth"};
  static constexpr std::string_view kSigmas[] = {"sigma_x", "sigma_y", "sigma_z"};
  std::int64_t total = 1;
  for (std::size_t d = 0; d < grid.dimension(); ++d) {
    if (grid.size[d] < 1) {
      throw InvalidInput(fmt::format("{} kernel: the {} is {}, expected at least 1", kernel,
                                     kAxes[d], grid.size[d]));
    }
    CheckSigma(kernel, kSigmas[d], grid.sigma[d]);
    total *= grid.size[d];  // both factors are below 2^31
    if (total > std::numeric_limits<int>::max()) {
      throw InvalidInput(fmt::format("{} kernel: {} variables were asked for, expected below 2^31",
                                     kernel, fmt::join(grid.size, " x ")));
    }
  }
  return static_cast<std::size_t>(total);
}

// The sigmas as people write them: one number where all are equal.
std::string SigmaText(std::span<const double> sigmas) {
  const bool equal = std::all_of(sigmas.begin(), sigmas.end(),
                                 [&](double sigma) { return sigma == sigmas.front(); });
  return fmt::format("{:g}", fmt::join(equal ? sigmas.first(1) : sigmas, ","));
}

// Coordinates divided by their sigmas, x first, in the first columns of every row.
void FillPositions(const Grid& grid, Matrix<float>& features) {
  for (std::size_t a = 0; a < features.rows(); ++a) {
    std::size_t rest = a;
    for (std::size_t d = 0; d < grid.dimension(); ++d) {
      const auto size = static_cast<std::size_t>(grid.size[d]);
      features(a, d) = static_cast<float>(static_cast<double>(rest % size) / grid.sigma[d]);
      rest /= size;
    }
  }
}

GaussianKernel Position(const Grid& grid, double weight) {
  const std::size_t variables = CheckedSize("position", grid);
  GaussianKernel kernel{.name = "position " + SigmaText(grid.sigma),
                        .features = Matrix<float>(variables, grid.dimension()),
                        .weight = weight};
  FillPositions(grid, kernel.features);
  CheckKernel(kernel);
  return kernel;
}

GaussianKernel Bilateral(const Grid& grid, int channels, std::span<const float> image,
                         std::span<const double> sigma_colour, double weight) {
  const std::size_t variables = CheckedSize("bilateral", grid);
  const std::size_t positions = grid.dimension();
  const int most = static_cast<int>(kMaxFeatureDimension - positions);
  if (channels < 1 || channels > most) {
    throw InvalidInput(fmt::format("bilateral kernel: the image has {} channels, expected 1 to {}",
                                   channels, most));
  }
  const auto num_channels = static_cast<std::size_t>(channels);
  if (image.size() != variables * num_channels) {
    throw InvalidInput(
        fmt::format("bilateral kernel: the image has {} samples, expected {} x {} channels = {}",
                    image.size(), fmt::join(grid.size, " x "), channels, variables * num_channels));
  }
  if (sigma_colour.size() != 1 && sigma_colour.size() != num_channels) {
    throw InvalidInput(
        fmt::format("bilateral kernel: sigma_colour has {} numbers, expected 1 or one for each of "
                    "the {} channels",
                    sigma_colour.size(), channels));
  }
  for (const double sigma : sigma_colour) CheckSigma("bilateral", "sigma_colour", sigma);

  GaussianKernel kernel{
      .name = fmt::format("bilateral {}/{}", SigmaText(grid.sigma), SigmaText(sigma_colour)),
      .features = Matrix<float>(variables, positions + num_channels),
      .weight = weight};
  FillPositions(grid, kernel.features);
  for (std::size_t a = 0; a < variables; ++a) {
    for (std::size_t c = 0; c < num_channels; ++c) {
      const double sigma = sigma_colour[sigma_colour.size() == 1 ? 0 : c];
      kernel.features(a, positions + c) = static_cast<float>(image[a * num_channels + c] / sigma);
    }
  }
  CheckKernel(kernel);
  return kernel;
}

}  // namespace

GaussianKernel PositionKernel(int width, int height, double sigma_x, double sigma_y,
                              double weight) {
  return Position({{width, height}, {sigma_x, sigma_y}}, weight);
}

GaussianKernel VolumePositionKernel(int width, int height, int depth,
                                    const std::array<double, 3>& sigma_xyz, double weight) {
  return Position({{width, height, depth}, {sigma_xyz.begin(), sigma_xyz.end()}}, weight);
}

GaussianKernel BilateralKernel(int width, int height, int channels, std::span<const float> image,
                               double sigma_x, double sigma_y, std::span<const double> sigma_colour,
                               double weight) {
  return Bilateral({{width, height}, {sigma_x, sigma_y}}, channels, image, sigma_colour, weight);
}

GaussianKernel VolumeBilateralKernel(int width, int height, int depth, int channels,
                                     std::span<const float> image,
                                     const std::array<double, 3>& sigma_xyz,
                                     std::span<const double> sigma_colour, double weight) {
  return Bilateral({{width, height, depth}, {sigma_xyz.begin(), sigma_xyz.end()}}, channels, image,
                   sigma_colour, weight);
}

GaussianKernel FeatureKernel(Matrix<float> features, std::span<const double> sigmas, double weight,
                             const std::string& name) {
  if (sigmas.size() != 1 && sigmas.size() != features.cols()) {
    throw InvalidInput(
        fmt::format("feature kernel \"{}\": {} sigmas were given, expected 1 or one for each of "
                    "the {} features",
                    name, sigmas.size(), features.cols()));
  }
  for (const double sigma : sigmas) CheckSigma(fmt::format("feature \"{}\"", name), "sigma", sigma);
  GaussianKernel kernel{.name = name, .features = std::move(features), .weight = weight};
  for (std::size_t a = 0; a < kernel.size(); ++a) {
    for (std::size_t d = 0; d < kernel.dimension(); ++d) {
      const double sigma = sigmas[sigmas.size() == 1 ? 0 : d];
      kernel.features(a, d) = static_cast<float>(kernel.features(a, d) / sigma);
    }
  }
  CheckKernel(kernel);
  return kernel;
}

}  // namespace submarine
