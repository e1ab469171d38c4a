#include "submarine/base/fixed_width_simd.h"  // must come before every Highway header

// Highway compiles this file once per instruction set (foreach_target.h includes it again).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "submarine/solver/forest/trw_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
// clang-format off
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "submarine/base/simd/row_loops-inl.h"
#include "submarine/solver/forest/trw_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

// Rows are padded to whole vectors of at most 4 lanes: 20 labels are exactly five such vectors.
using Quad = hn::CappedTag<double, 4>;

double Largest(const double* x, std::size_t n) {
  auto wide = hn::Set(Wide(), -HUGE_VAL);
  double tail = -HUGE_VAL;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    if constexpr (std::is_same_v<decltype(d), Wide>) {
      wide = hn::Max(wide, hn::LoadU(d, x + i));
    } else {
      tail = std::fmax(tail, x[i]);
    }
  });
  return std::fmax(hn::GetLane(hn::MaxOfLanes(Wide(), wide)), tail);
}

double Exponential(const double* x, double shift, std::size_t n, double* out) {
  RowSum sum;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto p = hn::Exp(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)));
    sum.Add(d, p);
    hn::StoreU(p, d, out + i);
  });
  return sum.Total();
}

void Logarithm(const double* x, double shift, std::size_t n, double* out) {
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto value = hn::LoadU(d, x + i);
    const auto smallest = hn::Set(d, std::numeric_limits<double>::min());
    const auto log = hn::Add(hn::Log(d, hn::Max(value, smallest)), hn::Set(d, shift));
    hn::StoreU(hn::IfThenElse(hn::Lt(value, smallest), hn::Set(d, -HUGE_VAL), log), d, out + i);
  });
}

// The number of messages is a template parameter for common values, so that its loop unrolls.
template <std::size_t kMessages>
double Belief(const double* psi, const double* m, std::size_t messages, int roots, std::size_t n,
              double* g) {
  const std::size_t count = kMessages > 0 ? kMessages : messages;
  RowSum sum;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    auto product = hn::LoadU(d, m + i);
    for (std::size_t k = 1; k < count; ++k) product = hn::Mul(product, hn::LoadU(d, m + k * n + i));
    for (int r = 0; r < roots; ++r) product = hn::Sqrt(product);
    const auto value = hn::Mul(product, hn::LoadU(d, psi + i));
    sum.Add(d, value);
    hn::StoreU(value, d, g + i);
  });
  return sum.Total();
}

double BeliefOf(const double* psi, const double* m, std::size_t messages, int roots, std::size_t n,
                double* g) {
  return messages == 4 ? Belief<4>(psi, m, messages, roots, n, g)
                       : Belief<0>(psi, m, messages, roots, n, g);
}

double Quotient(const double* g, const double* m, std::size_t n, double* q) {
  RowSum sum;
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    const auto value = hn::Div(hn::LoadU(d, g + i), hn::LoadU(d, m + i));
    sum.Add(d, value);
    hn::StoreU(value, d, q + i);
  });
  return sum.Total();
}

double PottsMessage(const double* g, const double* m, std::size_t n, std::size_t labels,
                    double stay, double leave, double* out) {
  const double sum = Quotient(g, m, n, out);
  // sum_i (stay q_i + leave sum) = sum (stay + labels leave)
  const double whole = stay + static_cast<double>(labels) * leave;
  const double base = leave / whole;
  const double slope = stay / (whole * sum);
  ForRow(n, [&](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::MulAdd(hn::Set(d, slope), hn::LoadU(d, out + i), hn::Set(d, base)), d, out + i);
  });
  return sum * whole;
}

// n must be a multiple of the lanes of Quad.
double PottsPairOf(const double* psi, const double* m, int side, std::size_t n, std::size_t labels,
                   const PottsPair& pair) {
  const Quad d;
  const double* received_0 = m + static_cast<std::size_t>(side) * n;
  const double* received_1 = received_0 + 2 * n;
  const double* others_0 = m + static_cast<std::size_t>(1 - side) * n;
  const double* others_1 = others_0 + 2 * n;
  double* out_0 = pair.out[0];
  double* out_1 = pair.out[1];
  auto sum_0 = hn::Zero(d);
  auto sum_1 = hn::Zero(d);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const auto m_0 = hn::LoadU(d, received_0 + i);
    const auto m_1 = hn::LoadU(d, received_1 + i);
    const auto both = hn::Mul(m_0, m_1);
    const auto others = hn::Mul(hn::LoadU(d, others_0 + i), hn::LoadU(d, others_1 + i));
    const auto g = hn::Mul(hn::LoadU(d, psi + i), hn::Sqrt(hn::Mul(both, others)));
    const auto share = hn::Div(g, both);  // one division for two quotients
    const auto q_0 = hn::Mul(share, m_1);
    const auto q_1 = hn::Mul(share, m_0);
    sum_0 = hn::Add(sum_0, q_0);
    sum_1 = hn::Add(sum_1, q_1);
    hn::StoreU(q_0, d, out_0 + i);
    hn::StoreU(q_1, d, out_1 + i);
  }
  const double total_0 = hn::GetLane(hn::SumOfLanes(d, sum_0));
  const double total_1 = hn::GetLane(hn::SumOfLanes(d, sum_1));
  const double whole_0 = pair.stay[0] + static_cast<double>(labels) * pair.leave[0];
  const double whole_1 = pair.stay[1] + static_cast<double>(labels) * pair.leave[1];
  const auto base_0 = hn::Set(d, pair.leave[0] / whole_0);
  const auto base_1 = hn::Set(d, pair.leave[1] / whole_1);
  const auto slope_0 = hn::Set(d, pair.stay[0] / (whole_0 * total_0));
  const auto slope_1 = hn::Set(d, pair.stay[1] / (whole_1 * total_1));
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    hn::StoreU(hn::MulAdd(slope_0, hn::LoadU(d, out_0 + i), base_0), d, out_0 + i);
    hn::StoreU(hn::MulAdd(slope_1, hn::LoadU(d, out_1 + i), base_1), d, out_1 + i);
  }
  return total_0 * whole_0 * (total_1 * whole_1);
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace submarine::internal {

HWY_EXPORT(Largest);
HWY_EXPORT(Exponential);
HWY_EXPORT(Logarithm);
HWY_EXPORT(BeliefOf);
HWY_EXPORT(Quotient);
HWY_EXPORT(PottsMessage);
HWY_EXPORT(PottsPairOf);

double MaxRow(const double* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(Largest)(x, n); }

double ExpRow(const double* x, double shift, std::size_t n, double* out) {
  return HWY_DYNAMIC_DISPATCH(Exponential)(x, shift, n, out);
}

void LogRow(const double* x, double shift, std::size_t n, double* out) {
  HWY_DYNAMIC_DISPATCH(Logarithm)(x, shift, n, out);
}

double BeliefRow(const double* psi, const double* m, std::size_t messages, int roots, std::size_t n,
                 double* g) {
  return HWY_DYNAMIC_DISPATCH(BeliefOf)(psi, m, messages, roots, n, g);
}

double QuotientRow(const double* g, const double* m, std::size_t n, double* q) {
  return HWY_DYNAMIC_DISPATCH(Quotient)(g, m, n, q);
}

double PottsMessageRow(const double* g, const double* m, std::size_t n, std::size_t labels,
                       double stay, double leave, double* out) {
  return HWY_DYNAMIC_DISPATCH(PottsMessage)(g, m, n, labels, stay, leave, out);
}

double PottsPairRow(const double* psi, const double* m, int side, std::size_t n, std::size_t labels,
                    const PottsPair& pair) {
  return HWY_DYNAMIC_DISPATCH(PottsPairOf)(psi, m, side, n, labels, pair);
}

}  // namespace submarine::internal
#endif  // HWY_ONCE
