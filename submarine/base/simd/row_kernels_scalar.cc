#include <algorithm>
#include <cmath>

#include "submarine/base/simd/row_kernels.h"

namespace submarine::internal::scalar {
namespace {

double Sign(double x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0); }

}  // namespace

double SoftmaxRow(const double* s, std::size_t n, double inverse_temperature, double* y) {
  const double least = *std::min_element(s, s + n);
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += y[i] = std::exp((least - s[i]) * inverse_temperature);
  for (std::size_t i = 0; i < n; ++i) y[i] /= sum;
  return std::log(sum) - least * inverse_temperature;
}

double LogSumExpRow(const double* s, std::size_t n, double inverse_temperature) {
  const double least = *std::min_element(s, s + n);
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += std::exp((least - s[i]) * inverse_temperature);
  return std::log(sum) - least * inverse_temperature;
}

void LogSumExpDerivativesRow(const double* s, const double* d, double t, std::size_t n,
                             double inverse_temperature, double* first, double* second) {
  double least = s[0] + t * d[0];
  for (std::size_t i = 1; i < n; ++i) least = std::min(least, s[i] + t * d[i]);
  double sum = 0.0;
  double mean = 0.0;
  double square = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = std::exp((least - s[i] - t * d[i]) * inverse_temperature);
    sum += p;
    mean += p * d[i];
    square += p * d[i] * d[i];
  }
  mean /= sum;
  *first = -mean;
  *second = std::max(0.0, square / sum - mean * mean) * inverse_temperature;
}

EntropicStep EntropicStepRow(const double* s_new, const double* s_old, const double* u_old,
                             const double* y_old, double temperature, double weight, std::size_t n,
                             double* u_new, double* y_new) {
  const double scale = 1.0 / (temperature + weight);
  EntropicStep step{0.0, 0.0};
  double least = (s_new[0] + weight * u_old[0]) * scale;
  for (std::size_t i = 1; i < n; ++i)
    least = std::min(least, (s_new[i] + weight * u_old[i]) * scale);
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i)
    sum += std::exp(least - (s_new[i] + weight * u_old[i]) * scale);
  for (std::size_t i = 0; i < n; ++i) {
    const double u = (s_new[i] + weight * u_old[i]) * scale - least;
    const double y = std::exp(-u) / sum;
    step.divergence += 0.5 * (y - y_old[i]) * (u_old[i] - u);
    step.interaction += (y - y_old[i]) * (s_new[i] - s_old[i]);
    u_new[i] = u;
    y_new[i] = y;
  }
  return step;
}

double StepFlowRow(const double* q, const double* z_a, const double* z_b, const double* length,
                   const double* mobility, double step, std::size_t n, double* q_new) {
  double change = 0.0;
  for (std::size_t c = 0; c < n; ++c) {
    const double before = q[c];
    const double after = std::clamp(before + step * mobility[c] * (z_a[c] - z_b[c]), -1.0, 1.0);
    change += length[c] / mobility[c] * (after - before) * (after - before);
    q_new[c] = after;
  }
  return change;
}

void BlendFlowRow(const double* z_a, const double* z_b, double rate, std::size_t n, double* q) {
  for (std::size_t c = 0; c < n; ++c) q[c] += rate * (Sign(z_a[c] - z_b[c]) - q[c]);
}

void AccumulateFlowRow(const double* q, const double* length, double scale, std::size_t n,
                       double* out) {
  for (std::size_t c = 0; c < n; ++c) out[c] += scale * length[c] * q[c];
}

void AccumulateSignRow(const double* z_a, const double* z_b, const double* length, double scale,
                       std::size_t n, double* out) {
  for (std::size_t c = 0; c < n; ++c) out[c] += scale * length[c] * Sign(z_a[c] - z_b[c]);
}

double TotalVariationRow(const double* z_a, const double* z_b, const double* length,
                         std::size_t n) {
  double sum = 0.0;
  for (std::size_t c = 0; c < n; ++c) sum += length[c] * std::abs(z_a[c] - z_b[c]);
  return sum;
}

double DotRow(const double* x, const double* y, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

double EntropyRow(const double* y, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum -= y[i] > 0.0 ? y[i] * std::log(y[i]) : 0.0;
  return sum;
}

}  // namespace submarine::internal::scalar
