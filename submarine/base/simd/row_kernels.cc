#include "submarine/base/fixed_width_simd.h"  // must come before every Highway header

// Highway compiles this file once per instruction set (foreach_target.h includes it again) and
// picks the best one on the CPU at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "submarine/base/simd/row_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
// clang-format off
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include <cmath>
#include <limits>
#include <type_traits>

#include "submarine/base/simd/row_kernels.h"
#include "submarine/base/simd/row_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

// The minimum of a row, accumulated like RowSum.
struct RowMin {
  hn::Vec<Wide> wide;
  hn::Vec<Single> single;
  HWY_INLINE RowMin() : wide(hn::Set(Wide(), HUGE_VAL)), single(hn::Set(Single(), HUGE_VAL)) {}
  template <class D>
  HWY_INLINE void Add(D, hn::Vec<D> v) {
    if constexpr (std::is_same_v<D, Wide>) {
      wide = hn::Min(wide, v);
    } else {
      single = hn::Min(single, v);
    }
  }
  HWY_INLINE double Total() const {
    return std::fmin(hn::GetLane(hn::MinOfLanes(Wide(), wide)), hn::GetLane(single));
  }
};

template <class D>
HWY_INLINE hn::Vec<D> SignOf(D d, hn::Vec<D> x) {
  const auto nonzero = hn::Ne(x, hn::Zero(d));
  return hn::IfThenElseZero(nonzero, hn::CopySign(hn::Set(d, 1.0), x));
}

double MinRow(const double* s, std::size_t n) {
  RowMin least;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR { least.Add(d, hn::LoadU(d, s + i)); });
  return least.Total();
}

double Softmax(const double* s, std::size_t n, double inverse_temperature, double* y) {
  const double least = MinRow(s, n);
  RowSum sum;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto x =
        hn::Mul(hn::Sub(hn::Set(d, least), hn::LoadU(d, s + i)), hn::Set(d, inverse_temperature));
    const auto p = hn::Exp(d, x);
    sum.Add(d, p);
    hn::StoreU(p, d, y + i);
  });
  const double total = sum.Total();
  const double scale = 1.0 / total;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, y + i), hn::Set(d, scale)), d, y + i);
  });
  return std::log(total) - least * inverse_temperature;
}

double LogSumExp(const double* s, std::size_t n, double inverse_temperature) {
  const double least = MinRow(s, n);
  RowSum sum;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto x =
        hn::Mul(hn::Sub(hn::Set(d, least), hn::LoadU(d, s + i)), hn::Set(d, inverse_temperature));
    sum.Add(d, hn::Exp(d, x));
  });
  return std::log(sum.Total()) - least * inverse_temperature;
}

void LogSumExpDerivatives(const double* s, const double* direction, double t, std::size_t n,
                          double inverse_temperature, double* first, double* second) {
  RowMin lowest;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    lowest.Add(d, hn::MulAdd(hn::Set(d, t), hn::LoadU(d, direction + i), hn::LoadU(d, s + i)));
  });
  const double least = lowest.Total();
  RowSum sum;
  RowSum mean;
  RowSum square;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto step = hn::LoadU(d, direction + i);
    const auto value = hn::MulAdd(hn::Set(d, t), step, hn::LoadU(d, s + i));
    const auto p =
        hn::Exp(d, hn::Mul(hn::Sub(hn::Set(d, least), value), hn::Set(d, inverse_temperature)));
    const auto weighted = hn::Mul(p, step);
    sum.Add(d, p);
    mean.Add(d, weighted);
    square.Add(d, hn::Mul(weighted, step));
  });
  const double total = sum.Total();
  const double average = mean.Total() / total;
  *first = -average;
  *second = std::fmax(0.0, square.Total() / total - average * average) * inverse_temperature;
}

EntropicStep Entropic(const double* s_new, const double* s_old, const double* u_old,
                      const double* y_old, double temperature, double weight, std::size_t n,
                      double* u_new, double* y_new) {
  const double scale = 1.0 / (temperature + weight);
  // The old u is kept beside the new one until the last loop, so u_new must not be written before
  // it is read; y_new serves as scratch space for exp(-u).
  RowMin lowest;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto u =
        hn::Mul(hn::MulAdd(hn::Set(d, weight), hn::LoadU(d, u_old + i), hn::LoadU(d, s_new + i)),
                hn::Set(d, scale));
    lowest.Add(d, u);
  });
  const double least = lowest.Total();
  RowSum sum;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto u =
        hn::Mul(hn::MulAdd(hn::Set(d, weight), hn::LoadU(d, u_old + i), hn::LoadU(d, s_new + i)),
                hn::Set(d, scale));
    const auto p = hn::Exp(d, hn::Sub(hn::Set(d, least), u));
    sum.Add(d, p);
    hn::StoreU(p, d, y_new + i);
  });
  const double normaliser = 1.0 / sum.Total();
  RowSum divergence;
  RowSum interaction;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto old = hn::LoadU(d, u_old + i);
    const auto s = hn::LoadU(d, s_new + i);
    const auto u = hn::Sub(hn::Mul(hn::MulAdd(hn::Set(d, weight), old, s), hn::Set(d, scale)),
                           hn::Set(d, least));
    const auto y = hn::Mul(hn::LoadU(d, y_new + i), hn::Set(d, normaliser));
    const auto change = hn::Sub(y, hn::LoadU(d, y_old + i));
    divergence.Add(d, hn::Mul(change, hn::Sub(old, u)));
    interaction.Add(d, hn::Mul(change, hn::Sub(s, hn::LoadU(d, s_old + i))));
    hn::StoreU(u, d, u_new + i);
    hn::StoreU(y, d, y_new + i);
  });
  return {0.5 * divergence.Total(), interaction.Total()};
}

double StepFlow(const double* q, const double* z_a, const double* z_b, const double* length,
                const double* mobility, double step, std::size_t n, double* q_new) {
  RowSum change;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto before = hn::LoadU(d, q + i);
    const auto speed = hn::LoadU(d, mobility + i);
    const auto difference = hn::Sub(hn::LoadU(d, z_a + i), hn::LoadU(d, z_b + i));
    const auto moved = hn::MulAdd(hn::Mul(hn::Set(d, step), speed), difference, before);
    const auto after = hn::Min(hn::Max(moved, hn::Set(d, -1.0)), hn::Set(d, 1.0));
    const auto change_here = hn::Sub(after, before);
    const auto stiffness = hn::Div(hn::LoadU(d, length + i), speed);
    change.Add(d, hn::Mul(stiffness, hn::Mul(change_here, change_here)));
    hn::StoreU(after, d, q_new + i);
  });
  return change.Total();
}

void BlendFlow(const double* z_a, const double* z_b, double rate, std::size_t n, double* q) {
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto before = hn::LoadU(d, q + i);
    const auto vertex = SignOf(d, hn::Sub(hn::LoadU(d, z_a + i), hn::LoadU(d, z_b + i)));
    hn::StoreU(hn::MulAdd(hn::Set(d, rate), hn::Sub(vertex, before), before), d, q + i);
  });
}

void AccumulateFlow(const double* q, const double* length, double scale, std::size_t n,
                    double* out) {
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto capacity = hn::Mul(hn::Set(d, scale), hn::LoadU(d, length + i));
    hn::StoreU(hn::MulAdd(capacity, hn::LoadU(d, q + i), hn::LoadU(d, out + i)), d, out + i);
  });
}

void AccumulateSign(const double* z_a, const double* z_b, const double* length, double scale,
                    std::size_t n, double* out) {
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto capacity = hn::Mul(hn::Set(d, scale), hn::LoadU(d, length + i));
    const auto vertex = SignOf(d, hn::Sub(hn::LoadU(d, z_a + i), hn::LoadU(d, z_b + i)));
    hn::StoreU(hn::MulAdd(capacity, vertex, hn::LoadU(d, out + i)), d, out + i);
  });
}

double TotalVariation(const double* z_a, const double* z_b, const double* length, std::size_t n) {
  RowSum sum;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto difference = hn::Abs(hn::Sub(hn::LoadU(d, z_a + i), hn::LoadU(d, z_b + i)));
    sum.Add(d, hn::Mul(hn::LoadU(d, length + i), difference));
  });
  return sum.Total();
}

double Dot(const double* x, const double* y, std::size_t n) {
  RowSum sum;
  ForRow(n, [&](auto d, std::size_t i)
                HWY_ATTR { sum.Add(d, hn::Mul(hn::LoadU(d, x + i), hn::LoadU(d, y + i))); });
  return sum.Total();
}

double Entropy(const double* y, std::size_t n) {
  RowSum sum;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto p = hn::LoadU(d, y + i);
    const auto smallest = hn::Set(d, std::numeric_limits<double>::min());
    sum.Add(d, hn::Mul(p, hn::Log(d, hn::Max(p, smallest))));
  });
  return -sum.Total();
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace submarine::internal {

HWY_EXPORT(Softmax);
HWY_EXPORT(LogSumExp);
HWY_EXPORT(LogSumExpDerivatives);
HWY_EXPORT(Entropic);
HWY_EXPORT(StepFlow);
HWY_EXPORT(BlendFlow);
HWY_EXPORT(AccumulateFlow);
HWY_EXPORT(AccumulateSign);
HWY_EXPORT(TotalVariation);
HWY_EXPORT(Dot);
HWY_EXPORT(Entropy);

double SoftmaxRow(const double* s, std::size_t n, double inverse_temperature, double* y) {
  return HWY_DYNAMIC_DISPATCH(Softmax)(s, n, inverse_temperature, y);
}

double LogSumExpRow(const double* s, std::size_t n, double inverse_temperature) {
  return HWY_DYNAMIC_DISPATCH(LogSumExp)(s, n, inverse_temperature);
}

void LogSumExpDerivativesRow(const double* s, const double* d, double t, std::size_t n,
                             double inverse_temperature, double* first, double* second) {
  HWY_DYNAMIC_DISPATCH(LogSumExpDerivatives)(s, d, t, n, inverse_temperature, first, second);
}

EntropicStep EntropicStepRow(const double* s_new, const double* s_old, const double* u_old,
                             const double* y_old, double temperature, double weight, std::size_t n,
                             double* u_new, double* y_new) {
  return HWY_DYNAMIC_DISPATCH(Entropic)(s_new, s_old, u_old, y_old, temperature, weight, n, u_new,
                                        y_new);
}

double StepFlowRow(const double* q, const double* z_a, const double* z_b, const double* length,
                   const double* mobility, double step, std::size_t n, double* q_new) {
  return HWY_DYNAMIC_DISPATCH(StepFlow)(q, z_a, z_b, length, mobility, step, n, q_new);
}

void BlendFlowRow(const double* z_a, const double* z_b, double rate, std::size_t n, double* q) {
  HWY_DYNAMIC_DISPATCH(BlendFlow)(z_a, z_b, rate, n, q);
}

void AccumulateFlowRow(const double* q, const double* length, double scale, std::size_t n,
                       double* out) {
  HWY_DYNAMIC_DISPATCH(AccumulateFlow)(q, length, scale, n, out);
}

void AccumulateSignRow(const double* z_a, const double* z_b, const double* length, double scale,
                       std::size_t n, double* out) {
  HWY_DYNAMIC_DISPATCH(AccumulateSign)(z_a, z_b, length, scale, n, out);
}

double TotalVariationRow(const double* z_a, const double* z_b, const double* length,
                         std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(TotalVariation)(z_a, z_b, length, n);
}

double DotRow(const double* x, const double* y, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(Dot)(x, y, n);
}

double EntropyRow(const double* y, std::size_t n) { return HWY_DYNAMIC_DISPATCH(Entropy)(y, n); }

}  // namespace submarine::internal
#endif  // HWY_ONCE
