#include "submarine/base/fixed_width_simd.h"  // must come before every Highway header

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "submarine/extension/simplex_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
// clang-format off
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
#include "submarine/base/simd/compress-inl.h"
// clang-format on

#include <algorithm>
#include <cmath>
#include <vector>

#include "submarine/extension/simplex_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Wide = hn::ScalableTag<float>;
using Vec = hn::Vec<Wide>;

// Calls body(i, mask) over the registers of a row; the mask is false beyond its end.
template <class Body>
HWY_INLINE void ForRow(std::size_t n, Body&& body) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, hn::FirstN(d, lanes));
  if (i < n) body(i, hn::FirstN(d, n - i));
}

// Adjacent rows may belong to different threads. With masked loads the last register of a row does
// not touch the next row; on other hardware MaskedLoad would need aligned rows.
template <class Mask>
HWY_INLINE Vec LoadRow(Mask mask, const float* from, std::size_t i, std::size_t n) {
  const Wide d;
  if (i + hn::Lanes(d) <= n) return hn::LoadU(d, from + i);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return hn::MaskedLoad(mask, d, from + i);
#else
  return hn::IfThenElseZero(mask, hn::LoadU(d, from + i));
#endif
}

template <class Mask>
HWY_INLINE void StoreRow(Vec v, Mask mask, float* to, std::size_t i, std::size_t n) {
  const Wide d;
  if (i + hn::Lanes(d) <= n) {
    hn::StoreU(v, d, to + i);
  } else {
    hn::BlendedStore(v, mask, d, to + i);
  }
}

HWY_INLINE float Least(const float* s, std::size_t n) {
  const Wide d;
  Vec least = hn::Set(d, HUGE_VALF);
  ForRow(n, [&](std::size_t i, auto mask) HWY_ATTR {
    least = hn::Min(least, hn::IfThenElse(mask, LoadRow(mask, s, i, n), least));
  });
  return hn::GetLane(hn::MinOfLanes(d, least));
}

// exp(x) for x <= 0, within 2 epsilon; 0 where it would be below the least normal number. x = n log
// 2 + r, |r| <= log(2) / 2, and a polynomial within 1.05e-7 of exp(r), the minimax polynomial of
// its degree among those that begin with 1 + r.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpOfNonPositive(D d, V x) {
  const hn::RebindToSigned<D> integers;
  const V shift = hn::Set(d, 12582912.0F);  // floats next to 1.5 2^23 are whole numbers
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504F), shift);
  const V n = hn::Sub(shifted, shift);
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);  // log 2 in two parts, leading bits first
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
  V p = hn::MulAdd(r, hn::Set(d, 0.00831250101F), hn::Set(d, 0.0418903306F));
  p = hn::MulAdd(r, p, hn::Set(d, 0.166671157F));
  p = hn::MulAdd(r, p, hn::Set(d, 0.499992311F));
  p = hn::MulAdd(hn::Mul(r, r), p, hn::Add(r, hn::Set(d, 1.0F)));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(integers, shifted));
  const V scaled = hn::BitCast(d, hn::Add(hn::BitCast(integers, p), exponent));
  return hn::IfThenElseZero(hn::Gt(x, hn::Set(d, -87.33F)), scaled);
}

// omega(x), x clamped to [-60, inf): a guess within 7%, then one step of Fritsch, Shafer and
// Crowley on w + log w = x, which raises the relative error to the fourth power.
HWY_INLINE Vec WrightOmega(Vec x) {
  const Wide d;
  const Vec one = hn::Set(d, 1.0F);
  x = hn::Max(x, hn::Set(d, -60.0F));
  const Vec t = hn::Exp(d, hn::Min(x, one));  // omega(log t) = t - t^2 + 3/2 t^3 ..., by Pade
  const Vec above =
      hn::MulAdd(t, hn::MulAdd(t, hn::Set(d, 17.0F), hn::Set(d, 114.0F)), hn::Set(d, 60.0F));
  const Vec below =
      hn::MulAdd(t, hn::MulAdd(t, hn::Set(d, 101.0F), hn::Set(d, 174.0F)), hn::Set(d, 60.0F));
  const Vec small = hn::Div(hn::Mul(t, above), below);
  const Vec high = hn::Max(x, one);
  const Vec log = hn::Log(d, high);
  const Vec large = hn::Add(hn::Sub(high, log), hn::Div(log, high));
  const Vec w = hn::IfThenElse(hn::Gt(x, one), large, small);
  const Vec r = hn::Sub(hn::Sub(x, w), hn::Log(d, w));
  const Vec inverse = hn::Div(one, hn::Add(w, one));
  const Vec q = hn::Mul(r, inverse);
  const Vec p = hn::Mul(q, inverse);
  const Vec m = hn::MulAdd(hn::Set(d, 2.0F / 3.0F), q, one);
  const Vec step = hn::Div(hn::Mul(q, hn::NegMulAdd(hn::Set(d, 0.5F), p, m)), hn::Sub(m, p));
  return hn::MulAdd(w, step, w);
}

// Below this omega(x) = exp(x) (1 - exp(x)) to single precision.
constexpr float kOmegaIsExponential = -9.0F;

// The offset at which the omega(x_i - top + offset) sum to G, by Newton's method on a convex
// increasing function: from the second step on the offsets decrease. The largest entry is between G
// / n and G, which bounds the offset; entries negligible at the upper bound are negligible
// throughout.
HWY_INLINE float SimplexOffset(const float* x, float top, float ratio, std::size_t n, float guess,
                               float* scratch) {
  const Wide d;
  constexpr float kShareThatMatters = -16.0F;  // its logarithm
  const float largest = ratio + std::log(ratio);
  const float share = ratio / static_cast<float>(n);
  const Vec least = hn::Set(d, std::log(ratio) + kShareThatMatters - largest);
  std::size_t count = 0;
  ForRow(n, [&](std::size_t i, auto mask) HWY_ATTR {
    const Vec relative = hn::Sub(LoadRow(mask, x, i, n), hn::Set(d, top));
    const auto matters = hn::And(mask, hn::Ge(relative, least));
    if (!hn::AllFalse(d, matters)) count += StoreCompressed(d, relative, matters, scratch + count);
  });
  // The guess may be NaN, which means none.
  float offset = guess < largest ? std::max(guess, share + std::log(share)) : largest;
  for (int k = 0; k < 50; ++k) {
    Vec sum = hn::Zero(d);
    Vec slope = hn::Zero(d);
    ForRow(count, [&](std::size_t i, auto mask) HWY_ATTR {
      const Vec w = hn::IfThenElseZero(
          mask, WrightOmega(hn::Add(hn::LoadU(d, scratch + i), hn::Set(d, offset))));
      sum = hn::Add(sum, w);
      slope = hn::Add(slope, hn::Div(w, hn::Add(w, hn::Set(d, 1.0F))));
    });
    const float excess = hn::GetLane(hn::SumOfLanes(d, sum)) - ratio;
    const float step = excess / hn::GetLane(hn::SumOfLanes(d, slope));
    offset = std::min(largest, offset - step);
    // As omega'' <= omega', the step leaves an excess of at most the product of the excess and the
    // step.
    if (std::abs(excess) * std::min(1.0F, std::abs(step)) <= 1e-6F * ratio ||
        std::abs(excess) <= 1e-5F * ratio)
      break;
  }
  return offset;
}

// The offset at which the max(0, r_i + offset) sum to 1, where r <= 0 and max r = 0. Newton's
// method on a convex increasing sum, from above: the offsets decrease and labels drop out until no
// more do.
HWY_INLINE float ProjectionOffset(const float* r, std::size_t n) {
  const Wide d;
  float offset = 1.0F;
  for (std::size_t k = 0; k <= n; ++k) {
    Vec sum = hn::Zero(d);
    Vec count = hn::Zero(d);
    ForRow(n, [&](std::size_t i, auto mask) HWY_ATTR {
      const Vec x = hn::Add(LoadRow(mask, r, i, n), hn::Set(d, offset));
      const auto inside = hn::And(mask, hn::Gt(x, hn::Zero(d)));
      sum = hn::Add(sum, hn::IfThenElseZero(inside, x));
      count = hn::Add(count, hn::IfThenElseZero(inside, hn::Set(d, 1.0F)));
    });
    const float next = offset - (hn::GetLane(hn::SumOfLanes(d, sum)) - 1.0F) /
                                    hn::GetLane(hn::SumOfLanes(d, count));
    if (!(next < offset)) break;
    offset = next;
  }
  return offset;
}

void Project(const float* s, const float* centre, float g, std::size_t n, float* y, float* lambda) {
  const Wide d;
  Vec largest = hn::Set(d, -HUGE_VALF);
  ForRow(n, [&](std::size_t i, auto mask) HWY_ATTR {
    const Vec x = hn::MulSub(hn::Set(d, g), LoadRow(mask, centre, i, n), LoadRow(mask, s, i, n));
    largest = hn::IfThenElse(mask, hn::Max(largest, x), largest);
    StoreRow(x, mask, y, i, n);
  });
  const float top = hn::GetLane(hn::MaxOfLanes(d, largest));
  // Subtract before dividing: quotients may overflow, which is then far from the simplex.
  const Vec inverse = hn::Set(d, InverseTemperature(g));
  ForRow(n, [&](std::size_t i, auto mask) HWY_ATTR {
    const Vec x = hn::Mul(hn::Sub(LoadRow(mask, y, i, n), hn::Set(d, top)), inverse);
    StoreRow(x, mask, y, i, n);
  });
  const float offset = ProjectionOffset(y, n);
  *lambda = top - g * offset;
  Vec total = hn::Zero(d);
  ForRow(n, [&](std::size_t i, auto mask) HWY_ATTR {
    const Vec x = hn::Max(hn::Zero(d), hn::Add(LoadRow(mask, y, i, n), hn::Set(d, offset)));
    total = hn::Add(total, hn::IfThenElseZero(mask, x));
    StoreRow(x, mask, y, i, n);
  });
  const Vec scale = hn::Set(d, 1.0F / hn::GetLane(hn::SumOfLanes(d, total)));
  ForRow(n, [&](std::size_t i, auto mask)
                HWY_ATTR { StoreRow(hn::Mul(LoadRow(mask, y, i, n), scale), mask, y, i, n); });
}

void SimplexProxRow(const float* s, const float* centre, float g, float temperature, std::size_t n,
                    float* y, float* lambda) {
  if (temperature <= kLeastProxTemperature * g) return Project(s, centre, g, n, y, lambda);
  const Wide d;
  const float inverse = InverseTemperature(temperature);
  g = std::max(g, kLeastProxRatio * temperature);
  const float ratio = g * inverse;  // G
  // y holds (g centre - s)/T; arguments of omega are relative to its largest entry.
  Vec largest = hn::Set(d, -HUGE_VALF);
  ForRow(n, [&](std::size_t i, auto mask) HWY_ATTR {
    const Vec x =
        hn::Mul(hn::Set(d, inverse), hn::NegMulAdd(hn::Set(d, -g), LoadRow(mask, centre, i, n),
                                                   hn::Neg(LoadRow(mask, s, i, n))));
    largest = hn::IfThenElse(mask, hn::Max(largest, x), largest);
    StoreRow(x, mask, y, i, n);
  });
  const float top = hn::GetLane(hn::MaxOfLanes(d, largest));
  // Costs this large beside T and g leave one label, or several of equal cost.
  if (!std::isfinite(top)) return Project(s, centre, g, n, y, lambda);
  thread_local std::vector<float> scratch;
  scratch.resize(n + 2 * hn::Lanes(d));
  const float offset = SimplexOffset(y, top, ratio, n, top - *lambda, scratch.data());
  *lambda = top - offset;
  const Vec one = hn::Set(d, 1.0F);
  Vec total = hn::Zero(d);
  ForRow(n, [&](std::size_t i, auto mask) HWY_ATTR {
    const Vec x = hn::Add(hn::Sub(LoadRow(mask, y, i, n), hn::Set(d, top)), hn::Set(d, offset));
    const auto large = hn::And(mask, hn::Gt(x, hn::Set(d, kOmegaIsExponential)));
    Vec w = ExpOfNonPositive(d, hn::Min(x, hn::Zero(d)));
    w = hn::Mul(w, hn::Sub(one, w));
    if (!hn::AllFalse(d, large)) w = hn::IfThenElse(large, WrightOmega(x), w);
    total = hn::Add(total, hn::IfThenElseZero(mask, w));
    StoreRow(w, mask, y, i, n);
  });
  const Vec scale = hn::Set(d, 1.0F / hn::GetLane(hn::SumOfLanes(d, total)));
  ForRow(n, [&](std::size_t i, auto mask)
                HWY_ATTR { StoreRow(hn::Mul(LoadRow(mask, y, i, n), scale), mask, y, i, n); });
}

struct Normaliser {
  float sum;    // of exp((least - s_i) / T)
  float least;  // of the s_i
};

// Rows of up to kVectors registers stay in registers from the first load to the last store. An object, because a pointer to a
// function that is always inlined has nothing to point to where the compiler does not see through it.
template <std::size_t kVectors>
struct SoftmaxInRegisters {
  HWY_INLINE Normaliser operator()(const float* s, float inverse, std::size_t n, float* y) const {
    const Wide d;
    const std::size_t lanes = hn::Lanes(d);
    const Vec infinite = hn::Set(d, HUGE_VALF);
    const auto tail = hn::FirstN(d, n - (kVectors - 1) * lanes);
    Vec x[kVectors];
    for (std::size_t k = 0; k + 1 < kVectors; ++k) x[k] = hn::LoadU(d, s + k * lanes);
    const std::size_t last = (kVectors - 1) * lanes;
    x[kVectors - 1] = hn::IfThenElse(tail, LoadRow(tail, s, last, n), infinite);
    Vec least = x[0];
    for (std::size_t k = 1; k < kVectors; ++k) least = hn::Min(least, x[k]);
    least = hn::MinOfLanes(d, least);
    Vec sum = hn::Zero(d);
    for (std::size_t k = 0; k < kVectors; ++k) {
      x[k] = ExpOfNonPositive(d, hn::Mul(hn::Set(d, inverse), hn::Sub(least, x[k])));
      if (k + 1 == kVectors) x[k] = hn::IfThenElseZero(tail, x[k]);
      sum = hn::Add(sum, x[k]);
    }
    sum = hn::SumOfLanes(d, sum);
    const Vec scale = hn::Div(hn::Set(d, 1.0F), sum);
    for (std::size_t k = 0; k + 1 < kVectors; ++k)
      hn::StoreU(hn::Mul(x[k], scale), d, y + k * lanes);
    StoreRow(hn::Mul(x[kVectors - 1], scale), tail, y, last, n);
    return {hn::GetLane(sum), hn::GetLane(least)};
  }
};

Normaliser SoftmaxOfLongRow(const float* s, float inverse, std::size_t n, float* y) {
  const Wide d;
  const float least = Least(s, n);
  Vec sum = hn::Zero(d);
  ForRow(n, [&](std::size_t i, auto mask) HWY_ATTR {
    const Vec x = hn::Sub(hn::Set(d, least), LoadRow(mask, s, i, n));
    const Vec p = ExpOfNonPositive(d, hn::Mul(hn::Set(d, inverse), x));
    sum = hn::Add(sum, hn::IfThenElseZero(mask, p));
    StoreRow(p, mask, y, i, n);
  });
  const float total = hn::GetLane(hn::SumOfLanes(d, sum));
  const Vec scale = hn::Set(d, 1.0F / total);
  ForRow(n, [&](std::size_t i, auto mask)
                HWY_ATTR { StoreRow(hn::Mul(LoadRow(mask, y, i, n), scale), mask, y, i, n); });
  return {total, least};
}

// Calls `body` with softmax(s, 1/T, n, y) for the right number of registers.
template <class Body>
HWY_INLINE auto WithSoftmax(std::size_t n, const Body& body) {
  switch ((n + hn::Lanes(Wide()) - 1) / hn::Lanes(Wide())) {
    case 1:
      return body(SoftmaxInRegisters<1>());
    case 2:
      return body(SoftmaxInRegisters<2>());
    case 3:
      return body(SoftmaxInRegisters<3>());
    case 4:
      return body(SoftmaxInRegisters<4>());
    default:
      return body(SoftmaxOfLongRow);
  }
}

float Softmax(const float* s, float temperature, std::size_t n, float* y) {
  const float inverse = InverseTemperature(temperature);
  const Normaliser normaliser =
      WithSoftmax(n, [&](const auto& softmax) HWY_ATTR { return softmax(s, inverse, n, y); });
  return temperature * std::log(normaliser.sum) - normaliser.least;
}

void Softmaxes(const float* s, float temperature, std::size_t rows, std::size_t n, float* y) {
  const float inverse = InverseTemperature(temperature);
  WithSoftmax(n, [&](const auto& softmax) HWY_ATTR {
    for (std::size_t a = 0; a < rows; ++a) softmax(s + a * n, inverse, n, y + a * n);
    return 0;
  });
}

using Lanes8 = hn::CappedTag<float, kBlockLanes>;

#if HWY_TARGET != HWY_SCALAR
// Entry r of every 128-bit block: op over all lanes of v[r]. Needs a quarter of the shuffles, and
// of the divisions that follow, compared with row by row.
template <class Op>
HWY_INLINE hn::Vec<Lanes8> ReduceFourRows(const hn::Vec<Lanes8>* v, const Op& op) {
  const Lanes8 d;
  const hn::RepartitionToWide<Lanes8> pairs;
  const auto first = op(hn::InterleaveLower(d, v[0], v[1]), hn::InterleaveUpper(d, v[0], v[1]));
  const auto second = op(hn::InterleaveLower(d, v[2], v[3]), hn::InterleaveUpper(d, v[2], v[3]));
  const auto x = hn::BitCast(pairs, first);
  const auto y = hn::BitCast(pairs, second);
  const auto in_blocks = op(hn::BitCast(d, hn::InterleaveLower(pairs, x, y)),
                            hn::BitCast(d, hn::InterleaveUpper(pairs, x, y)));
  if constexpr (hn::MaxLanes(Lanes8()) == 8) {
    return op(in_blocks, hn::ConcatLowerUpper(d, in_blocks, in_blocks));
  } else {
    return in_blocks;
  }
}

// SoftmaxBlock for four rows of kVectors registers each; y has room for `writable` floats.
template <std::size_t kVectors>
HWY_INLINE void SoftmaxOfFourRows(float inverse, std::size_t n, float* rows, float* y,
                                  std::size_t writable) {
  const Lanes8 d;
  using V = hn::Vec<Lanes8>;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t last = (kVectors - 1) * lanes;
  const auto tail = hn::FirstN(d, n - last);
  const auto load = [&](std::size_t r, std::size_t k) HWY_ATTR {
    const V x = hn::Load(d, rows + (r * kVectors + k) * lanes);
    return k + 1 == kVectors ? hn::IfThenElse(tail, x, hn::Set(d, HUGE_VALF)) : x;
  };
  V reduced[4];
  for (std::size_t r = 0; r < 4; ++r) {
    reduced[r] = load(r, 0);
    for (std::size_t k = 1; k < kVectors; ++k) reduced[r] = hn::Min(reduced[r], load(r, k));
  }
  const V least = ReduceFourRows(reduced, [](V a, V b) HWY_ATTR { return hn::Min(a, b); });
  const V leasts[4] = {hn::Broadcast<0>(least), hn::Broadcast<1>(least), hn::Broadcast<2>(least),
                       hn::Broadcast<3>(least)};
  for (std::size_t r = 0; r < 4; ++r) {
    reduced[r] = hn::Zero(d);
    for (std::size_t k = 0; k < kVectors; ++k) {
      const V x = hn::Mul(hn::Set(d, inverse), hn::Sub(leasts[r], load(r, k)));
      const V p = ExpOfNonPositive(d, x);
      reduced[r] = hn::Add(reduced[r], p);
      hn::Store(p, d, rows + (r * kVectors + k) * lanes);
    }
  }
  const V scale = hn::Div(hn::Set(d, 1.0F),
                          ReduceFourRows(reduced, [](V a, V b) HWY_ATTR { return hn::Add(a, b); }));
  const V scales[4] = {hn::Broadcast<0>(scale), hn::Broadcast<1>(scale), hn::Broadcast<2>(scale),
                       hn::Broadcast<3>(scale)};
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t k = 0; k < kVectors; ++k) {
      float* at = rows + (r * kVectors + k) * lanes;
      const V p = hn::Mul(hn::Load(d, at), scales[r]);
      hn::Store(p, d, at);
      if (y == nullptr) continue;
      // Floats written beyond the end of a row are overwritten by the next row, if there is one.
      const std::size_t to = r * n + k * lanes;
      if (to + lanes <= writable) {
        hn::StoreU(p, d, y + to);
      } else {
        hn::BlendedStore(p, tail, d, y + to);
      }
    }
  }
}

// Processes rows four at a time from the first on, as many as possible; returns their number.
template <std::size_t kVectors>
HWY_INLINE std::size_t SoftmaxByFours(float inverse, std::size_t count, std::size_t n, float* rows,
                                      float* y) {
  const std::size_t stride = kVectors * hn::Lanes(Lanes8());
  std::size_t a = 0;
  for (; a + 4 <= count; a += 4) {
    SoftmaxOfFourRows<kVectors>(inverse, n, rows + a * stride, y == nullptr ? y : y + a * n,
                                (count - a) * n);
  }
  return a;
}
// Processes the first rows if their number of registers is a common one; returns how many.
std::size_t SoftmaxFirstRows(float inverse, std::size_t count, std::size_t n, std::size_t stride,
                             float* rows, float* y) {
  const std::size_t lanes = hn::Lanes(Lanes8());
  if (stride != (n + lanes - 1) / lanes * lanes) return 0;
  switch (stride / lanes) {
    case 1:
      return SoftmaxByFours<1>(inverse, count, n, rows, y);
    case 2:
      return SoftmaxByFours<2>(inverse, count, n, rows, y);
    case 3:
      return SoftmaxByFours<3>(inverse, count, n, rows, y);
    case 4:
      return SoftmaxByFours<4>(inverse, count, n, rows, y);
    default:
      return 0;
  }
}
#else
std::size_t SoftmaxFirstRows(float, std::size_t, std::size_t, std::size_t, float*, float*) {
  return 0;
}
#endif

void SoftmaxBlock(float temperature, std::size_t count, std::size_t n, std::size_t stride,
                  float* rows, float* y) {
  const float inverse = InverseTemperature(temperature);
  for (std::size_t a = SoftmaxFirstRows(inverse, count, n, stride, rows, y); a < count; ++a) {
    float* row = rows + a * stride;
    WithSoftmax(n, [&](const auto& softmax) HWY_ATTR { return softmax(row, inverse, n, row); });
    std::fill(row + n, row + stride, 0.0F);
    if (y != nullptr) std::copy(row, row + n, y + a * n);
  }
}

float LogSumExp(const float* s, float temperature, std::size_t n) {
  const Wide d;
  const float least = Least(s, n);
  const float inverse = InverseTemperature(temperature);
  Vec sum = hn::Zero(d);
  ForRow(n, [&](std::size_t i, auto mask) HWY_ATTR {
    const Vec x = hn::Sub(hn::Set(d, least), LoadRow(mask, s, i, n));
    const Vec p = ExpOfNonPositive(d, hn::Mul(hn::Set(d, inverse), x));
    sum = hn::Add(sum, hn::IfThenElseZero(mask, p));
  });
  return temperature * std::log(hn::GetLane(hn::SumOfLanes(d, sum))) - least;
}

// T H(y) - <cost, y>; cost(mask, i) loads a register.
template <class Cost>
HWY_INLINE float EntropyMinus(const float* y, float temperature, std::size_t n, const Cost& cost) {
  const Wide d;
  Vec sum = hn::Zero(d);
  ForRow(n, [&](std::size_t i, auto mask) HWY_ATTR {
    const Vec p = hn::IfThenElseZero(mask, LoadRow(mask, y, i, n));
    const Vec log = hn::Log(d, hn::Max(p, hn::Set(d, 1e-37F)));
    const Vec on_label =
        hn::MulAdd(hn::Set(d, temperature), log, hn::IfThenElseZero(mask, cost(mask, i)));
    sum = hn::NegMulAdd(p, on_label, sum);
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

float EntropyMinusEnergy(const float* y, const float* phi, float temperature, std::size_t n) {
  return EntropyMinus(y, temperature, n,
                      [&](auto mask, std::size_t i) HWY_ATTR { return LoadRow(mask, phi, i, n); });
}

float FreeEnergy(const float* y, const float* phi, const float* s, float temperature,
                 std::size_t n) {
  return EntropyMinus(y, temperature, n, [&](auto mask, std::size_t i) HWY_ATTR {
    return hn::Mul(hn::Set(Wide(), 0.5F),
                   hn::Add(LoadRow(mask, phi, i, n), LoadRow(mask, s, i, n)));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace submarine::internal {

HWY_EXPORT(SimplexProxRow);
HWY_EXPORT(Softmax);
HWY_EXPORT(Softmaxes);
HWY_EXPORT(SoftmaxBlock);
HWY_EXPORT(LogSumExp);
HWY_EXPORT(EntropyMinusEnergy);
HWY_EXPORT(FreeEnergy);

void SimplexProxRow(const float* s, const float* centre, float g, float temperature, std::size_t n,
                    float* y, float* lambda) {
  HWY_DYNAMIC_DISPATCH(SimplexProxRow)(s, centre, g, temperature, n, y, lambda);
}
float SoftmaxRow(const float* s, float temperature, std::size_t n, float* y) {
  return HWY_DYNAMIC_DISPATCH(Softmax)(s, temperature, n, y);
}
void SoftmaxRows(const float* s, float temperature, std::size_t rows, std::size_t n, float* y) {
  HWY_DYNAMIC_DISPATCH(Softmaxes)(s, temperature, rows, n, y);
}
void SoftmaxBlock(float temperature, std::size_t count, std::size_t n, std::size_t stride,
                  float* rows, float* y) {
  HWY_DYNAMIC_DISPATCH(SoftmaxBlock)(temperature, count, n, stride, rows, y);
}
float LogSumExpRow(const float* s, float temperature, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(LogSumExp)(s, temperature, n);
}
float EntropyMinusEnergyRow(const float* y, const float* phi, float temperature, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(EntropyMinusEnergy)(y, phi, temperature, n);
}
float FreeEnergyRow(const float* y, const float* phi, const float* s, float temperature,
                    std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(FreeEnergy)(y, phi, s, temperature, n);
}

}  // namespace submarine::internal
#endif
