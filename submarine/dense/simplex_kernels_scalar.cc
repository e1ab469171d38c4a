#include <algorithm>
#include <cmath>

#include "submarine/dense/simplex_kernels.h"

namespace submarine::scalar {
namespace {

double WrightOmega(double x) {
  if (x < -60.0) return std::exp(x);
  double w = x > 1.0 ? x - std::log(x) : std::exp(x) / (1.0 + std::exp(x));
  for (int k = 0; k < 8; ++k) w *= (1.0 + x - std::log(w)) / (1.0 + w);
  return w;
}

}  // namespace

void SimplexProxRow(const float* s, const float* centre, float g, float temperature, std::size_t n,
                    float* y, float* lambda) {
  g = std::max(g, kLeastProxRatio * temperature);
  const double ratio = static_cast<double>(g) / temperature;
  const auto argument = [&](std::size_t i) {
    return (static_cast<double>(g) * centre[i] - s[i]) / temperature;
  };
  double top = argument(0);
  for (std::size_t i = 1; i < n; ++i) top = std::max(top, argument(i));
  double offset = ratio + std::log(ratio);
  for (int k = 0; k < 200; ++k) {
    double sum = 0.0;
    double slope = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      const double w = WrightOmega(argument(i) - top + offset);
      sum += w;
      slope += w / (1.0 + w);
    }
    offset -= (sum - ratio) / slope;
    if (std::abs(sum - ratio) <= 1e-12 * ratio) break;
  }
  for (std::size_t i = 0; i < n; ++i)
    y[i] = static_cast<float>(WrightOmega(argument(i) - top + offset) / ratio);
  *lambda = static_cast<float>(top - offset);
}

float SoftmaxRow(const float* s, std::size_t n, float* y) {
  const double least = *std::min_element(s, s + n);
  double total = 0.0;
  for (std::size_t i = 0; i < n; ++i) total += std::exp(least - s[i]);
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(std::exp(least - s[i]) / total);
  return static_cast<float>(std::log(total) - least);
}

void SoftmaxRows(const float* s, std::size_t rows, std::size_t n, float* y) {
  for (std::size_t a = 0; a < rows; ++a) SoftmaxRow(s + a * n, n, y + a * n);
}

void SoftmaxBlock(std::size_t count, std::size_t n, std::size_t stride, float* rows, float* y) {
  for (std::size_t a = 0; a < count; ++a, rows += stride) {
    SoftmaxRow(rows, n, rows);
    std::fill(rows + n, rows + stride, 0.0F);
    if (y != nullptr) std::copy(rows, rows + n, y + a * n);
  }
}

float LogSumExpRow(const float* s, std::size_t n) {
  const double least = *std::min_element(s, s + n);
  double total = 0.0;
  for (std::size_t i = 0; i < n; ++i) total += std::exp(least - s[i]);
  return static_cast<float>(std::log(total) - least);
}

float EntropyMinusEnergyRow(const float* y, const float* phi, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = y[i];
    sum -= p > 0.0 ? p * (std::log(p) + phi[i]) : 0.0;
  }
  return static_cast<float>(sum);
}

float FreeEnergyRow(const float* y, const float* phi, const float* s, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = y[i];
    sum -= p > 0.0 ? p * (std::log(p) + 0.5 * (static_cast<double>(phi[i]) + s[i])) : 0.0;
  }
  return static_cast<float>(sum);
}

}  // namespace submarine::scalar
