#include "submarine/filter/kernel/brute_force.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

double Flow(FlowShape shape, double difference) {
  if (shape == FlowShape::kClip) return std::clamp(difference, -1.0, 1.0);
  return difference > 0.0 ? 1.0 : difference < 0.0 ? -1.0 : 0.0;
}

// out_a += factor sum_b k_ab term(x_a, x_b).
template <class Term>
void AddPairs(const BruteForceOperator& op, const Matrix<float>& x, float factor, const Term& term,
              Matrix<float>* out) {
  std::vector<double> sum(x.cols());
  for (std::size_t a = 0; a < op.size(); ++a) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t b = 0; b < op.size(); ++b) {
      const double k = op.Value(a, b);
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += k * term(x(a, c), x(b, c));
    }
    for (std::size_t c = 0; c < sum.size(); ++c) {
      (*out)(a, c) = static_cast<float>((*out)(a, c) + factor * sum[c]);
    }
  }
}

}  // namespace

BruteForceOperator::BruteForceOperator(std::span<const WeightedKernel> kernels)
    : kernels_(kernels.begin(), kernels.end()) {
  if (kernels_.empty()) throw InvalidInput("the operator has no kernels, expected at least one");
  for (const auto& [kernel, factor] : kernels_) {
    CheckKernel(*kernel);
    CheckNormalised(*kernel);
    if (kernel->size() != size()) {
      throw InvalidInput(fmt::format("kernel \"{}\" has {} variables, but kernel \"{}\" has {}",
                                     kernel->name, kernel->size(), kernels_.front().kernel->name,
                                     size()));
    }
    if (!(factor >= 0.0) || !std::isfinite(factor)) {
      throw InvalidInput(
          fmt::format("the factor of kernel \"{}\" is {}, expected a finite number >= 0",
                      kernel->name, factor));
    }
  }
}

double BruteForceOperator::Value(std::size_t a, std::size_t b) const {
  if (a == b) return 0.0;
  double value = 0.0;
  for (const auto& [kernel, factor] : kernels_) value += factor * KernelValue(*kernel, a, b);
  return value;
}

void BruteForceOperator::AddProduct(const Matrix<float>& x, float factor,
                                    Matrix<float>* out) const {
  AddPairs(
      *this, x, factor, [](double, double x_b) { return x_b; }, out);
}

void BruteForceOperator::AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
                                 Matrix<float>* out) const {
  AddPairs(
      *this, v, factor, [shape](double v_a, double v_b) { return Flow(shape, v_a - v_b); }, out);
}

std::vector<double> BruteForceOperator::TotalVariation(const Matrix<float>& x) const {
  std::vector<double> sum(x.cols(), 0.0);
  for (std::size_t a = 0; a < size(); ++a) {
    for (std::size_t b = a + 1; b < size(); ++b) {
      const double k = Value(a, b);
      for (std::size_t c = 0; c < sum.size(); ++c) {
        sum[c] += k * std::abs(static_cast<double>(x(a, c)) - static_cast<double>(x(b, c)));
      }
    }
  }
  return sum;
}

std::vector<float> BruteForceOperator::RowSumsWithSelf() const {
  std::vector<float> sums = Degrees(*this);
  const std::vector<float> self = SelfTerms(kernels_);
  for (std::size_t a = 0; a < sums.size(); ++a) sums[a] += self[a];
  return sums;
}

std::string BruteForceOperator::Description() const {
  const std::size_t n = size();
  return fmt::format("all {} pairs", n * (n - 1) / 2);
}

}  // namespace submarine::internal
