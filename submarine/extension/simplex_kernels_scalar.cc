#include <algorithm>
#include <cmath>
#include <vector>

#include "submarine/extension/simplex_kernels.h"

namespace submarine::internal::scalar {
namespace {

double WrightOmega(double x) {
  if (x < -60.0) return std::exp(x);
  double w = x > 1.0 ? x - std::log(x) : std::exp(x) / (1.0 + std::exp(x));
  for (int k = 0; k < 8; ++k) w *= (1.0 + x - std::log(w)) / (1.0 + w);
  return w;
}

// The offset at which the max(0, r_i + offset) sum to 1, where r <= 0 and max r = 0. Newton's
// method on a convex increasing sum, from above: the offsets decrease and labels drop out until no
// more do.
double ProjectionOffset(const std::vector<double>& r) {
  double offset = 1.0;
  for (std::size_t k = 0; k <= r.size(); ++k) {
    double sum = 0.0;
    double count = 0.0;
    for (const double value : r) {
      if (value + offset > 0.0) {
        sum += value + offset;
        count += 1.0;
      }
    }
    const double next = offset - (sum - 1.0) / count;
    if (!(next < offset)) break;
    offset = next;
  }
  return offset;
}

void Project(const float* s, const float* centre, float g, std::size_t n, float* y, float* lambda) {
  std::vector<double> r(n);
  for (std::size_t i = 0; i < n; ++i) r[i] = static_cast<double>(g) * centre[i] - s[i];
  const double top = *std::max_element(r.begin(), r.end());
  for (double& value : r) value = (value - top) * InverseTemperature(g);
  const double offset = ProjectionOffset(r);
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<float>(std::max(0.0, r[i] + offset));
  *lambda = static_cast<float>(top - g * offset);
}

}  // namespace

void SimplexProxRow(const float* s, const float* centre, float g, float temperature, std::size_t n,
                    float* y, float* lambda) {
  if (temperature <= kLeastProxTemperature * g) {
    Project(s, centre, g, n, y, lambda);
    return;
  }
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

float SoftmaxRow(const float* s, float temperature, std::size_t n, float* y) {
  const double least = *std::min_element(s, s + n);
  const double inverse = InverseTemperature(temperature);
  double total = 0.0;
  for (std::size_t i = 0; i < n; ++i) total += std::exp((least - s[i]) * inverse);
  for (std::size_t i = 0; i < n; ++i)
    y[i] = static_cast<float>(std::exp((least - s[i]) * inverse) / total);
  return static_cast<float>(temperature * std::log(total) - least);
}

void SoftmaxRows(const float* s, float temperature, std::size_t rows, std::size_t n, float* y) {
  for (std::size_t a = 0; a < rows; ++a) SoftmaxRow(s + a * n, temperature, n, y + a * n);
}

void SoftmaxBlock(float temperature, std::size_t count, std::size_t n, std::size_t stride,
                  float* rows, float* y) {
  for (std::size_t a = 0; a < count; ++a, rows += stride) {
    SoftmaxRow(rows, temperature, n, rows);
    std::fill(rows + n, rows + stride, 0.0F);
    if (y != nullptr) std::copy(rows, rows + n, y + a * n);
  }
}

float LogSumExpRow(const float* s, float temperature, std::size_t n) {
  const double least = *std::min_element(s, s + n);
  const double inverse = InverseTemperature(temperature);
  double total = 0.0;
  for (std::size_t i = 0; i < n; ++i) total += std::exp((least - s[i]) * inverse);
  return static_cast<float>(temperature * std::log(total) - least);
}

float EntropyMinusEnergyRow(const float* y, const float* phi, float temperature, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = y[i];
    sum -= p > 0.0 ? p * (temperature * std::log(p) + phi[i]) : 0.0;
  }
  return static_cast<float>(sum);
}

float FreeEnergyRow(const float* y, const float* phi, const float* s, float temperature,
                    std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = y[i];
    const double cost = 0.5 * (static_cast<double>(phi[i]) + s[i]);
    sum -= p > 0.0 ? p * (temperature * std::log(p) + cost) : 0.0;
  }
  return static_cast<float>(sum);
}

}  // namespace submarine::internal::scalar
