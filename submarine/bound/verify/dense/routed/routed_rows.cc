#include <cmath>

#include "submarine/base/simd/wide_registers.h"
#include "submarine/bound/verify/dense/pairs/exponential.h"
#include "submarine/bound/verify/dense/routed/routed_rows_internal.h"

namespace submarine::internal::routed_rows {
namespace {

// Lane by lane: a single sum would wait for every addition.
inline double SumOf(const double* row) {
  double lanes[4] = {};
  for (std::size_t c = 0; c < kSide; c += 4) {
    for (std::size_t k = 0; k < 4; ++k) lanes[k] += row[c + k];
  }
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

}  // namespace

SUBMARINE_FOR_WIDE_REGISTERS void SquaredRow(const double* __restrict f, std::size_t stride,
                                             std::size_t dimension, const double* __restrict point,
                                             std::size_t count, double* __restrict x) {
  for (std::size_t c = 0; c < count; ++c) x[c] = 0.0;
  for (std::size_t d = 0; d < dimension; ++d) {
    const double* column = f + d * stride;
    for (std::size_t c = 0; c < count; ++c) {
      const double difference = column[c] - point[d];
      x[c] += difference * difference;
    }
  }
}

SUBMARINE_FOR_WIDE_REGISTERS void WeightRow(const double* __restrict x,
                                            const double* __restrict scale, double own,
                                            double factor, std::size_t count,
                                            double* __restrict w) {
  for (std::size_t c = 0; c < count; ++c) {
    const double half = -0.5 * x[c];
    const bool far = half < kLeastExponent;
    const double value = factor * (own * scale[c]) * NegativeExponential(far ? 0.0 : half);
    w[c] = far ? 0.0 : value;
  }
}

SUBMARINE_FOR_WIDE_REGISTERS void DistanceRow(const float* __restrict z, std::size_t stride,
                                              std::size_t own, std::size_t first,
                                              const double* __restrict length, std::size_t cuts,
                                              std::size_t count, double* __restrict d) {
  for (std::size_t c = 0; c < count; ++c) d[c] = 0.0;
  for (std::size_t k = 0; k < cuts; ++k) {
    const float* of_cut = z + k * stride;
    const double z_own = of_cut[own];
    const double l = length[k];
    for (std::size_t c = 0; c < count; ++c)
      d[c] += l * std::abs(static_cast<double>(of_cut[first + c]) - z_own);
  }
}

SUBMARINE_FOR_WIDE_REGISTERS void AddWeights(const double* __restrict w, const double* __restrict x,
                                             std::size_t count, double* __restrict weight,
                                             double* __restrict far) {
  for (std::size_t c = 0; c < count; ++c) {
    weight[c] += w[c];
    far[c] += w[c] * x[c];
  }
}

SUBMARINE_FOR_WIDE_REGISTERS void AddRow(const double* __restrict w, std::size_t count,
                                         double* __restrict sum) {
  for (std::size_t c = 0; c < count; ++c) sum[c] += w[c];
}

SUBMARINE_FOR_WIDE_REGISTERS void AddScaled(const double* __restrict x, double factor,
                                            std::size_t count, double* __restrict sum) {
  for (std::size_t n = 0; n < count; ++n) sum[n] += factor * x[n];
}

SUBMARINE_FOR_WIDE_REGISTERS void AddScaled(const float* __restrict x, double factor,
                                            std::size_t count, double* __restrict sum) {
  for (std::size_t n = 0; n < count; ++n) sum[n] += factor * static_cast<double>(x[n]);
}

SUBMARINE_FOR_WIDE_REGISTERS void SumRowsAndColumns(const double* __restrict left,
                                                    double* __restrict of_rows,
                                                    double* __restrict of_columns) {
  for (std::size_t i = 0; i < kSide; ++i) {
    of_rows[i] += SumOf(left + i * kSide);
    for (std::size_t j = 0; j < kSide; ++j) of_columns[j] += left[i * kSide + j];
  }
}

SUBMARINE_FOR_WIDE_REGISTERS void KeepPositive(const double* __restrict wide,
                                               double* __restrict left) {
  for (std::size_t c = 0; c < kSide; ++c) {
    const double value = wide[c];
    left[c] = value > 0.0 ? value : 0.0;
  }
}

SUBMARINE_FOR_WIDE_REGISTERS double WeightedSum(const double* __restrict left,
                                                const double* __restrict d) {
  alignas(64) double product[kSide];
  for (std::size_t c = 0; c < kSide; ++c) product[c] = left[c] * d[c];
  return SumOf(product);
}

SUBMARINE_FOR_WIDE_REGISTERS void DropFar(const double* __restrict x, double limit,
                                          std::size_t count, double* __restrict w) {
  for (std::size_t c = 0; c < count; ++c) {
    const double value = w[c];
    w[c] = x[c] > limit ? 0.0 : value;
  }
}

SUBMARINE_FOR_WIDE_REGISTERS double PairDistance(const float* __restrict z_p,
                                                 const float* __restrict z_q,
                                                 const double* __restrict length,
                                                 std::size_t count) {
  alignas(64) double lanes[4] = {};
  std::size_t c = 0;
  for (; c + 4 <= count; c += 4) {
    for (std::size_t k = 0; k < 4; ++k)
      lanes[k] += length[c + k] * std::abs(static_cast<double>(z_p[c + k]) - z_q[c + k]);
  }
  for (; c < count; ++c) lanes[0] += length[c] * std::abs(static_cast<double>(z_p[c]) - z_q[c]);
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

SUBMARINE_FOR_WIDE_REGISTERS double RouteRow(const double* __restrict w,
                                             const double* __restrict w_next,
                                             const double* __restrict d,
                                             const double* __restrict d_next, double limit,
                                             double part, double* __restrict left,
                                             double* __restrict left_next) {
  alignas(64) double amount[kSide];
  for (std::size_t c = 0; c < kSide; ++c) {
    const double all = part * (w[c] < w_next[c] ? w[c] : w_next[c]);
    amount[c] = d[c] + d_next[c] < limit ? all : 0.0;
    left[c] -= amount[c];
    left_next[c] -= amount[c];
  }
  return SumOf(amount);
}

SUBMARINE_FOR_WIDE_REGISTERS void RouteColumns(const double* __restrict w,
                                               const double* __restrict d,
                                               const double* __restrict limit, std::size_t m,
                                               std::size_t count, double part,
                                               double* __restrict left, double* __restrict gain) {
  alignas(64) double amount[kStride];
  const double* w_next = w + m;
  const double* d_next = d + m;
  for (std::size_t c = 0; c < count; ++c) {
    const double all = part * (w[c] < w_next[c] ? w[c] : w_next[c]);
    amount[c] = d[c] + d_next[c] < limit[c] ? all : 0.0;
    left[c] -= amount[c];
    gain[c] += amount[c];
  }
  for (std::size_t c = 0; c < count; ++c) left[c + m] -= amount[c];
}

SUBMARINE_FOR_WIDE_REGISTERS double FlowRow(const double* __restrict left,
                                            const float* __restrict v, float own, bool clip,
                                            double share, double* __restrict column) {
  alignas(64) double flow[kSide];
  for (std::size_t c = 0; c < kSide; ++c) {
    const float difference = own - v[c];
    const float size = std::abs(difference);
    const float clipped = size < 1.0F ? size : 1.0F;
    const float whole = size > 0.0F ? 1.0F : 0.0F;
    flow[c] =
        share * left[c] * static_cast<double>(std::copysign(clip ? clipped : whole, difference));
    column[c] -= flow[c];
  }
  return SumOf(flow);
}

SUBMARINE_FOR_WIDE_REGISTERS void FlowPair(double weight, const float* __restrict v_p,
                                           const float* __restrict v_q, bool clip,
                                           std::size_t count, double* __restrict flow_p,
                                           double* __restrict flow_q) {
  for (std::size_t c = 0; c < count; ++c) {
    const float difference = v_p[c] - v_q[c];
    const float size = std::abs(difference);
    const float clipped = size < 1.0F ? size : 1.0F;
    const float whole = size > 0.0F ? 1.0F : 0.0F;
    const double flow =
        weight * static_cast<double>(std::copysign(clip ? clipped : whole, difference));
    flow_p[c] += flow;
    flow_q[c] -= flow;
  }
}

}  // namespace submarine::internal::routed_rows
