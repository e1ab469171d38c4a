#include "submarine/filter/kernel/gaussian_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "submarine/base/error.h"

namespace submarine {
namespace {

// Whether all are finite in single precision, without a branch per number.
bool AreSingle(const Matrix<double>& features) {
  int bad = 0;
  for (std::size_t k = 0; k < features.size(); ++k)
    bad |= std::abs(features.data()[k]) <= std::numeric_limits<float>::max() ? 0 : 1;
  return bad == 0;
}

}  // namespace

double SquaredDistance(const GaussianKernel& kernel, std::size_t a, std::size_t b) {
  double squared = 0.0;
  for (std::size_t d = 0; d < kernel.dimension(); ++d) {
    const double difference = kernel.features(a, d) - kernel.features(b, d);
    squared += difference * difference;
  }
  return squared;
}

double KernelValue(const GaussianKernel& kernel, std::size_t a, std::size_t b) {
  const double value = std::exp(-0.5 * SquaredDistance(kernel, a, b));
  return kernel.scale.empty() ? value : value * (kernel.scale[a] * kernel.scale[b]);
}

// The vector of differences is off by at most E = 2 sqrt(D) error. With t the length of the vector,
//   k' / k <= exp(t E + E^2 / 2),  t E <= E (1 + x) / 2,
// and exp(u) - 1 <= 2 u up to u = 1. Beyond that, with errors as CheckKernel allows them, k is
// below 1e-300.
double FeatureErrorOfValue(const GaussianKernel& kernel) {
  const double apart =
      2.0 * std::sqrt(static_cast<double>(kernel.dimension())) * kernel.feature_error;
  return apart * (1.0 + apart) * (1.0 + 1e-9);
}

Matrix<float> SinglePrecisionFeatures(const GaussianKernel& kernel) {
  Matrix<float> features(kernel.size(), kernel.dimension());
  std::transform(kernel.features.data(), kernel.features.data() + kernel.features.size(),
                 features.data(), [](double f) { return static_cast<float>(f); });
  return features;
}

std::vector<float> SelfTerms(std::span<const WeightedKernel> kernels) {
  std::vector<float> self(kernels.empty() ? 0 : kernels.front().kernel->size(), 0.0F);
  for (const WeightedKernel& weighted : kernels) {
    const std::vector<double>& scale = weighted.kernel->scale;
    for (std::size_t a = 0; a < self.size(); ++a) {
      const double r = scale.empty() ? 1.0 : scale[a];
      self[a] += static_cast<float>(weighted.factor * r * r);
    }
  }
  return self;
}

void CheckKernel(const GaussianKernel& kernel) {
  const auto refuse = [&](const std::string& problem) {
    throw InvalidInput(fmt::format("kernel \"{}\" {}", kernel.name, problem));
  };
  if (kernel.size() == 0) refuse("has no variables, expected at least one");
  if (kernel.dimension() < 1 || kernel.dimension() > kMaxFeatureDimension) {
    refuse(fmt::format("has features of dimension {}, expected 1 to {}", kernel.dimension(),
                       kMaxFeatureDimension));
  }
  if (!(kernel.weight >= 0.0) || !std::isfinite(kernel.weight)) {
    refuse(fmt::format("has weight {}, expected a finite number >= 0", kernel.weight));
  }
  const std::size_t checked = AreSingle(kernel.features) ? kernel.size() : 0;
  for (std::size_t a = checked; a < kernel.size(); ++a) {
    for (std::size_t d = 0; d < kernel.dimension(); ++d) {
      const double feature = kernel.features(a, d);
      if (!std::isfinite(feature)) {
        refuse(fmt::format("has feature {} of variable {} equal to {}, expected a finite number", d,
                           a, feature));
      }
      if (std::abs(feature) > std::numeric_limits<float>::max()) {
        refuse(fmt::format("has feature {} of variable {} equal to {:g}, expected at most {:g}", d,
                           a, feature, std::numeric_limits<float>::max()));
      }
    }
  }
  if (!kernel.scale.empty() && kernel.scale.size() != kernel.size()) {
    refuse(
        fmt::format("has {} scale factors for {} variables", kernel.scale.size(), kernel.size()));
  }
  for (std::size_t a = 0; a < kernel.scale.size(); ++a) {
    if (!(kernel.scale[a] >= 0.0) || !std::isfinite(kernel.scale[a])) {
      refuse(fmt::format("has scale factor {} at variable {}, expected a finite number >= 0",
                         kernel.scale[a], a));
    }
  }
  if (!(kernel.scale_error >= 0.0 && kernel.scale_error < 1.0)) {
    refuse(fmt::format("has scale factors with a relative error of {}, expected 0 to 1",
                       kernel.scale_error));
  }
  constexpr double kMostFeatureError = 1e-3;
  if (!(kernel.feature_error >= 0.0 && kernel.feature_error <= kMostFeatureError)) {
    refuse(fmt::format("has features with an error of {}, expected 0 to {}", kernel.feature_error,
                       kMostFeatureError));
  }
}

void CheckNormalised(const GaussianKernel& kernel) {
  if (kernel.weight == 0.0) return;
  switch (kernel.normalisation) {
    case KernelNormalisation::kNone:
      return;
    case KernelNormalisation::kSymmetric:
      if (!kernel.scale.empty()) return;
      throw InvalidInput(fmt::format(
          "kernel \"{}\" asks for symmetric normalisation and is not normalised yet", kernel.name));
    case KernelNormalisation::kBefore:
    case KernelNormalisation::kAfter:
      throw InvalidInput(fmt::format(
          "kernel \"{}\" asks for a normalisation that leaves no symmetric model; expected none or "
          "symmetric",
          kernel.name));
  }
}

}  // namespace submarine
