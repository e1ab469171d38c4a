#include "submarine/model/dense_crf.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "submarine/base/error.h"

namespace submarine {
namespace {

// Throws InvalidInput for a number that is not finite. Magnitudes of floats are ordered like their
// bits as integers, which compilers turn into fast loops.
double LargestMagnitude(const Matrix<float>& unary) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  std::uint32_t largest = 0;
  for (std::size_t k = 0; k < unary.size(); ++k)
    largest = std::max(largest, std::bit_cast<std::uint32_t>(unary.data()[k]) & 0x7fffffff);
  if (largest < kInfinity) return std::bit_cast<float>(largest);
  for (std::size_t k = 0;; ++k) {
    if (std::isfinite(unary.data()[k])) continue;
    throw InvalidInput(
        fmt::format("the unary of variable {}, label {} is {}, expected a finite number",
                    k / unary.cols(), k % unary.cols(), unary.data()[k]));
  }
}

}  // namespace

DenseCrf::DenseCrf(Matrix<float> unary, std::vector<GaussianKernel> kernels, LabelSpace labels,
                   PairCounting counting, double constant)
    : unary_(std::move(unary)),
      kernels_(std::move(kernels)),
      labels_(std::move(labels)),
      counting_(counting),
      constant_(constant) {
  if (unary_.rows() == 0) throw InvalidInput("the dense model has no variables, expected some");
  if (unary_.rows() > std::numeric_limits<std::uint32_t>::max() / 2) {
    throw TooLarge(fmt::format("the dense model has {} variables, more than the limit of {}",
                               unary_.rows(), std::numeric_limits<std::uint32_t>::max() / 2));
  }
  CheckLabelSpace(labels_);
  CheckLabelCount(labels_.num_labels());
  if (unary_.cols() != static_cast<std::size_t>(labels_.num_labels())) {
    throw InvalidInput(fmt::format("the unaries have {} labels, but the metric has {}",
                                   unary_.cols(), labels_.num_labels()));
  }
  if (labels_.metrics.size() != 1) {
    throw InvalidInput(fmt::format("a dense model has one label metric, but {} were given",
                                   labels_.metrics.size()));
  }
  if (!std::isfinite(constant_)) {
    throw InvalidInput(fmt::format("the constant is {}, expected a finite number", constant_));
  }
  double largest = std::max(std::abs(constant_), LargestMagnitude(unary_));
  // Intermediate sums are in single precision and must not overflow.
  constexpr double kLargest = 1e30;
  const double pairs = static_cast<double>(unary_.rows()) * pair_factor() *
                       *std::max_element(metric().distance.data(),
                                         metric().distance.data() + metric().distance.size());
  for (const GaussianKernel& kernel : kernels_) {
    CheckKernel(kernel);
    if (kernel.size() != unary_.rows()) {
      throw InvalidInput(
          fmt::format("kernel \"{}\" has features of {} variables, but there are "
                      "unaries of {}",
                      kernel.name, kernel.size(), unary_.rows()));
    }
    const double scale =
        kernel.scale.empty() ? 1.0 : *std::max_element(kernel.scale.begin(), kernel.scale.end());
    largest = std::max(largest, kernel.weight * scale * scale * pairs);
  }
  if (largest > kLargest) {
    throw InvalidInput(
        fmt::format("the energies of the dense model reach {:.3g}, expected at most {:.0e}",
                    largest, kLargest));
  }
}

DenseCrf DenseCrf::WithKernels(std::vector<GaussianKernel> kernels) && {
  return {std::move(unary_), std::move(kernels), std::move(labels_), counting_, constant_};
}

double DenseCrf::PairWeight(std::size_t a, std::size_t b) const {
  double weight = 0.0;
  for (const GaussianKernel& kernel : kernels_) {
    CheckNormalised(kernel);
    weight += kernel.weight * KernelValue(kernel, a, b);
  }
  return pair_factor() * weight;
}

double DenseCrf::Energy(std::span<const int> labeling) const {
  if (labeling.size() != num_variables()) {
    throw InvalidInput(fmt::format("the labeling has {} variables, expected {}", labeling.size(),
                                   num_variables()));
  }
  double energy = constant_;
  for (std::size_t a = 0; a < labeling.size(); ++a) {
    if (labeling[a] < 0 || labeling[a] >= num_labels()) {
      throw InvalidInput(fmt::format("the label of variable {} is {}, expected 0 to {}", a,
                                     labeling[a], num_labels() - 1));
    }
    energy += unary_(a, static_cast<std::size_t>(labeling[a]));
  }
  for (std::size_t a = 0; a < labeling.size(); ++a) {
    for (std::size_t b = a + 1; b < labeling.size(); ++b) {
      if (labeling[a] == labeling[b]) continue;
      energy += PairWeight(a, b) * metric().distance(static_cast<std::size_t>(labeling[a]),
                                                     static_cast<std::size_t>(labeling[b]));
    }
  }
  return energy;
}

std::string DenseCrf::Description(std::span<const std::string> scale_sources,
                                  std::size_t variables) const {
  // Two models that differ in their scale factors never have the same name.
  const auto scale_text = [&](const GaussianKernel& kernel) -> std::string {
    const auto m = static_cast<std::size_t>(&kernel - kernels_.data());
    if (m < scale_sources.size() && !scale_sources[m].empty())
      return ", normalised by the row sums of " + scale_sources[m];
    if (kernel.normalisation == KernelNormalisation::kNone)
      return kernel.scale.empty() ? "" : ", scaled";
    if (kernel.scale.empty()) return ", to be normalised";
    if (kernel.scale_source.empty()) return ", normalised";
    return ", normalised by the row sums of " + kernel.scale_source;
  };
  std::string kernels;
  for (const GaussianKernel& kernel : kernels_) {
    kernels += fmt::format("{}{} (weight {:g}{})", kernels.empty() ? "" : " + ", kernel.name,
                           kernel.weight, scale_text(kernel));
  }
  return fmt::format("dense CRF, {} variables, {} labels, metric {}, {}, {}",
                     variables > 0 ? variables : num_variables(), num_labels(), MetricText(labels_),
                     kernels.empty() ? "no kernels" : "kernels " + kernels,
                     counting_ == PairCounting::kOrdered ? "ordered pairs" : "pairs counted once");
}

std::vector<WeightedKernel> PairWeights(const DenseCrf& model) {
  std::vector<WeightedKernel> kernels;
  for (const GaussianKernel& kernel : model.kernels())
    kernels.push_back({&kernel, model.pair_factor() * kernel.weight});
  return kernels;
}

SparseCrf ToSparseCrf(const DenseCrf& model) {
  const std::size_t n = model.num_variables();
  Matrix<double> unary(n, static_cast<std::size_t>(model.num_labels()));
  std::copy(model.unary().data(), model.unary().data() + model.unary().size(), unary.data());
  std::vector<Edge> edges;
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      edges.push_back({static_cast<int>(a), static_cast<int>(b), model.PairWeight(a, b)});
    }
  }
  return {std::move(unary), std::move(edges), model.labels(), model.constant()};
}

double EnergyError(const DenseCrf& model) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  const Matrix<double>& distance = model.metric().distance;
  double sum = 0.0;
  for (const GaussianKernel& kernel : model.kernels()) {
    CheckNormalised(kernel);
    const double of_features = FeatureErrorOfValue(kernel);
    // exp carries over half of the distance's relative roundings (one per dimension and a few
    // more); products and sums over kernels add one each.
    const double per_distance =
        of_features + 0.5 * kEpsilon * static_cast<double>(kernel.dimension() + 3);
    const double roundings = 8.0 + static_cast<double>(model.kernels().size());
    const double per_value =
        (1.0 + of_features + kEpsilon * roundings) * (1.0 + kernel.scale_error) - 1.0 + kEpsilon;
    for (std::size_t a = 0; a < kernel.size(); ++a) {
      for (std::size_t b = a + 1; b < kernel.size(); ++b) {
        const double far = per_distance * SquaredDistance(kernel, a, b);
        sum += kernel.weight * KernelValue(kernel, a, b) * (per_value + far + per_value * far);
      }
    }
  }
  const double largest = *std::max_element(distance.data(), distance.data() + distance.size());
  // The sum has roundings of its own.
  return 1.001 * model.pair_factor() * largest * sum;
}

}  // namespace submarine
