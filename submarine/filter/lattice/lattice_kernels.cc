#include "submarine/base/fixed_width_simd.h"  // must come before every Highway header

// Highway compiles this file once per instruction set (foreach_target.h includes it again).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "submarine/filter/lattice/lattice_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
// clang-format off
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "submarine/filter/lattice/lattice_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes8 = hn::CappedTag<float, kLatticeLanes>;

// Up to kWide vectors of channels of a row at once: sums stay in registers.
template <int kWide, class D, class V = hn::Vec<D>>
struct Sums {
  V v0, v1, v2, v3;

  explicit HWY_INLINE Sums(D d)
      : v0(hn::Zero(d)), v1(hn::Zero(d)), v2(hn::Zero(d)), v3(hn::Zero(d)) {}
  HWY_INLINE Sums(D d, const float* row) : Sums(d) {
    const std::size_t n = hn::Lanes(d);
    v0 = hn::LoadU(d, row);
    if constexpr (kWide > 1) v1 = hn::LoadU(d, row + n);
    if constexpr (kWide > 2) v2 = hn::LoadU(d, row + 2 * n);
    if constexpr (kWide > 3) v3 = hn::LoadU(d, row + 3 * n);
  }
  HWY_INLINE void AddRow(D d, const float* row) {
    const std::size_t n = hn::Lanes(d);
    v0 = hn::Add(v0, hn::LoadU(d, row));
    if constexpr (kWide > 1) v1 = hn::Add(v1, hn::LoadU(d, row + n));
    if constexpr (kWide > 2) v2 = hn::Add(v2, hn::LoadU(d, row + 2 * n));
    if constexpr (kWide > 3) v3 = hn::Add(v3, hn::LoadU(d, row + 3 * n));
  }
  HWY_INLINE void AddRow(D d, V weight, const float* row) {
    const std::size_t n = hn::Lanes(d);
    v0 = hn::MulAdd(weight, hn::LoadU(d, row), v0);
    if constexpr (kWide > 1) v1 = hn::MulAdd(weight, hn::LoadU(d, row + n), v1);
    if constexpr (kWide > 2) v2 = hn::MulAdd(weight, hn::LoadU(d, row + 2 * n), v2);
    if constexpr (kWide > 3) v3 = hn::MulAdd(weight, hn::LoadU(d, row + 3 * n), v3);
  }
  HWY_INLINE void AddScaled(V weight, const Sums& other) {
    v0 = hn::MulAdd(weight, other.v0, v0);
    if constexpr (kWide > 1) v1 = hn::MulAdd(weight, other.v1, v1);
    if constexpr (kWide > 2) v2 = hn::MulAdd(weight, other.v2, v2);
    if constexpr (kWide > 3) v3 = hn::MulAdd(weight, other.v3, v3);
  }
  HWY_INLINE void Scale(V weight) {
    v0 = hn::Mul(weight, v0);
    if constexpr (kWide > 1) v1 = hn::Mul(weight, v1);
    if constexpr (kWide > 2) v2 = hn::Mul(weight, v2);
    if constexpr (kWide > 3) v3 = hn::Mul(weight, v3);
  }
  HWY_INLINE void Store(D d, float* row) const {
    const std::size_t n = hn::Lanes(d);
    hn::StoreU(v0, d, row);
    if constexpr (kWide > 1) hn::StoreU(v1, d, row + n);
    if constexpr (kWide > 2) hn::StoreU(v2, d, row + 2 * n);
    if constexpr (kWide > 3) hn::StoreU(v3, d, row + 3 * n);
  }
};

// Calls body(integral constant W, first channel) so that W vectors at a time cover `padded`
// channels.
template <class Body>
HWY_INLINE void ForChannelGroups(std::size_t padded, Body&& body) {
  const std::size_t n = hn::Lanes(Lanes8());
  std::size_t c = 0;
  for (; c + 4 * n <= padded; c += 4 * n) body(std::integral_constant<int, 4>(), c);
  if (c + 3 * n <= padded) {
    body(std::integral_constant<int, 3>(), c);
    c += 3 * n;
  }
  if (c + 2 * n <= padded) {
    body(std::integral_constant<int, 2>(), c);
    c += 2 * n;
  }
  for (; c < padded; c += n) body(std::integral_constant<int, 1>(), c);
}

// Floors of the coordinates, and the residuals: multiples of 2^-22 below 1, exact in single
// precision.
void SplitCoordinates(const double* feature, int d, LocatedPoints* out,
                      float (*residual)[kLocateBlock]) {
  const hn::ScalableTag<double> wide;
  const hn::Rebind<std::int32_t, decltype(wide)> integers;
  const hn::Rebind<float, decltype(wide)> floats;
  for (std::size_t p = 0; p < kLocateBlock; p += hn::Lanes(wide)) {
    const auto split = [&](hn::Vec<decltype(wide)> e, int i) {
      const auto cell = hn::Floor(e);
      hn::StoreU(hn::DemoteTo(integers, cell), integers, out->cell[i] + p);
      hn::StoreU(hn::DemoteTo(floats, hn::Sub(e, cell)), floats, residual[i] + p);
    };
    auto sum = hn::Zero(wide);
    for (int i = d; i > 0; --i) {
      const auto f = hn::LoadU(wide, feature + (i - 1) * kLocateBlock + p);
      split(hn::Sub(sum, hn::Mul(hn::Set(wide, static_cast<double>(i)), f)), i);
      sum = hn::Add(sum, f);
    }
    split(sum, 0);
  }
}

// Ranks, the shift into the plane, and barycentric coordinates. kD is d, or 0 if unknown at compile
// time: loops of known length keep everything in registers.
template <int kD>
HWY_INLINE void RankCoordinates(int some_d, const float (*residual)[kLocateBlock],
                                LocatedPoints* out) {
  constexpr std::size_t kCorners = kD > 0 ? kD + 1 : kMaxCorners;
  const int d = kD > 0 ? kD : some_d;
  const hn::ScalableTag<float> floats;
  const hn::RebindToSigned<decltype(floats)> integers;
  const auto one = hn::Set(integers, 1);
  const auto zero = hn::Zero(floats);
  for (std::size_t p = 0; p < kLocateBlock; p += hn::Lanes(floats)) {
    hn::Vec<decltype(floats)> r[kCorners];
    hn::Vec<decltype(integers)> rank[kCorners];
    auto excess = hn::Zero(integers);
    for (int i = 0; i <= d; ++i) {
      r[i] = hn::LoadU(floats, residual[i] + p);
      excess = hn::Add(excess, hn::LoadU(integers, out->cell[i] + p));
    }
    for (int i = 0; i <= d; ++i) rank[i] = excess;
    for (int i = 0; i < d; ++i) {
      for (int j = i + 1; j <= d; ++j) {
        const auto below = hn::VecFromMask(integers, hn::RebindMask(integers, hn::Lt(r[i], r[j])));
        rank[i] = hn::Sub(rank[i], below);  // a mask is -1
        rank[j] = hn::Add(rank[j], hn::Add(one, below));
      }
    }
    for (int i = 0; i <= d; ++i) {
      const auto low = hn::VecFromMask(integers, hn::Lt(rank[i], hn::Zero(integers)));
      const auto high = hn::VecFromMask(integers, hn::Gt(rank[i], hn::Set(integers, d)));
      const auto shift = hn::Sub(high, low);
      const auto turn = hn::And(hn::Or(low, high), hn::Set(integers, d + 1));
      rank[i] = hn::Add(rank[i], hn::IfThenElse(hn::MaskFromVec(high), hn::Neg(turn), turn));
      hn::StoreU(rank[i], integers, out->rank[i] + p);
      hn::StoreU(hn::Add(hn::LoadU(integers, out->cell[i] + p), shift), integers, out->cell[i] + p);
      r[i] = hn::Sub(r[i], hn::ConvertTo(floats, shift));
    }
    for (int i = 1; i <= d; ++i) {  // descending
      for (int j = i; j > 0; --j) {
        const auto larger = hn::Max(r[j - 1], r[j]);
        r[j] = hn::Min(r[j - 1], r[j]);
        r[j - 1] = larger;
      }
    }
    hn::StoreU(hn::Max(zero, hn::Sub(hn::Add(hn::Set(floats, 1.0F), r[d]), r[0])), floats,
               out->weight[0] + p);
    for (int k = 1; k <= d; ++k)
      hn::StoreU(hn::Max(zero, hn::Sub(r[d - k], r[d + 1 - k])), floats, out->weight[k] + p);
  }
}

void MarkRepeats(int d, LocatedPoints* out) {
  const hn::ScalableTag<std::int32_t> integers;
  const std::size_t n = hn::Lanes(integers);
  for (std::size_t next = 1; next < kLocateBlock; next += n) {
    const std::size_t p = std::min(next, kLocateBlock - n);
    auto same = hn::Set(integers, 1);
    for (int i = 0; i <= d; ++i) {
      for (const std::int32_t* row : {out->cell[i], out->rank[i]}) {
        const auto equal = hn::Eq(hn::LoadU(integers, row + p), hn::LoadU(integers, row + p - 1));
        same = hn::IfThenElseZero(equal, same);
      }
    }
    hn::StoreU(same, integers, out->repeats + p);
  }
  out->repeats[0] = 0;
}

void Locate(const double* feature, int d, LocatedPoints* out) {
  HWY_ALIGN float residual[kMaxCorners][kLocateBlock];
  SplitCoordinates(feature, d, out, residual);
  switch (d) {
    case 2:
      RankCoordinates<2>(d, residual, out);
      break;
    case 3:
      RankCoordinates<3>(d, residual, out);
      break;
    case 5:
      RankCoordinates<5>(d, residual, out);
      break;
    default:
      RankCoordinates<0>(d, residual, out);
  }
  MarkRepeats(d, out);
}

// A row that may be read in whole vectors: the row itself, or a copy near the end of the memory.
HWY_INLINE const float* ReadableRow(const RowsView& x, std::size_t row, std::size_t channel,
                                    std::size_t channels, std::size_t group, float* copy) {
  const float* source = x.data + row * x.stride + channel;
  if (HWY_LIKELY(row < x.readable)) return source;
  for (std::size_t c = 0; c < group; ++c) copy[c] = channel + c < channels ? source[c] : 0.0F;
  return copy;
}

void SplatGather(const RowsView& x, std::size_t channels, const std::uint32_t* begin,
                 const SplatEntry* entry, std::size_t first, std::size_t last, float* z) {
  const Lanes8 d;
  const std::size_t padded = PaddedChannels(channels);
  HWY_ALIGN float copy[4 * kLatticeLanes];
  for (std::size_t v = first; v < last; ++v) {
    ForChannelGroups(padded, [&](auto wide, std::size_t c) HWY_ATTR {
      Sums<wide(), Lanes8> sums(d);
      for (std::size_t k = begin[v]; k < begin[v + 1]; ++k) {
        // Lists of consecutive vertices are contiguous: prefetch beyond the end of this one.
        __builtin_prefetch(x.data + entry[k + kLatticeLanes].pixel * x.stride + c);
        const float* row = ReadableRow(x, entry[k].pixel, c, channels, wide() * hn::Lanes(d), copy);
        sums.AddRow(d, hn::Set(d, entry[k].weight), row);
      }
      sums.Store(d, z + v * padded + c);
    });
  }
}

// Calls body(integral constant) with the number of corners if it is a common one, else 0.
template <class Body>
HWY_INLINE void WithCorners(std::size_t corners, Body&& body) {
  switch (corners) {
    case 3:  // position
      return body(std::integral_constant<std::size_t, 3>());
    case 6:  // position and three colours
      return body(std::integral_constant<std::size_t, 6>());
    default:
      return body(std::integral_constant<std::size_t, 0>());
  }
}

void SplatScatter(const RowsView& x, std::size_t channels, const PixelCorners& pixels,
                  std::size_t first, std::size_t last, float* z) {
  const Lanes8 d;
  const std::size_t padded = PaddedChannels(channels);
  HWY_ALIGN float copy[4 * kLatticeLanes];
  WithCorners(pixels.corners, [&](auto known) HWY_ATTR {
    const std::size_t corners = known() == 0 ? pixels.corners : known();
    ForChannelGroups(padded, [&](auto wide, std::size_t c) HWY_ATTR {
      for (std::size_t a = first; a < last; ++a) {
        const std::uint32_t* vertex = pixels.simplex_vertex + pixels.simplex_of[a] * corners;
        const float* weight = pixels.weight + a * corners;
        const Sums<wide(), Lanes8> source(
            d, ReadableRow(x, a, c, channels, wide() * hn::Lanes(d), copy));
        for (std::size_t i = 0; i < corners; ++i) {
          float* row = z + vertex[i] * padded + c;
          Sums<wide(), Lanes8> scaled(d, row);
          scaled.AddScaled(hn::Set(d, weight[i]), source);
          scaled.Store(d, row);
        }
      }
    });
  });
}

void Blur(const BlurPass& pass, const float* in, std::size_t padded, std::size_t first,
          std::size_t last, float* out) {
  const Lanes8 d;
  for (std::size_t v = first; v < last; ++v) {
    const std::size_t begin = pass.begin[v];
    const std::size_t end = pass.begin[v + 1];
    const float centre = pass.centre - pass.per_present * static_cast<float>(end - begin);
    ForChannelGroups(padded, [&](auto wide, std::size_t c) HWY_ATTR {
      Sums<wide(), Lanes8> sums(d);
      for (std::size_t k = begin; k < end; ++k) {
        sums.AddRow(d, in + pass.neighbour[k] * padded + c);
      }
      sums.Scale(hn::Set(d, pass.move));
      sums.AddRow(d, hn::Set(d, centre), in + v * padded + c);
      sums.Store(d, out + v * padded + c);
    });
  }
}

void Slice(const float* z, std::size_t z_stride, std::size_t channels, const PixelCorners& pixels,
           const float* self, const RowsView& x, float factor, std::size_t first, std::size_t last,
           float* out, std::size_t out_stride) {
  const Lanes8 d;
  const std::size_t padded = PaddedChannels(channels);
  HWY_ALIGN float copy[4 * kLatticeLanes];
  HWY_ALIGN float sliced[4 * kLatticeLanes];
  for (std::size_t a = first; a < last; ++a) {
    const std::uint32_t* vertex = pixels.simplex_vertex + pixels.simplex_of[a] * pixels.corners;
    const float* weight = pixels.weight + a * pixels.corners;
    ForChannelGroups(padded, [&](auto wide, std::size_t c) HWY_ATTR {
      const std::size_t group = wide() * hn::Lanes(d);
      Sums<wide(), Lanes8> sums(d);
      if (self != nullptr) {
        sums.AddRow(d, hn::Set(d, -self[a]), ReadableRow(x, a, c, channels, group, copy));
      }
      for (std::size_t i = 0; i < pixels.corners; ++i) {
        sums.AddRow(d, hn::Set(d, weight[i]), z + vertex[i] * z_stride + c);
      }
      sums.Store(d, sliced);
      const std::size_t count = HWY_MIN(group, channels - HWY_MIN(channels, c));
      float* row = out + a * out_stride + c;
      std::size_t k = 0;
      for (; k + hn::Lanes(d) <= count; k += hn::Lanes(d)) {
        hn::StoreU(hn::MulAdd(hn::Set(d, factor), hn::LoadU(d, sliced + k), hn::LoadU(d, row + k)),
                   d, row + k);
      }
      if (k == count) return;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
      const auto rest = hn::FirstN(d, count - k);
      const auto before = hn::MaskedLoad(rest, d, row + k);
      hn::BlendedStore(hn::MulAdd(hn::Set(d, factor), hn::LoadU(d, sliced + k), before), rest, d,
                       row + k);
#else
      for (; k < count; ++k) row[k] += factor * sliced[k];
#endif
    });
  }
}

void SliceOnto(const float* z, std::size_t padded, const PixelCorners& pixels,
               const SliceBase& onto, std::size_t count, float* out) {
  const Lanes8 d;
  WithCorners(pixels.corners, [&](auto known) HWY_ATTR {
    const std::size_t corners = known() == 0 ? pixels.corners : known();
    ForChannelGroups(padded, [&](auto wide, std::size_t c) HWY_ATTR {
      for (std::size_t a = 0; a < count; ++a) {
        const std::uint32_t* vertex = pixels.simplex_vertex + pixels.simplex_of[a] * corners;
        const float* weight = pixels.weight + a * corners;
        Sums<wide(), Lanes8> sums(d, onto.base + a * onto.base_stride + c);
        if (onto.self != nullptr) {
          sums.AddRow(d, hn::Set(d, -onto.self_factor * onto.self[a]),
                      onto.x + a * onto.x_stride + c);
        }
        for (std::size_t i = 0; i < corners; ++i) {
          sums.AddRow(d, hn::Set(d, weight[i]), z + vertex[i] * padded + c);
        }
        sums.Store(d, out + a * padded + c);
      }
    });
  });
}

bool Level(const float* v, std::size_t n, const float* node, const float* slope, std::size_t cells,
           std::size_t padded, float* s) {
  bool any = false;
  const auto columns = [&](auto d, std::size_t i) HWY_ATTR {
    const auto zero = hn::Zero(d);
    const auto one = hn::Set(d, 1.0F);
    const auto value = hn::LoadU(d, v + i);
    auto sum = zero;
    if (!hn::AllFalse(d, hn::Gt(value, hn::LoadU(d, node + i)))) {
      any = true;
      for (std::size_t k = 0; k < cells; ++k) {
        const auto part = hn::Mul(hn::Sub(value, hn::LoadU(d, node + k * padded + i)),
                                  hn::LoadU(d, slope + k * padded + i));
        sum = hn::Add(sum, hn::Min(hn::Max(part, zero), one));
      }
    }
    hn::StoreU(sum, d, s + i);
  };
  const Lanes8 wide;
  std::size_t i = 0;
  for (; i + hn::Lanes(wide) <= n; i += hn::Lanes(wide)) columns(wide, i);
  for (; i < n; ++i) columns(hn::CappedTag<float, 1>(), i);
  return any;
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace submarine::internal {

HWY_EXPORT(Locate);
HWY_EXPORT(SplatGather);
HWY_EXPORT(SplatScatter);
HWY_EXPORT(Blur);
HWY_EXPORT(Slice);
HWY_EXPORT(SliceOnto);
HWY_EXPORT(Level);

void LocatePoints(const double* feature, int d, LocatedPoints* out) {
  HWY_DYNAMIC_DISPATCH(Locate)(feature, d, out);
}

void SplatToVertices(const RowsView& x, std::size_t channels, const std::uint32_t* begin,
                     const SplatEntry* entry, std::size_t first, std::size_t last, float* z) {
  HWY_DYNAMIC_DISPATCH(SplatGather)(x, channels, begin, entry, first, last, z);
}

void SplatFromPixels(const RowsView& x, std::size_t channels, const PixelCorners& pixels,
                     std::size_t first, std::size_t last, float* z) {
  HWY_DYNAMIC_DISPATCH(SplatScatter)(x, channels, pixels, first, last, z);
}

void BlurVertices(const BlurPass& pass, const float* in, std::size_t padded, std::size_t first,
                  std::size_t last, float* out) {
  HWY_DYNAMIC_DISPATCH(Blur)(pass, in, padded, first, last, out);
}

void SliceToPixels(const float* z, std::size_t z_stride, std::size_t channels,
                   const PixelCorners& pixels, const float* self, const RowsView& x, float factor,
                   std::size_t first, std::size_t last, float* out, std::size_t out_stride) {
  HWY_DYNAMIC_DISPATCH(Slice)
  (z, z_stride, channels, pixels, self, x, factor, first, last, out, out_stride);
}

void SliceOnto(const float* z, std::size_t padded, const PixelCorners& pixels,
               const SliceBase& onto, std::size_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(SliceOnto)(z, padded, pixels, onto, count, out);
}

bool LevelRow(const float* v, std::size_t n, const float* node, const float* slope,
              std::size_t cells, std::size_t padded, float* s) {
  return HWY_DYNAMIC_DISPATCH(Level)(v, n, node, slope, cells, padded, s);
}

}  // namespace submarine::internal
#endif  // HWY_ONCE
