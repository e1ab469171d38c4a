// Loops over rows of doubles, for kernels that Highway compiles once per instruction set. Include
// it after highway.h and outside any namespace.
#if defined(SUBMARINE_BASE_ROW_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SUBMARINE_BASE_ROW_LOOPS_INL_H_
#undef SUBMARINE_BASE_ROW_LOOPS_INL_H_
#else
#define SUBMARINE_BASE_ROW_LOOPS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;
using Single = hn::CappedTag<double, 1>;

// Calls body(tag, i) over whole vectors and then one lane at a time over the tail, so that nothing
// outside the row is touched.
template <class Body>
HWY_INLINE void ForRow(std::size_t n, Body&& body) {
  const Wide wide;
  const std::size_t lanes = hn::Lanes(wide);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(wide, i);
  for (; i < n; ++i) body(Single(), i);
}

// A sum accumulated over a row: whole vectors in `wide`, the tail in `single`.
struct RowSum {
  hn::Vec<Wide> wide;
  hn::Vec<Single> single;
  HWY_INLINE RowSum() : wide(hn::Zero(Wide())), single(hn::Zero(Single())) {}
  template <class D>
  HWY_INLINE void Add(D, hn::Vec<D> v) {
    if constexpr (std::is_same_v<D, Wide>) {
      wide = hn::Add(wide, v);
    } else {
      single = hn::Add(single, v);
    }
  }
  HWY_INLINE double Total() const {
    return hn::GetLane(hn::SumOfLanes(Wide(), wide)) + hn::GetLane(single);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#endif
