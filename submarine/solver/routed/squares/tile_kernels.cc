#include "submarine/base/fixed_width_simd.h"  // must come before everything of Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "submarine/solver/routed/squares/tile_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
// clang-format off
#include <hwy/highway.h>
#include "submarine/solver/routed/squares/exponential-inl.h"
// clang-format on

#include "submarine/solver/routed/squares/tile_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

void GaussianTile(const float* coordinates, std::size_t stride, std::size_t dimension,
                  const float* scale, std::ptrdiff_t first_row, std::ptrdiff_t first_column,
                  int bandwidth, Tile* tile) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t side = kTile + 2 * static_cast<std::size_t>(bandwidth);
  const std::ptrdiff_t column0 = first_column - bandwidth;
  for (std::size_t r = 0; r < side; ++r) {
    const std::ptrdiff_t p = first_row - bandwidth + static_cast<std::ptrdiff_t>(r);
    const Vec own_scale = hn::Set(d, scale[p]);
    float* out = tile->value + r * kTileStride;
    for (std::size_t c = 0; c < side; c += lanes) {
      const std::ptrdiff_t q = column0 + static_cast<std::ptrdiff_t>(c);
      Vec squared = hn::Zero(d);
      for (std::size_t k = 0; k < dimension; ++k) {
        const float* coordinate = coordinates + k * stride;
        const Vec difference = hn::Sub(hn::LoadU(d, coordinate + q), hn::Set(d, coordinate[p]));
        squared = hn::MulAdd(difference, difference, squared);
      }
      const Vec value = Exponential(d, hn::Mul(hn::Set(d, -0.5F), squared));
      hn::StoreU(hn::Mul(value, hn::Mul(own_scale, hn::LoadU(d, scale + q))), d, out + c);
    }
    const std::ptrdiff_t own = p - column0;
    if (own >= 0 && own < static_cast<std::ptrdiff_t>(kTileStride)) out[own] = 0.0F;
  }
}

void DistanceTile(const float* z, std::size_t stride, std::size_t cuts, const float* length,
                  std::ptrdiff_t first_row, std::ptrdiff_t first_column, int bandwidth,
                  Tile* tile) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t side = kTile + 2 * static_cast<std::size_t>(bandwidth);
  for (std::size_t r = 0; r < side; ++r) {
    const std::ptrdiff_t p = first_row - bandwidth + static_cast<std::ptrdiff_t>(r);
    float* out = tile->value + r * kTileStride;
    for (std::size_t c = 0; c < side; c += lanes) {
      const std::ptrdiff_t q = first_column - bandwidth + static_cast<std::ptrdiff_t>(c);
      Vec sum = hn::Zero(d);
      for (std::size_t k = 0; k < cuts; ++k) {
        const float* of_cut = z + k * stride;
        sum = hn::MulAdd(hn::Set(d, length[k]),
                         hn::Abs(hn::Sub(hn::LoadU(d, of_cut + q), hn::Set(d, of_cut[p]))), sum);
      }
      hn::StoreU(sum, d, out + c);
    }
  }
}

template <bool kEverywhere>
HWY_INLINE Vec Routed(Wide d, Vec part, const float* w, const float* w_next, const float* distance,
                      const float* distance_next, Vec threshold) {
  const Vec amount = hn::Mul(part, hn::Min(hn::LoadU(d, w), hn::LoadU(d, w_next)));
  if constexpr (kEverywhere) {
    return hn::IfThenElseZero(hn::Gt(threshold, hn::Zero(d)), amount);
  } else {
    const Vec sum = hn::Add(hn::LoadU(d, distance), hn::LoadU(d, distance_next));
    return hn::IfThenElseZero(hn::Lt(sum, threshold), amount);
  }
}

template <bool kEverywhere>
void RouteTileImpl(const Tile& weights, const TileRule& rule, float part_size, int bandwidth,
                   TileRoutes* routes) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const Vec part = hn::Set(d, part_size);
  const auto k = static_cast<std::size_t>(bandwidth);
  const float* w = weights.value;
  const float* distance = kEverywhere ? w : rule.distance->value;
  for (std::size_t i = 0; i < kTile; ++i) {
    const std::size_t row = (i + k) * kTileStride + k;
    float* residual = routes->residual + i * kTile;
    for (std::size_t j = 0; j < kTile; j += lanes)
      hn::Store(hn::Add(hn::Load(d, residual + j), hn::LoadU(d, w + row + j)), d, residual + j);
  }
  for (std::size_t m = 1; m <= k; ++m) {
    // Edges of rows: from (row) to (row + m), rows -m .. kTile - 1.
    for (std::size_t r = k - m; r < k + kTile; ++r) {
      const Vec threshold = hn::Set(d, rule.row_limit[m - 1][r]);
      const std::size_t at = r * kTileStride + k;
      const std::size_t next = at + m * kTileStride;
      const bool first_inside = r >= k;
      const bool second_inside = r + m < k + kTile;
      float* first = routes->residual + (first_inside ? (r - k) * kTile : 0);
      float* second = routes->residual + (second_inside ? (r + m - k) * kTile : 0);
      Vec gain = hn::Zero(d);
      for (std::size_t j = 0; j < kTile; j += lanes) {
        const Vec amount = Routed<kEverywhere>(d, part, w + at + j, w + next + j, distance + at + j,
                                               distance + next + j, threshold);
        gain = hn::Add(gain, amount);
        if (first_inside) hn::Store(hn::Sub(hn::Load(d, first + j), amount), d, first + j);
        if (second_inside) hn::Store(hn::Sub(hn::Load(d, second + j), amount), d, second + j);
      }
      if (first_inside)
        routes->row_gain[(m - 1) * kTile + r - k] += hn::GetLane(hn::SumOfLanes(d, gain));
    }
    // Edges of columns.
    for (std::size_t j = 0; j < kTile; j += lanes) {
      const float* own_limit = rule.column_limit[m - 1] + k + j;
      const Vec threshold = hn::LoadU(d, own_limit);
      const Vec threshold_before = hn::LoadU(d, own_limit - m);
      Vec gain = hn::Load(d, routes->column_gain + (m - 1) * kTile + j);
      for (std::size_t i = 0; i < kTile; ++i) {
        const std::size_t at = (i + k) * kTileStride + k + j;
        const Vec after = Routed<kEverywhere>(d, part, w + at, w + at + m, distance + at,
                                              distance + at + m, threshold);
        const Vec before = Routed<kEverywhere>(d, part, w + at - m, w + at, distance + at - m,
                                               distance + at, threshold_before);
        gain = hn::Add(gain, after);
        float* residual = routes->residual + i * kTile + j;
        hn::Store(hn::Sub(hn::Load(d, residual), hn::Add(after, before)), d, residual);
      }
      hn::Store(gain, d, routes->column_gain + (m - 1) * kTile + j);
    }
  }
}

void RouteTile(const Tile& weights, const TileRule& rule, float part, int bandwidth,
               TileRoutes* routes) {
  if (rule.distance == nullptr) {
    RouteTileImpl<true>(weights, rule, part, bandwidth, routes);
  } else {
    RouteTileImpl<false>(weights, rule, part, bandwidth, routes);
  }
}

void FlowTile(const std::uint16_t* weights, float factor, const float* v_row, const float* v_column,
              float* row, float* column) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> du;
  const hn::Rebind<std::uint16_t, Wide> dh;
  const std::size_t lanes = hn::Lanes(d);
  const Vec one = hn::Set(d, 1.0F);
  const Vec minus_one = hn::Set(d, -1.0F);
  const auto term = [&](const std::uint16_t* w, Vec own, Vec other) HWY_ATTR {
    const Vec weight = hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(dh, w))));
    return hn::Mul(weight, hn::Max(hn::Min(hn::Sub(own, other), one), minus_one));
  };
  // Four registers of columns at a time: one sum across lanes for all of them.
  for (std::size_t j = 0; j < kTile; j += 4 * lanes) {
    const Vec v0 = hn::LoadU(d, v_column + j);
    const Vec v1 = hn::LoadU(d, v_column + j + lanes);
    const Vec v2 = hn::LoadU(d, v_column + j + 2 * lanes);
    const Vec v3 = hn::LoadU(d, v_column + j + 3 * lanes);
    Vec sum0 = hn::Zero(d);
    Vec sum1 = hn::Zero(d);
    Vec sum2 = hn::Zero(d);
    Vec sum3 = hn::Zero(d);
    for (std::size_t i = 0; i < kTile; ++i) {
      const std::uint16_t* w = weights + i * kTile + j;
      const Vec own = hn::Set(d, v_row[i]);
      const Vec f0 = term(w, own, v0);
      const Vec f1 = term(w + lanes, own, v1);
      const Vec f2 = term(w + 2 * lanes, own, v2);
      const Vec f3 = term(w + 3 * lanes, own, v3);
      sum0 = hn::Add(sum0, f0);
      sum1 = hn::Add(sum1, f1);
      sum2 = hn::Add(sum2, f2);
      sum3 = hn::Add(sum3, f3);
      row[i] += factor * hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(f0, f1), hn::Add(f2, f3))));
    }
    const auto subtract = [&](Vec sum, float* out) HWY_ATTR {
      hn::StoreU(hn::NegMulAdd(hn::Set(d, factor), sum, hn::LoadU(d, out)), d, out);
    };
    subtract(sum0, column + j);
    subtract(sum1, column + j + lanes);
    subtract(sum2, column + j + 2 * lanes);
    subtract(sum3, column + j + 3 * lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace submarine::internal {

HWY_EXPORT(GaussianTile);
HWY_EXPORT(DistanceTile);
HWY_EXPORT(RouteTile);
HWY_EXPORT(FlowTile);

void GaussianTile(const float* coordinates, std::size_t stride, std::size_t dimension,
                  const float* scale, std::ptrdiff_t first_row, std::ptrdiff_t first_column,
                  int bandwidth, Tile* tile) {
  HWY_DYNAMIC_DISPATCH(GaussianTile)
  (coordinates, stride, dimension, scale, first_row, first_column, bandwidth, tile);
}
void DistanceTile(const float* z, std::size_t stride, std::size_t cuts, const float* length,
                  std::ptrdiff_t first_row, std::ptrdiff_t first_column, int bandwidth,
                  Tile* tile) {
  HWY_DYNAMIC_DISPATCH(DistanceTile)
  (z, stride, cuts, length, first_row, first_column, bandwidth, tile);
}
void RouteTile(const Tile& weights, const TileRule& rule, float part, int bandwidth,
               TileRoutes* routes) {
  HWY_DYNAMIC_DISPATCH(RouteTile)(weights, rule, part, bandwidth, routes);
}
void FlowTile(const std::uint16_t* weights, float factor, const float* v_row, const float* v_column,
              float* row, float* column) {
  HWY_DYNAMIC_DISPATCH(FlowTile)(weights, factor, v_row, v_column, row, column);
}

}  // namespace submarine::internal
#endif
