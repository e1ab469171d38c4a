#include "submarine/filter/gaussian_kernel.h"

#include <fmt/format.h>

#include <cmath>

#include "submarine/base/error.h"

namespace submarine {

double KernelValue(const GaussianKernel& kernel, std::size_t a, std::size_t b) {
  double squared = 0.0;
  for (std::size_t d = 0; d < kernel.dimension(); ++d) {
    const double difference =
        static_cast<double>(kernel.features(a, d)) - static_cast<double>(kernel.features(b, d));
    squared += difference * difference;
  }
  const double value = std::exp(-0.5 * squared);
  return kernel.scale.empty() ? value : value * kernel.scale[a] * kernel.scale[b];
}

std::vector<float> SelfTerms(std::span<const WeightedKernel> kernels) {
  std::vector<float> self(kernels.empty() ? 0 : kernels.front().kernel->size(), 0.0F);
  for (const WeightedKernel& weighted : kernels) {
    const std::vector<float>& scale = weighted.kernel->scale;
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
  for (std::size_t a = 0; a < kernel.size(); ++a) {
    for (std::size_t d = 0; d < kernel.dimension(); ++d) {
      if (!std::isfinite(kernel.features(a, d))) {
        refuse(fmt::format("has feature {} of variable {} equal to {}, expected a finite number", d,
                           a, kernel.features(a, d)));
      }
    }
  }
  if (!kernel.scale.empty() && kernel.scale.size() != kernel.size()) {
    refuse(
        fmt::format("has {} scale factors for {} variables", kernel.scale.size(), kernel.size()));
  }
  for (std::size_t a = 0; a < kernel.scale.size(); ++a) {
    if (!(kernel.scale[a] >= 0.0F) || !std::isfinite(kernel.scale[a])) {
      refuse(fmt::format("has scale factor {} at variable {}, expected a finite number >= 0",
                         kernel.scale[a], a));
    }
  }
}

}  // namespace submarine
