#include "submarine/model/image_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "submarine/base/error.h"

namespace submarine {
namespace {

// Width, height and, for volumes, depth, with a sigma for each.
struct Grid {
  std::span<const int> size;
  std::span<const double> sigma;

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
  if ((grid.dimension() != 2 && grid.dimension() != 3) || grid.sigma.size() != grid.dimension()) {
    throw InvalidInput(fmt::format("{} kernel: {} sigmas were given for {} axes", kernel,
                                   grid.sigma.size(), grid.dimension()));
  }
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

// The features of a kernel: columns of data, divided by their sigmas.
class Features {
 public:
  Features(std::string_view kernel, std::size_t rows, std::size_t cols)
      : kernel_(kernel), features_(rows, cols) {}
  Features(std::string_view kernel, Matrix<double> data)
      : kernel_(kernel), features_(std::move(data)) {}

  std::size_t rows() const { return features_.rows(); }

  // f = (x - c) / sigma, where value(a) is x.
  template <class Value>
  void SetColumn(std::size_t d, double sigma, const Value& value) {
    double low = value(0);
    double high = low;
    for (std::size_t a = 0; a < rows(); ++a) {
      const double x = value(a);
      if (!std::isfinite(x)) {
        throw InvalidInput(
            fmt::format("{} kernel: feature {} of variable {} is {}, expected a finite number",
                        kernel_, d, a, x));
      }
      low = std::min(low, x);
      high = std::max(high, x);
    }
    SetColumn(d, sigma, low, high, value);
  }

  // The same for numbers that are known to lie between `low` and `high`.
  //
  // The kernel does not depend on c. For numbers that lie close together but far from 0,
  // subtracting the middle of their range saves digits; otherwise c = 0.
  template <class Value>
  void SetColumn(std::size_t d, double sigma, double low, double high, const Value& value) {
    const double width = high - low;
    const bool far = std::max(std::abs(low), std::abs(high)) > 2.0 * width;
    const double centre = far ? low + 0.5 * width : 0.0;
    const double largest = std::max(std::abs(low - centre), std::abs(high - centre)) / sigma;
    constexpr double kMostSigmas = 1e12;
    if (!(largest <= kMostSigmas)) {
      throw InvalidInput(
          fmt::format("{} kernel: feature {} reaches {:.3g} times its sigma {:g}, expected at most "
                      "{:g}: double precision cannot tell neighbours apart",
                      kernel_, d, largest, sigma, kMostSigmas));
    }
    for (std::size_t a = 0; a < rows(); ++a) features_(a, d) = (value(a) - centre) / sigma;
    // Half an ulp each for the difference, the quotient, and x itself where it was a large integer.
    constexpr double kRoundings = 1.5 * 1.001 * std::numeric_limits<double>::epsilon();
    error_ = std::max(error_, kRoundings * largest);
  }

  // Coordinates in the first columns, x first.
  void SetPositions(const Grid& grid) {
    std::size_t stride = 1;
    for (std::size_t d = 0; d < grid.dimension(); ++d) {
      const auto size = static_cast<std::size_t>(grid.size[d]);
      SetColumn(d, grid.sigma[d], 0.0, static_cast<double>(size - 1),
                [&](std::size_t a) { return static_cast<double>(a / stride % size); });
      stride *= size;
    }
  }

  GaussianKernel Kernel(std::string name, double weight) && {
    GaussianKernel kernel{.name = std::move(name),
                          .features = std::move(features_),
                          .weight = weight,
                          .feature_error = error_};
    CheckKernel(kernel);
    return kernel;
  }

  double At(std::size_t a, std::size_t d) const { return features_(a, d); }

 private:
  std::string kernel_;  // for messages
  Matrix<double> features_;
  double error_ = 0.0;
};

template <class Sample>
GaussianKernel Bilateral(const Grid& grid, int channels, std::span<const Sample> image,
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

  Features features("bilateral", variables, positions + num_channels);
  features.SetPositions(grid);
  for (std::size_t c = 0; c < num_channels; ++c) {
    features.SetColumn(
        positions + c, sigma_colour[sigma_colour.size() == 1 ? 0 : c],
        [&](std::size_t a) { return static_cast<double>(image[a * num_channels + c]); });
  }
  return std::move(features).Kernel(
      fmt::format("bilateral {}/{}", SigmaText(grid.sigma), SigmaText(sigma_colour)), weight);
}

}  // namespace

GaussianKernel PositionKernel(std::span<const int> size, std::span<const double> sigma,
                              double weight) {
  const Grid grid{size, sigma};
  const std::size_t variables = CheckedSize("position", grid);
  Features features("position", variables, grid.dimension());
  features.SetPositions(grid);
  return std::move(features).Kernel("position " + SigmaText(grid.sigma), weight);
}

GaussianKernel PositionKernel(int width, int height, double sigma_x, double sigma_y,
                              double weight) {
  return PositionKernel(std::array{width, height}, std::array{sigma_x, sigma_y}, weight);
}

GaussianKernel BilateralKernel(std::span<const int> size, int channels,
                               std::span<const float> image, std::span<const double> sigma,
                               std::span<const double> sigma_colour, double weight) {
  return Bilateral({size, sigma}, channels, image, sigma_colour, weight);
}

GaussianKernel BilateralKernel(std::span<const int> size, int channels,
                               std::span<const double> image, std::span<const double> sigma,
                               std::span<const double> sigma_colour, double weight) {
  return Bilateral({size, sigma}, channels, image, sigma_colour, weight);
}

GaussianKernel BilateralKernel(int width, int height, int channels, std::span<const float> image,
                               double sigma_x, double sigma_y, std::span<const double> sigma_colour,
                               double weight) {
  return BilateralKernel(std::array{width, height}, channels, image, std::array{sigma_x, sigma_y},
                         sigma_colour, weight);
}

GaussianKernel FeatureKernel(Matrix<double> data, std::span<const double> sigmas, double weight,
                             const std::string& name) {
  if (sigmas.size() != 1 && sigmas.size() != data.cols()) {
    throw InvalidInput(
        fmt::format("feature kernel \"{}\": {} sigmas were given, expected 1 or one for each of "
                    "the {} features",
                    name, sigmas.size(), data.cols()));
  }
  const std::string kernel = fmt::format("feature \"{}\"", name);
  for (const double sigma : sigmas) CheckSigma(kernel, "sigma", sigma);
  const std::size_t cols = data.rows() == 0 ? 0 : data.cols();
  Features features(kernel, std::move(data));
  for (std::size_t d = 0; d < cols; ++d) {
    features.SetColumn(d, sigmas[sigmas.size() == 1 ? 0 : d],
                       [&](std::size_t a) { return features.At(a, d); });
  }
  return std::move(features).Kernel(name, weight);
}

GaussianKernel FeatureKernel(const Matrix<float>& data, std::span<const double> sigmas,
                             double weight, const std::string& name) {
  Matrix<double> features(data.rows(), data.cols());
  std::copy(data.data(), data.data() + data.size(), features.data());
  return FeatureKernel(std::move(features), sigmas, weight, name);
}

}  // namespace submarine
