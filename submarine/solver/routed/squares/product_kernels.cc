#include "submarine/base/fixed_width_simd.h"  // must come before everything of Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "submarine/solver/routed/squares/product_kernels.cc"
#include <hwy/foreach_target.h>  // must come before highway.h
// clang-format off
#include <hwy/highway.h>
#include "submarine/solver/routed/squares/exponential-inl.h"
// clang-format on

#include "submarine/solver/routed/squares/product_kernels.h"

#ifndef SUBMARINE_PRODUCT_KERNELS_ONCE
#define SUBMARINE_PRODUCT_KERNELS_ONCE
namespace submarine::internal {

constexpr std::size_t kSide = kRoutingBlock;
constexpr std::size_t kMargin = static_cast<std::size_t>(kMaxBandwidth);
constexpr std::size_t kSpan = kSide + 2 * kMargin;

// Of the positions of a block, with kMargin more at either side.
struct ProductFactors {
  alignas(64) float log_value[kSpan];
  alignas(64) float value[kSpan];  // scale exp(-|f - c|^2 / 2), c the other block's centre
  // x = f - centre of its own block; 0 beyond the block.
  alignas(64) float offset[kMaxFeatureDimension][kSide + kMargin];
};

// Which edges of a block are routed over the other one, 1 or 0, of edges from position r - k on at (m - 1, r), and how many
// routes each position of the block takes part in.
struct ProductEdges {
  alignas(64) float routed[kMaxBandwidth][kSide + kMargin];
  alignas(64) float count[kSide];
};

// Sums over a block: of its values, first and second moments; of_routes: each times the number of routes.
struct ProductMoments {
  float sum;
  float first[kMaxFeatureDimension];
  float second[kMaxFeatureDimension][kMaxFeatureDimension];
  float of_routes;
  float first_of_routes[kMaxFeatureDimension];
};

}  // namespace submarine::internal
#endif

HWY_BEFORE_NAMESPACE();
namespace submarine::internal {
namespace HWY_NAMESPACE {

void FindFactors(const ReorderedKernel& kernel, std::size_t block, std::size_t other,
                 ProductFactors* factors) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t dimension = kernel.dimension;
  const std::size_t first = kRoom + block * kSide - kMargin;
  const float* centre = kernel.centre.data() + other * dimension;
  const float* own = kernel.centre.data() + block * dimension;
  for (std::size_t n = 0; n < kSpan; n += lanes) {
    Vec squared = hn::Zero(d);
    for (std::size_t k = 0; k < dimension; ++k) {
      const Vec f = hn::LoadU(d, kernel.coordinates.data() + k * kernel.stride + first + n);
      const Vec apart = hn::Sub(f, hn::Set(d, centre[k]));
      squared = hn::MulAdd(apart, apart, squared);
      if (n >= kMargin && n < kMargin + kSide)
        hn::Store(hn::Sub(f, hn::Set(d, own[k])), d, factors->offset[k] + n - kMargin);
    }
    const Vec log_value =
        hn::NegMulAdd(hn::Set(d, 0.5F), squared, hn::LoadU(d, kernel.log_scale.data() + first + n));
    hn::Store(log_value, d, factors->log_value + n);
    hn::Store(Exponential(d, log_value), d, factors->value + n);
  }
  for (std::size_t k = 0; k < dimension; ++k) {
    for (std::size_t n = kSide; n < kSide + kMargin; n += lanes)
      hn::Store(hn::Zero(d), d, factors->offset[k] + n);
  }
}

void FindEdges(const RoutingLayout& layout, std::size_t block, std::size_t over,
               ProductEdges* edges) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t k = layout.bandwidth;
  const std::size_t first = kRoom + block * kSide - k;
  alignas(64) float distance[kSpan + kMargin] = {};
  for (std::size_t n = 0; n < kSide + 2 * k && !layout.z.empty(); n += lanes) {
    Vec sum = hn::Zero(d);
    for (std::size_t c = 0; c < layout.length.size(); ++c) {
      const Vec apart = hn::Sub(hn::LoadU(d, layout.z.data() + c * layout.stride + first + n),
                                hn::Set(d, layout.mean_z[c * layout.num_blocks + over]));
      sum = hn::MulAdd(hn::Set(d, layout.length[c]), hn::Abs(apart), sum);
    }
    hn::Store(sum, d, distance + n);
  }
  const Vec one = hn::Set(d, 1.0F);
  for (std::size_t m = 1; m <= k; ++m) {
    const float* limit = layout.threshold.data() + (m - 1) * layout.stride + first;
    for (std::size_t n = 0; n < kSide + k; n += lanes) {
      const Vec both = hn::Add(hn::Load(d, distance + n), hn::LoadU(d, distance + n + m));
      const Vec routed = hn::IfThenElseZero(hn::Lt(both, hn::LoadU(d, limit + n)), one);
      hn::Store(routed, d, edges->routed[m - 1] + n);
    }
  }
  for (std::size_t n = 0; n < kSide; n += lanes) {
    Vec count = hn::Zero(d);
    for (std::size_t m = 1; m <= k; ++m) {
      const float* routed = edges->routed[m - 1] + k + n;
      count = hn::Add(count, hn::Add(hn::LoadU(d, routed), hn::LoadU(d, routed - m)));
    }
    hn::Store(count, d, edges->count + n);
  }
}

void FindMoments(const ProductFactors& factors, const ProductEdges& edges, std::size_t dimension,
                 float scale, ProductMoments* moments) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const auto sum = [&](const auto& term) HWY_ATTR {
    Vec total = hn::Zero(d);
    for (std::size_t n = 0; n < kSide; n += lanes) total = hn::Add(total, term(n));
    return hn::GetLane(hn::SumOfLanes(d, total));
  };
  alignas(64) float value[kSide];
  alignas(64) float of_routes[kSide];
  for (std::size_t n = 0; n < kSide; n += lanes) {
    const Vec v = hn::Mul(hn::Set(d, scale), hn::LoadU(d, factors.value + kMargin + n));
    hn::Store(v, d, value + n);
    hn::Store(hn::Mul(v, hn::Load(d, edges.count + n)), d, of_routes + n);
  }
  moments->sum = sum([&](std::size_t n) HWY_ATTR { return hn::Load(d, value + n); });
  moments->of_routes = sum([&](std::size_t n) HWY_ATTR { return hn::Load(d, of_routes + n); });
  for (std::size_t k = 0; k < dimension; ++k) {
    const float* x = factors.offset[k];
    alignas(64) float moved[kSide];
    for (std::size_t n = 0; n < kSide; n += lanes)
      hn::Store(hn::Mul(hn::Load(d, value + n), hn::Load(d, x + n)), d, moved + n);
    moments->first[k] = sum([&](std::size_t n) HWY_ATTR { return hn::Load(d, moved + n); });
    moments->first_of_routes[k] = sum([&](std::size_t n) HWY_ATTR {
      return hn::Mul(hn::Load(d, of_routes + n), hn::Load(d, x + n));
    });
    for (std::size_t e = 0; e <= k; ++e) {
      const float* other = factors.offset[e];
      moments->second[k][e] = moments->second[e][k] = sum([&](std::size_t n) HWY_ATTR {
        return hn::Mul(hn::Load(d, moved + n), hn::Load(d, other + n));
      });
    }
  }
}

// all: G of each position of the block, 0 beyond it; left: what routing leaves of it.
void SumWeights(const ProductFactors& factors, const ProductMoments& moments,
                const ProductEdges& edges, std::size_t dimension, float part, float* all,
                float* left) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const Vec own_part = hn::Set(d, part);
  for (std::size_t n = 0; n < kSide; n += lanes) {
    Vec sum = hn::Set(d, moments.sum);
    Vec of_routes = hn::Set(d, moments.of_routes);
    for (std::size_t k = 0; k < dimension; ++k) {
      const Vec x = hn::Load(d, factors.offset[k] + n);
      sum = hn::MulAdd(x, hn::Set(d, moments.first[k]), sum);
      of_routes = hn::MulAdd(x, hn::Set(d, moments.first_of_routes[k]), of_routes);
    }
    const Vec value = hn::LoadU(d, factors.value + kMargin + n);
    sum = hn::Mul(sum, value);
    hn::Store(sum, d, all + n);
    // sum (1 - part n) - part of_routes value
    Vec rest = hn::NegMulAdd(hn::Mul(own_part, hn::Load(d, edges.count + n)), sum, sum);
    rest = hn::NegMulAdd(hn::Mul(own_part, of_routes), value, rest);
    hn::Store(hn::Max(rest, hn::Zero(d)), d, left + n);
  }
  for (std::size_t n = kSide; n < kSide + kMargin; n += lanes) hn::Store(hn::Zero(d), d, all + n);
}

void FindGains(const ReorderedKernel& kernel, const RoutingLayout& layout, std::size_t block,
               std::size_t other, float cross, const ProductFactors& factors,
               const ProductMoments& moments, const ProductEdges& edges, const float* all,
               float (*gain)[kSide]) {
  const Wide d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t dimension = kernel.dimension;
  const Vec zero = hn::Zero(d);
  const Vec one = hn::Set(d, 1.0F);
  const Vec radius = hn::Set(d, kernel.radius[other]);
  const Vec whole = hn::Set(d, moments.sum);
  for (std::size_t m = 1; m <= layout.bandwidth; ++m) {
    for (std::size_t n = 0; n < kSide; n += lanes) {
      const float* logs = factors.log_value + kMargin + n;
      const Vec log_first = hn::LoadU(d, logs);
      const Vec log_second = hn::LoadU(d, logs + m);
      const auto beyond = hn::Ge(hn::Iota(d, static_cast<float>(n + m)), hn::Set(d, kSide));
      const auto first = hn::Or(beyond, hn::Le(log_first, log_second));
      const Vec sign = hn::IfThenElse(first, one, hn::Neg(one));
      const Vec l = hn::Mul(sign, hn::Sub(log_second, log_first));
      Vec step[kMaxFeatureDimension];
      Vec squared = zero;
      Vec along = zero;
      for (std::size_t k = 0; k < dimension; ++k) {
        const float* f = kernel.coordinates.data() + k * kernel.stride + kRoom + block * kSide + n;
        step[k] = hn::Mul(sign, hn::Sub(hn::LoadU(d, f + m), hn::LoadU(d, f)));
        squared = hn::MulAdd(step[k], step[k], squared);
        along = hn::MulAdd(step[k], hn::Set(d, moments.first[k]), along);
      }
      Vec at_own = zero;   // x M2 (f_b - f_a), x that of a
      Vec at_step = zero;  // (f_b - f_a) M2 (f_b - f_a)
      for (std::size_t k = 0; k < dimension; ++k) {
        Vec turned = zero;
        for (std::size_t e = 0; e < dimension; ++e)
          turned = hn::MulAdd(hn::Set(d, moments.second[k][e]), step[e], turned);
        const float* x = factors.offset[k] + n;
        at_own =
            hn::MulAdd(turned, hn::IfThenElse(first, hn::LoadU(d, x), hn::LoadU(d, x + m)), at_own);
        at_step = hn::MulAdd(turned, step[k], at_step);
      }
      const float* values = factors.value + kMargin + n;
      const Vec value = hn::IfThenElse(first, hn::LoadU(d, values), hn::LoadU(d, values + m));
      const Vec of_first = hn::LoadU(d, all + n);
      const Vec of_second = hn::LoadU(d, all + n + m);
      const Vec g = hn::IfThenElse(first, of_first, of_second);
      const Vec mean = hn::MulAdd(l, g, hn::Mul(value, hn::Add(along, at_own)));
      const Vec squares = hn::MulAdd(l, hn::MulAdd(l, whole, hn::Add(along, along)), at_step);
      const Vec of_squares = hn::Mul(hn::Mul(value, hn::Set(d, 1.0F + cross)), squares);
      const Vec spread = hn::Sqrt(hn::Max(zero, hn::Mul(of_squares, g)));
      const Vec straddling = hn::MulAdd(hn::Set(d, 0.5F), hn::Sub(mean, spread), g);
      const Vec reach = hn::Mul(radius, hn::Sqrt(squared));
      const Vec of_other = hn::IfThenElse(first, of_second, of_first);
      const Vec same = hn::IfThenElse(hn::Ge(l, reach), g,
                                      hn::IfThenElseZero(hn::Le(l, hn::Neg(reach)), of_other));
      const Vec most = hn::Max(zero, hn::Max(straddling, same));
      const Vec routed = hn::LoadU(d, edges.routed[m - 1] + layout.bandwidth + n);
      hn::Store(hn::Mul(hn::Mul(hn::Set(d, layout.part), routed), most), d, gain[m - 1] + n);
    }
  }
}

void RouteProduct(const ReorderedKernel& kernel, const RoutingLayout& layout, std::size_t row,
                  std::size_t column, ProductRoutes* routes) {
  const std::size_t dimension = kernel.dimension;
  ProductFactors of_rows;
  ProductFactors of_columns;
  FindFactors(kernel, row, column, &of_rows);
  FindFactors(kernel, column, row, &of_columns);
  ProductEdges row_edges;
  ProductEdges column_edges;
  FindEdges(layout, row, column, &row_edges);
  FindEdges(layout, column, row, &column_edges);
  const float scale = kernel.CentreScale(row, column);
  const float cross = kernel.LargestCross(row, column);
  alignas(64) float all[kSide + kMargin];
  ProductMoments moments;
  FindMoments(of_columns, column_edges, dimension, scale, &moments);
  SumWeights(of_rows, moments, row_edges, dimension, layout.part, all, routes->row_left);
  FindGains(kernel, layout, row, column, cross, of_rows, moments, row_edges, all, routes->row_gain);
  FindMoments(of_rows, row_edges, dimension, scale, &moments);
  SumWeights(of_columns, moments, column_edges, dimension, layout.part, all, routes->column_left);
  FindGains(kernel, layout, column, row, cross, of_columns, moments, column_edges, all,
            routes->column_gain);
}

void FlowSquare(const ResidualBlock& left, float factor, std::size_t cuts, std::size_t stride,
                const float* v, float* flow) {
  const Wide d;
  const hn::RebindToUnsigned<Wide> du;
  const hn::Rebind<std::uint16_t, Wide> dh;
  const std::size_t lanes = hn::Lanes(d);
  const auto weight = [&](const std::uint16_t* w) HWY_ATTR {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(dh, w))));
  };
  for (std::size_t c = 0; c < cuts; ++c) {
    const std::size_t row = c * stride + left.row * kSide;
    const std::size_t column = c * stride + left.column * kSide;
    Vec of_rows = hn::Zero(d);
    Vec of_columns = hn::Zero(d);
    for (std::size_t n = 0; n < kSide; n += lanes) {
      of_rows = hn::MulAdd(weight(left.of_row + n), hn::LoadU(d, v + row + n), of_rows);
      of_columns = hn::MulAdd(weight(left.of_column + n), hn::LoadU(d, v + column + n), of_columns);
    }
    const Vec apart =
        hn::SumOfLanes(d, hn::Sub(hn::Mul(of_rows, hn::Set(d, left.over_rows)),
                                  hn::Mul(of_columns, hn::Set(d, left.over_columns))));
    const Vec q =
        hn::Mul(hn::Set(d, factor), hn::Max(hn::Set(d, -1.0F), hn::Min(hn::Set(d, 1.0F), apart)));
    for (std::size_t n = 0; n < kSide; n += lanes) {
      float* of_row = flow + row + n;
      float* of_column = flow + column + n;
      hn::StoreU(hn::MulAdd(q, weight(left.of_row + n), hn::LoadU(d, of_row)), d, of_row);
      hn::StoreU(hn::NegMulAdd(q, weight(left.of_column + n), hn::LoadU(d, of_column)), d,
                 of_column);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace submarine::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <bit>
#include <numeric>

namespace submarine::internal {

HWY_EXPORT(RouteProduct);
HWY_EXPORT(FlowSquare);

void RouteProduct(const ReorderedKernel& kernel, const RoutingLayout& layout, std::size_t row,
                  std::size_t column, ProductRoutes* routes) {
  HWY_DYNAMIC_DISPATCH(RouteProduct)(kernel, layout, row, column, routes);
}
void FlowSquare(const ResidualBlock& left, float factor, std::size_t cuts, std::size_t stride,
                const float* v, float* flow) {
  HWY_DYNAMIC_DISPATCH(FlowSquare)(left, factor, cuts, stride, v, flow);
}

std::optional<ResidualBlock> MakeResidualBlock(std::size_t row, std::size_t column,
                                               const float* of_row, const float* of_column) {
  const auto upper_half = [](float value) {
    return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) + 0x8000U) >> 16U);
  };
  const float in_rows = std::accumulate(of_row, of_row + kSide, 0.0F);
  const float in_columns = std::accumulate(of_column, of_column + kSide, 0.0F);
  constexpr float kLeast = 1e-30F;  // one over less may not be finite
  if (!(in_rows > kLeast && in_columns > kLeast)) return std::nullopt;
  ResidualBlock left{static_cast<std::uint32_t>(row),
                     static_cast<std::uint32_t>(column),
                     1.0F / in_rows,
                     1.0F / in_columns,
                     {},
                     {}};
  for (std::size_t i = 0; i < kSide; ++i) {
    left.of_row[i] = upper_half(of_row[i]);
    left.of_column[i] = upper_half(of_column[i]);
  }
  return left;
}

}  // namespace submarine::internal
#endif
