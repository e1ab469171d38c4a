// The per-variable work of the dense solvers, on rows of n floats (one variable's labels). Rows may be
// read up to one register beyond their end (base/matrix.h) but are written exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace submarine::internal {

// A quadratic term this small moves the marginals by no more than rounding does; a smaller G would
// be beyond the range of exp in the search for lambda.
inline constexpr float kLeastProxRatio = 1e-6F;

// A temperature this low also moves them by less than rounding, and is treated as 0.
inline constexpr float kLeastProxTemperature = 1e-9F;

// 1 / T, finite at T = 0: multiplied by this, every difference of floats that matters makes exp
// vanish.
inline float InverseTemperature(float temperature) {
  return temperature > 0.0F ? std::min(1.0F / temperature, std::numeric_limits<float>::max())
                            : std::numeric_limits<float>::max();
}

// Stands for "no initial guess of lambda".
inline constexpr float kUnknownLambda = std::numeric_limits<float>::quiet_NaN();

// Rows of SoftmaxBlock are aligned to this many floats.
inline constexpr std::size_t kBlockLanes = 8;

// The entropic-quadratic prox on the simplex:
//   y = argmin <s, y> + T sum_i y_i log y_i + g/2 |y - centre|^2 .
// With G = g/T, its optimality condition log y_i + G y_i = (g centre_i - s_i)/T - lambda has the
// solution y_i = omega(x_i - lambda)/G, omega the Wright function (omega + log omega = x); lambda
// follows from sum_i y_i = 1 by Newton's method, which is monotone as the sum is convex in lambda.
// g below kLeastProxRatio T is raised to that. On entry, lambda is an initial guess that saves
// time, such as the last lambda of this variable; on return, the lambda found. At T = 0, and for T
// below kLeastProxTemperature g, y is the projection of centre - s/g onto the simplex.
void SimplexProxRow(const float* s, const float* centre, float g, float temperature, std::size_t n,
                    float* y, float* lambda);

// y = softmax(-s/T); at T = 0 all labels of least cost get equal shares. Returns LogSumExpRow.
float SoftmaxRow(const float* s, float temperature, std::size_t n, float* y);

// The same for consecutive rows.
void SoftmaxRows(const float* s, float temperature, std::size_t rows, std::size_t n, float* y);

// softmax(-s/T) in place, for `count` rows s that are `stride` apart, a multiple of kBlockLanes and
// at least n; sets the floats between n and the stride to 0. Also copies the rows to y unless that
// is null.
void SoftmaxBlock(float temperature, std::size_t count, std::size_t n, std::size_t stride,
                  float* rows, float* y);

// T log sum_i exp(-s_i / T); at T = 0, -min_i s_i.
float LogSumExpRow(const float* s, float temperature, std::size_t n);

// -T sum_i y_i log y_i - <phi, y>.
float EntropyMinusEnergyRow(const float* y, const float* phi, float temperature, std::size_t n);

// -T sum_i y_i log y_i - <phi + s, y> / 2.
float FreeEnergyRow(const float* y, const float* phi, const float* s, float temperature,
                    std::size_t n);

}  // namespace submarine::internal
