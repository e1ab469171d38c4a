#include "submarine/base/fixed_width_simd.h"  // must come before every Highway header

// Highway compiles this file once per instruction set (foreach_target.h includes it again).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "submarine/solver/exact/column_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
// clang-format off
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include <algorithm>
#include <cmath>

#include "submarine/solver/exact/column_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls body(tag, j) over whole vectors and then one column at a time.
template <class Body>
HWY_INLINE void ForColumns(std::size_t columns, Body&& body) {
  const hn::ScalableTag<double> wide;
  const std::size_t lanes = hn::Lanes(wide);
  std::size_t j = 0;
  for (; j + lanes <= columns; j += lanes) body(wide, j);
  for (; j < columns; ++j) body(hn::CappedTag<double, 1>(), j);
}

template <class D>
HWY_INLINE hn::Vec<D> Largest(D d, const double* column, std::size_t num_rows,
                              std::size_t columns) {
  auto largest = hn::LoadU(d, column);
  for (std::size_t x = 1; x < num_rows; ++x) {
    largest = hn::Max(largest, hn::LoadU(d, column + x * columns));
  }
  return largest;
}

// Where every row is -inf, any finite shift works: the exponentials are 0. Otherwise the largest
// row contributes exp(0), so the sum is at least 1.
template <class D>
HWY_INLINE hn::Vec<D> FiniteShift(D d, hn::Vec<D> largest) {
  return hn::IfThenZeroElse(hn::Eq(largest, hn::Set(d, -HUGE_VAL)), largest);
}

template <class D>
HWY_INLINE hn::Vec<D> ShiftedExp(D d, const double* value, hn::Vec<D> shift, double beta) {
  return hn::Exp(d, hn::Mul(hn::Sub(hn::LoadU(d, value), shift), hn::Set(d, beta)));
}

void LogSumExp(const double* rows, std::size_t num_rows, std::size_t columns, double temperature,
               double* out) {
  const double beta = 1.0 / temperature;
  ForColumns(columns, [&](auto d, std::size_t j) HWY_ATTR {
    const auto largest = Largest(d, rows + j, num_rows, columns);
    if (temperature == 0.0) {
      hn::StoreU(largest, d, out + j);
      return;
    }
    const auto shift = FiniteShift(d, largest);
    auto sum = hn::Zero(d);
    for (std::size_t x = 0; x < num_rows; ++x) {
      sum = hn::Add(sum, ShiftedExp(d, rows + x * columns + j, shift, beta));
    }
    const auto log = hn::Log(d, hn::Max(sum, hn::Set(d, 1.0)));
    // Adding `largest` instead of `shift` restores -inf.
    hn::StoreU(hn::MulAdd(hn::Set(d, temperature), log, largest), d, out + j);
  });
}

void Softmax(const double* weight, std::size_t num_rows, std::size_t columns, double temperature,
             double* rows) {
  const double beta = 1.0 / temperature;
  ForColumns(columns, [&](auto d, std::size_t j) HWY_ATTR {
    const auto shift = FiniteShift(d, Largest(d, rows + j, num_rows, columns));
    auto sum = hn::Zero(d);
    for (std::size_t x = 0; x < num_rows; ++x) {
      double* value = rows + x * columns + j;
      const auto p = ShiftedExp(d, value, shift, beta);
      sum = hn::Add(sum, p);
      hn::StoreU(p, d, value);
    }
    const auto scale = hn::Div(hn::LoadU(d, weight + j), hn::Max(sum, hn::Set(d, 1.0)));
    for (std::size_t x = 0; x < num_rows; ++x) {
      double* value = rows + x * columns + j;
      hn::StoreU(hn::Mul(hn::LoadU(d, value), scale), d, value);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace submarine::internal {

HWY_EXPORT(LogSumExp);
HWY_EXPORT(Softmax);

void LogSumExpColumns(const double* rows, std::size_t num_rows, std::size_t columns,
                      double temperature, double* out) {
  HWY_DYNAMIC_DISPATCH(LogSumExp)(rows, num_rows, columns, temperature, out);
}

void SoftmaxColumns(const double* weight, std::size_t num_rows, std::size_t columns,
                    double temperature, double* rows) {
  HWY_DYNAMIC_DISPATCH(Softmax)(weight, num_rows, columns, temperature, rows);
}

}  // namespace submarine::internal

#endif  // HWY_ONCE
