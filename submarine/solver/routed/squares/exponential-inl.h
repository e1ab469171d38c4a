// exp of floats, for the kernels of this folder. Included once per instruction set.
#if defined(SUBMARINE_SOLVER_ROUTED_SQUARES_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SUBMARINE_SOLVER_ROUTED_SQUARES_EXPONENTIAL_INL_H_
#undef SUBMARINE_SOLVER_ROUTED_SQUARES_EXPONENTIAL_INL_H_
#else
#define SUBMARINE_SOLVER_ROUTED_SQUARES_EXPONENTIAL_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
// Registers of at most 8 numbers, which the sides of squares are multiples of.
using Wide = hn::CappedTag<float, 8>;
using Vec = hn::Vec<Wide>;

// exp(x) for x <= 88, to a few units in the last place of single precision; 0 far below 0.
HWY_INLINE Vec Exponential(Wide d, Vec x) {
  const hn::RebindToSigned<Wide> di;
  const Vec least = hn::Set(d, -87.0F);
  const Vec bounded = hn::Max(x, least);
  const Vec whole = hn::Round(hn::Mul(bounded, hn::Set(d, 1.44269504F)));
  Vec rest = hn::NegMulAdd(whole, hn::Set(d, 0.693359375F), bounded);
  rest = hn::NegMulAdd(whole, hn::Set(d, -2.12194440e-4F), rest);
  Vec p = hn::Set(d, 1.9875691500e-4F);
  p = hn::MulAdd(p, rest, hn::Set(d, 1.3981999507e-3F));
  p = hn::MulAdd(p, rest, hn::Set(d, 8.3334519073e-3F));
  p = hn::MulAdd(p, rest, hn::Set(d, 4.1665795894e-2F));
  p = hn::MulAdd(p, rest, hn::Set(d, 1.6666665459e-1F));
  p = hn::MulAdd(p, rest, hn::Set(d, 5.0000001201e-1F));
  p = hn::Add(hn::MulAdd(hn::Mul(p, rest), rest, rest), hn::Set(d, 1.0F));
  const auto power = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, whole), hn::Set(di, 127)));
  return hn::IfThenElseZero(hn::Ge(x, least), hn::Mul(p, hn::BitCast(d, power)));
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#endif
