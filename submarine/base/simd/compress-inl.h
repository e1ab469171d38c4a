// For SIMD kernels, included once per instruction set (hwy/foreach_target.h). Where there is no
// compress instruction, the CompressStore of Debian 12's Highway copies its whole table of
// permutations on every call, which took half the time of the kernels that used it.
#if defined(SUBMARINE_BASE_COMPRESS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SUBMARINE_BASE_COMPRESS_INL_H_
#undef SUBMARINE_BASE_COMPRESS_INL_H_
#else
#define SUBMARINE_BASE_COMPRESS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

// Stores the lanes of `values` selected by the mask, in order, and returns their number. `out` has
// room for a whole register.
template <class D, class V, class M, class T = hwy::HWY_NAMESPACE::TFromD<D>>
HWY_INLINE std::size_t StoreCompressed(D d, V values, M mask, T* HWY_RESTRICT out) {
  namespace hn = hwy::HWY_NAMESPACE;
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, sizeof(bits));
  HWY_ALIGN T lanes[hn::MaxLanes(D())];
  hn::Store(values, d, lanes);
  std::size_t count = 0;
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    out[count] = lanes[i];
    count += (bits >> i) & 1U;
  }
  return count;
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#endif
