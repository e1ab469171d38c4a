#include "submarine/base/fixed_width_simd.h"  // must come before every Highway header

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "submarine/filter/list/pair_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
// clang-format off
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
#include "submarine/base/simd/compress-inl.h"
// clang-format on

#include <algorithm>
#include <cmath>

#include "submarine/filter/list/pair_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Wide = hn::ScalableTag<float>;
using Vec = hn::Vec<Wide>;

struct Product {
  static HWY_INLINE Vec Term(Vec /*x_a*/, Vec x_b) { return x_b; }
};
struct Clipped {
  static HWY_INLINE Vec Term(Vec x_a, Vec x_b) {
    const Wide d;
    return hn::Max(hn::Min(hn::Sub(x_a, x_b), hn::Set(d, 1.0F)), hn::Set(d, -1.0F));
  }
};
struct Signs {
  static HWY_INLINE Vec Term(Vec x_a, Vec x_b) {
    const Wide d;
    const Vec difference = hn::Sub(x_a, x_b);
    return hn::IfThenElseZero(hn::Ne(difference, hn::Zero(d)),
                              hn::CopySign(hn::Set(d, 1.0F), difference));
  }
};
struct Distances {
  static HWY_INLINE Vec Term(Vec x_a, Vec x_b) { return hn::Abs(hn::Sub(x_a, x_b)); }
};

// The columns of kVectors registers from `first` on, with all sums in registers. Two neighbours per
// iteration: two chains of additions hide each other's latency.
template <class Op, int kVectors>
HWY_INLINE void SumBlock(const NeighbourRow& row, const float* x, const float* x_a,
                         std::size_t columns, std::size_t first, float* out) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  Vec own[kVectors];
  Vec even[kVectors];
  Vec odd[kVectors];
  for (int k = 0; k < kVectors; ++k) {
    own[k] = hn::LoadU(d, x_a + first + static_cast<std::size_t>(k) * lanes);
    even[k] = hn::Zero(d);
    odd[k] = hn::Zero(d);
  }
  std::size_t j = 0;
  for (; j + 2 <= row.count; j += 2) {
    const float* x_b = x + row.neighbour[j] * columns + first;
    const float* x_c = x + row.neighbour[j + 1] * columns + first;
    const Vec w_b = hn::Set(d, row.weight[j]);
    const Vec w_c = hn::Set(d, row.weight[j + 1]);
    for (int k = 0; k < kVectors; ++k) {
      const std::size_t at = static_cast<std::size_t>(k) * lanes;
      even[k] = hn::MulAdd(w_b, Op::Term(own[k], hn::LoadU(d, x_b + at)), even[k]);
      odd[k] = hn::MulAdd(w_c, Op::Term(own[k], hn::LoadU(d, x_c + at)), odd[k]);
    }
  }
  if (j < row.count) {
    const float* x_b = x + row.neighbour[j] * columns + first;
    const Vec w_b = hn::Set(d, row.weight[j]);
    for (int k = 0; k < kVectors; ++k) {
      const std::size_t at = static_cast<std::size_t>(k) * lanes;
      even[k] = hn::MulAdd(w_b, Op::Term(own[k], hn::LoadU(d, x_b + at)), even[k]);
    }
  }
  HWY_ALIGN float sums[static_cast<std::size_t>(kVectors) * hn::MaxLanes(Wide())];
  for (int k = 0; k < kVectors; ++k)
    hn::Store(hn::Add(even[k], odd[k]), d, sums + static_cast<std::size_t>(k) * lanes);
  const std::size_t count = std::min(columns - first, static_cast<std::size_t>(kVectors) * lanes);
  std::copy(sums, sums + count, out + first);
}

template <class Op>
HWY_INLINE void SumRow(const NeighbourRow& row, const float* x, const float* x_a,
                       std::size_t columns, float* out) {
  const std::size_t lanes = hn::Lanes(Wide());
  std::size_t first = 0;
  while (first < columns) {
    const std::size_t vectors = (columns - first + lanes - 1) / lanes;
    if (vectors >= 4) {
      SumBlock<Op, 4>(row, x, x_a, columns, first, out);
      first += 4 * lanes;
    } else if (vectors == 3) {
      SumBlock<Op, 3>(row, x, x_a, columns, first, out);
      first += 3 * lanes;
    } else if (vectors == 2) {
      SumBlock<Op, 2>(row, x, x_a, columns, first, out);
      first += 2 * lanes;
    } else {
      SumBlock<Op, 1>(row, x, x_a, columns, first, out);
      first += lanes;
    }
  }
}

void SumProducts(const NeighbourRow& row, const float* x, std::size_t columns, float* out) {
  SumRow<Product>(row, x, x, columns, out);
}
void SumClipped(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
                float* out) {
  SumRow<Clipped>(row, x, x + a * columns, columns, out);
}
void SumSigns(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
              float* out) {
  SumRow<Signs>(row, x, x + a * columns, columns, out);
}
void SumDistances(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
                  float* out) {
  SumRow<Distances>(row, x, x + a * columns, columns, out);
}

// Every lane does the same operations in the same order, so that k_ab = k_ba exactly however the
// points are grouped into registers.
std::size_t SelectNear(const float* coordinates, std::size_t stride, std::size_t dimension,
                       const float* point, std::size_t count, float cutoff, std::uint32_t* index,
                       float* value) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> du;
  const std::size_t lanes = hn::Lanes(d);
  // Compute exponentials only for points that may be near enough, with a small margin, as the
  // decisive comparison is that of the values.
  const float farthest = -2.0F * std::log(cutoff) + 1e-3F;
  std::size_t found = 0;
  for (std::size_t j = 0; j < count; j += lanes) {
    Vec squared = hn::Zero(d);
    for (std::size_t k = 0; k < dimension; ++k) {
      const Vec difference =
          hn::Sub(hn::LoadU(d, coordinates + k * stride + j), hn::Set(d, point[k]));
      squared = hn::MulAdd(difference, difference, squared);
    }
    const auto present = hn::FirstN(d, count - j);
    if (hn::AllFalse(d, hn::And(present, hn::Le(squared, hn::Set(d, farthest))))) continue;
    const Vec values = hn::Exp(d, hn::Mul(hn::Set(d, -0.5F), squared));
    const auto near = hn::And(present, hn::Ge(values, hn::Set(d, cutoff)));
    StoreCompressed(du, hn::Iota(du, static_cast<std::uint32_t>(j)), hn::RebindMask(du, near),
                    index + found);
    found += StoreCompressed(d, values, near, value + found);
  }
  return found;
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace submarine::internal {

HWY_EXPORT(SumProducts);
HWY_EXPORT(SumClipped);
HWY_EXPORT(SumSigns);
HWY_EXPORT(SumDistances);
HWY_EXPORT(SelectNear);

void SumProducts(const NeighbourRow& row, const float* x, std::size_t columns, float* out) {
  HWY_DYNAMIC_DISPATCH(SumProducts)(row, x, columns, out);
}
void SumClipped(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
                float* out) {
  HWY_DYNAMIC_DISPATCH(SumClipped)(row, x, a, columns, out);
}
void SumSigns(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
              float* out) {
  HWY_DYNAMIC_DISPATCH(SumSigns)(row, x, a, columns, out);
}
void SumDistances(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
                  float* out) {
  HWY_DYNAMIC_DISPATCH(SumDistances)(row, x, a, columns, out);
}
std::size_t SelectNear(const float* coordinates, std::size_t stride, std::size_t dimension,
                       const float* point, std::size_t count, float cutoff, std::uint32_t* index,
                       float* value) {
  return HWY_DYNAMIC_DISPATCH(SelectNear)(coordinates, stride, dimension, point, count, cutoff,
                                          index, value);
}

}  // namespace submarine::internal
#endif
