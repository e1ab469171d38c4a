// The inner loops of every solver, on rows of n doubles (one variable's labels or one edge's cuts).
// SIMD code is chosen at run time for the CPU, here and in all *_kernels.cc; their tests have plain
// forms, which they compare it with. Rows may have any length and alignment; outputs may alias inputs
// of the same position.
#pragma once

#include <cstddef>

namespace submarine::internal {

// What one entropic proximal step did to one variable (see EntropicStepRow).
struct EntropicStep {
  double divergence;   // 1/2 (KL(new|old) + KL(old|new))
  double interaction;  // <s_new - s_old, y_new - y_old>
};

// y = softmax(-s / T), T = 1 / inverse_temperature; returns log sum_i exp(-s_i / T).
double SoftmaxRow(const double* s, std::size_t n, double inverse_temperature, double* y);

// log sum_i exp(-s_i / T).
double LogSumExpRow(const double* s, std::size_t n, double inverse_temperature);

// First and second derivative at t of t -> T log sum_i exp(-(s_i + t d_i) / T).
void LogSumExpDerivativesRow(const double* s, const double* d, double t, std::size_t n,
                             double inverse_temperature, double* first, double* second);

// Entropic proximal step: y_new = argmax over the simplex of T H(y) - <s,y> - weight KL(y | y_old),
// that is
//   u_new = (s + weight u_old) / (T + weight) up to a constant,  y_new = softmax(-u_new).
// `u` holds -log y up to a constant per row. u_new may be u_old, but y_new serves as scratch space
// and must not alias an input.
EntropicStep EntropicStepRow(const double* s_new, const double* s_old, const double* u_old,
                             const double* y_old, double temperature, double weight, std::size_t n,
                             double* u_new, double* y_new);

// q_new = clip(q + step mobility (z_a - z_b), -1, 1).
// Returns sum_c length_c / mobility_c (q_new - q)^2.
double StepFlowRow(const double* q, const double* z_a, const double* z_b, const double* length,
                   const double* mobility, double step, std::size_t n, double* q_new);

// q += rate (sign(z_a - z_b) - q), sign(0) = 0.
void BlendFlowRow(const double* z_a, const double* z_b, double rate, std::size_t n, double* q);

// out += scale length * q.
void AccumulateFlowRow(const double* q, const double* length, double scale, std::size_t n,
                       double* out);

// out += scale length * sign(z_a - z_b).
void AccumulateSignRow(const double* z_a, const double* z_b, const double* length, double scale,
                       std::size_t n, double* out);

// sum_c length_c |z_a - z_b|.
double TotalVariationRow(const double* z_a, const double* z_b, const double* length, std::size_t n);

// <x, y>.
double DotRow(const double* x, const double* y, std::size_t n);

// H(y) = -sum_i y_i log y_i, 0 log 0 = 0.
double EntropyRow(const double* y, std::size_t n);

}  // namespace submarine::internal
