#include "submarine/bound/verify/dense/pairs/leaf_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "submarine/base/simd/wide_registers.h"
#include "submarine/bound/verify/dense/pairs/exponential.h"

namespace submarine::internal::leaf_rows {
namespace {

constexpr std::size_t kLanes = 8;
static_assert(kLeaf == 4 * kLanes);

inline double SumOfLanes(const double* lane) {
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

}  // namespace

SUBMARINE_FOR_WIDEST_REGISTERS bool AnyWithin(const double* squared, double limit) {
  std::int64_t within = 0;
  for (std::size_t j = 0; j < kLeaf; ++j) within += squared[j] <= limit ? 1 : 0;
  return within > 0;
}

SUBMARINE_FOR_WIDEST_REGISTERS void KernelWeights(const double* __restrict squared,
                                                  const double* __restrict scale, double own,
                                                  double factor, double limit,
                                                  double* __restrict weight) {
  const double nearest_zero = std::min(limit, -2.0 * kLeastExponent);
  for (std::size_t j = 0; j < kLeaf; ++j) {
    const double half = -0.5 * squared[j];
    const bool far = squared[j] > nearest_zero;
    // Not the least exponent for those that are far, whose products might be slow subnormal numbers.
    const double value = factor * ((own * scale[j]) * NegativeExponential(far ? 0.0 : half));
    weight[j] = far ? 0.0 : value;
  }
}

SUBMARINE_FOR_WIDEST_REGISTERS void AddWeights(const double* __restrict weight,
                                               const double* __restrict squared,
                                               double* __restrict degree,
                                               double* __restrict far_degree) {
  for (std::size_t j = 0; j < kLeaf; ++j) {
    degree[j] += weight[j];
    far_degree[j] += weight[j] * squared[j];
  }
}

SUBMARINE_FOR_WIDEST_REGISTERS void AddFlow(const double* __restrict weight, double share,
                                            FlowShape shape, const float* __restrict own,
                                            const float* __restrict v, std::size_t cuts,
                                            double* __restrict sum) {
  double shared[kLeaf];
  for (std::size_t j = 0; j < kLeaf; ++j) shared[j] = share * weight[j];
  for (std::size_t c = 0; c < cuts; ++c) {
    const float v_own = own[c * kLeaf];
    const float* v_other = v + c * kLeaf;
    double* sum_c = sum + c * kLeaf;
    if (shape == FlowShape::kClip) {
      for (std::size_t j = 0; j < kLeaf; ++j) {
        const float difference = v_own - v_other[j];
        const float size = std::abs(difference);
        const float flow = std::copysign(size < 1.0F ? size : 1.0F, difference);
        sum_c[j] += shared[j] * static_cast<double>(flow);
      }
    } else {
      for (std::size_t j = 0; j < kLeaf; ++j) {
        const float difference = v_own - v_other[j];
        const float flow = std::copysign(std::abs(difference) > 0.0F ? 1.0F : 0.0F, difference);
        sum_c[j] += shared[j] * static_cast<double>(flow);
      }
    }
  }
}

SUBMARINE_FOR_WIDEST_REGISTERS double Sum(const double* __restrict weight) {
  double lane[kLanes] = {};
  for (std::size_t k = 0; k < kLanes; ++k) {
    lane[k] = (weight[k] + weight[k + kLanes]) + (weight[k + 2 * kLanes] + weight[k + 3 * kLanes]);
  }
  return SumOfLanes(lane);
}

SUBMARINE_FOR_WIDEST_REGISTERS double WeightedSum(const double* __restrict weight,
                                                  const double* __restrict x) {
  double lane[kLanes];
  for (std::size_t k = 0; k < kLanes; ++k) {
    lane[k] =
        (weight[k] * x[k] + weight[k + kLanes] * x[k + kLanes]) +
        (weight[k + 2 * kLanes] * x[k + 2 * kLanes] + weight[k + 3 * kLanes] * x[k + 3 * kLanes]);
  }
  return SumOfLanes(lane);
}

SUBMARINE_FOR_WIDEST_REGISTERS double SumOfProducts(const double* __restrict weight,
                                                    const double* __restrict factor,
                                                    const double* __restrict x, std::size_t count) {
  double sum[kLeaf] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const double of_row = factor[i];
    for (std::size_t j = 0; j < kLeaf; ++j) sum[j] += of_row * x[i * kLeaf + j];
  }
  return WeightedSum(weight, sum);
}

SUBMARINE_FOR_WIDEST_REGISTERS double SumOfDistances(const double* __restrict weight,
                                                     const double* __restrict length,
                                                     const double* __restrict own,
                                                     const double* __restrict x,
                                                     std::size_t count) {
  double sum[kLeaf] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const double of_row = length[i];
    const double at = own[i];
    for (std::size_t j = 0; j < kLeaf; ++j) sum[j] += of_row * std::abs(at - x[i * kLeaf + j]);
  }
  return WeightedSum(weight, sum);
}

}  // namespace submarine::internal::leaf_rows
