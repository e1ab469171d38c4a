#include <algorithm>
#include <cmath>
#include <iterator>

#include "submarine/base/simd/wide_registers.h"
#include "submarine/bound/verify/dense/routed/routed_products_internal.h"
#include "submarine/filter/kernel/gaussian_kernel.h"

namespace submarine::internal::routed_products {
namespace {

constexpr double kRootRounding = 1e-13;  // more than 64 + dimension^2 ulps

struct Factors {
  alignas(64) double value[kStride];  // scale exp(-|f - c|^2 / 2), c the other block's centre
  alignas(64) double log_value[kStride];
  alignas(64) double x[kMaxFeatureDimension][kStride];  // f - centre of its own block; 0 beyond it
};

struct Moments {
  double sum = 0.0;
  double first[kMaxFeatureDimension] = {};
  double second[kMaxFeatureDimension][kMaxFeatureDimension] = {};
  double of_routes = 0.0;
  double first_of_routes[kMaxFeatureDimension] = {};
};

// Lane by lane: a single sum would wait for every addition.
inline double SumOf(const double* row) {
  double lanes[4] = {};
  for (std::size_t n = 0; n < kSide; n += 4) {
    for (std::size_t k = 0; k < 4; ++k) lanes[k] += row[n + k];
  }
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

void FindFactors(const Square& square, const Block& block, const Block& other, Factors* factors) {
  alignas(64) double squared[kStride];
  routed_rows::SquaredRow(block.features, square.stride, square.dimension, other.centre, kStride,
                          squared);
  routed_rows::WeightRow(squared, block.scale, 1.0, 1.0, kStride, factors->value);
  // Between positions where there is no edge these may be anything finite.
  for (std::size_t n = 0; n < kStride; ++n)
    factors->log_value[n] = block.log_scale[n] - 0.5 * squared[n];
  for (std::size_t d = 0; d < square.dimension; ++d) {
    const double* f = block.features + d * square.stride;
    std::fill_n(factors->x[d], kStride, 0.0);
    for (std::size_t n = kHalo; n < kHalo + kSide; ++n) factors->x[d][n] = f[n] - block.centre[d];
  }
}

SUBMARINE_FOR_WIDE_REGISTERS void FindMoments(const Square& square, const Block& block,
                                              const Factors& factors, double scale,
                                              Moments* __restrict moments) {
  alignas(64) double value[kSide];
  alignas(64) double of_routes[kSide];
  alignas(64) double moved[kSide];
  alignas(64) double product[kSide];
  for (std::size_t n = 0; n < kSide; ++n) {
    value[n] = scale * factors.value[kHalo + n];
    of_routes[n] = block.count[n] * value[n];
  }
  moments->sum = SumOf(value);
  moments->of_routes = SumOf(of_routes);
  for (std::size_t d = 0; d < square.dimension; ++d) {
    const double* x = factors.x[d] + kHalo;
    for (std::size_t n = 0; n < kSide; ++n) moved[n] = value[n] * x[n];
    moments->first[d] = SumOf(moved);
    for (std::size_t n = 0; n < kSide; ++n) product[n] = of_routes[n] * x[n];
    moments->first_of_routes[d] = SumOf(product);
    for (std::size_t e = 0; e <= d; ++e) {
      const double* y = factors.x[e] + kHalo;
      for (std::size_t n = 0; n < kSide; ++n) product[n] = moved[n] * y[n];
      moments->second[d][e] = moments->second[e][d] = SumOf(product);
    }
  }
}

// g: the weight of each position, 0 beyond the block.
SUBMARINE_FOR_WIDE_REGISTERS void SumWeights(const Square& square, const Block& block,
                                             const Factors& factors, const Moments& moments,
                                             double* __restrict g, double* __restrict left) {
  alignas(64) double of_routes[kSide];
  for (std::size_t n = 0; n < kSide + kHalo; ++n) g[n] = 0.0;
  for (std::size_t n = 0; n < kSide; ++n) {
    g[n] = moments.sum;
    of_routes[n] = moments.of_routes;
  }
  for (std::size_t d = 0; d < square.dimension; ++d) {
    const double* x = factors.x[d] + kHalo;
    const double first = moments.first[d];
    const double first_of_routes = moments.first_of_routes[d];
    for (std::size_t n = 0; n < kSide; ++n) {
      g[n] += x[n] * first;
      of_routes[n] += x[n] * first_of_routes;
    }
  }
  for (std::size_t n = 0; n < kSide; ++n) {
    const double value = factors.value[kHalo + n];
    const double whole = g[n] * value;
    g[n] = whole > 0.0 ? whole : 0.0;
    const double rest = g[n] - square.part * (block.count[n] * g[n] + of_routes[n] * value);
    left[n] = rest > 0.0 ? rest : 0.0;
  }
}

// Of the edges to the m-th position after each, seen from one end of each: `forward` is 1 where that is the first.
SUBMARINE_FOR_WIDE_REGISTERS void FindGainsOf(const Square& square, const Block& block,
                                              const Block& other, const Factors& factors,
                                              const Moments& moments, std::size_t m,
                                              const double* __restrict g, double* __restrict gain) {
  alignas(64) double forward[kSide];
  alignas(64) double step[kMaxFeatureDimension][kSide];  // f_b - f_a
  alignas(64) double turned[kSide];
  alignas(64) double squared[kSide];
  alignas(64) double along[kSide];    // (f_b - f_a).M
  alignas(64) double at_own[kSide];   // x_a M2 (f_b - f_a)
  alignas(64) double at_step[kSide];  // (f_b - f_a) M2 (f_b - f_a)
  const double* log_value = factors.log_value + kHalo;
  const double* value = factors.value + kHalo;
  for (std::size_t n = 0; n < kSide; ++n) {
    forward[n] = log_value[n] <= log_value[n + m] ? 1.0 : 0.0;
    squared[n] = along[n] = at_own[n] = at_step[n] = 0.0;
  }
  // Of an edge that leaves the block, only the first end's weights are known.
  for (std::size_t n = kSide - m; n < kSide; ++n) forward[n] = 1.0;
  for (std::size_t d = 0; d < square.dimension; ++d) {
    const double* f = block.features + d * square.stride + kHalo;
    const double first = moments.first[d];
    for (std::size_t n = 0; n < kSide; ++n) {
      const double apart = (2.0 * forward[n] - 1.0) * (f[n + m] - f[n]);
      step[d][n] = apart;
      squared[n] += apart * apart;
      along[n] += apart * first;
    }
  }
  for (std::size_t d = 0; d < square.dimension; ++d) {
    std::fill(std::begin(turned), std::end(turned), 0.0);
    for (std::size_t e = 0; e < square.dimension; ++e) {
      const double second = moments.second[d][e];
      for (std::size_t n = 0; n < kSide; ++n) turned[n] += second * step[e][n];
    }
    const double* x = factors.x[d] + kHalo;
    for (std::size_t n = 0; n < kSide; ++n) {
      at_own[n] += turned[n] * (forward[n] * x[n] + (1.0 - forward[n]) * x[n + m]);
      at_step[n] += turned[n] * step[d][n];
    }
  }
  const double* edge = block.edge[m - 1] + kHalo;
  const double radius = other.radius;
  const double inflated = 1.0 + square.cross;
  const double whole = moments.sum;
  double second_sum = 0.0;
  for (std::size_t d = 0; d < square.dimension; ++d) second_sum += moments.second[d][d];
  // One choice per loop: compilers vectorise these.
  alignas(64) double of_own[kSide];
  alignas(64) double of_other[kSide];  // 0 beyond the block
  alignas(64) double l[kSide];
  alignas(64) double straddling[kSide];
  alignas(64) double spread[kSide];
  alignas(64) double reach[kSide];
  alignas(64) double above[kSide];
  alignas(64) double below[kSide];
  for (std::size_t n = 0; n < kSide; ++n) {
    const double to = forward[n];
    const double from = 1.0 - to;
    const double own = to * value[n] + from * value[n + m];
    of_own[n] = to * g[n] + from * g[n + m];
    of_other[n] = to * g[n + m] + from * g[n];
    l[n] = (2.0 * to - 1.0) * (log_value[n + m] - log_value[n]);
    straddling[n] = of_own[n] + 0.5 * (l[n] * of_own[n] + own * (along[n] + at_own[n]));
    const double terms = l[n] * l[n] * whole;
    const double mixed = 2.0 * l[n] * along[n];
    // The sum may cancel, and the root of what rounding leaves of it is far more than a rounding.
    const double rounding = kRootRounding * (terms + std::abs(mixed) + squared[n] * second_sum);
    spread[n] = own * inflated * (terms + mixed + at_step[n] + rounding);
    reach[n] = radius * std::sqrt(squared[n]);
  }
  for (double& squares : spread) squares = squares < 0.0 ? 0.0 : squares;
  for (std::size_t n = 0; n < kSide; ++n)
    straddling[n] -= 0.5 * (std::sqrt(spread[n]) * std::sqrt(of_own[n]));
  for (std::size_t n = 0; n < kSide; ++n)
    straddling[n] = straddling[n] > of_own[n] ? of_own[n] : straddling[n];
  for (std::size_t n = 0; n < kSide; ++n) above[n] = l[n] >= reach[n] ? of_own[n] : 0.0;
  for (std::size_t n = 0; n < kSide; ++n) below[n] = -l[n] >= reach[n] ? of_other[n] : 0.0;
  for (std::size_t n = 0; n < kSide; ++n) above[n] = above[n] > below[n] ? above[n] : below[n];
  for (std::size_t n = 0; n < kSide; ++n)
    above[n] = straddling[n] > above[n] ? straddling[n] : above[n];
  for (std::size_t n = 0; n < kSide; ++n) gain[n] = square.part * edge[n] * above[n];
}

void FindGains(const Square& square, const Block& block, const Block& other, const Factors& factors,
               const Moments& moments, const double* g, double (*gain)[kSide]) {
  for (std::size_t m = 1; m <= square.bandwidth; ++m) {
    const double* edge = block.edge[m - 1] + kHalo;
    if (std::all_of(edge, edge + kSide, [](double routed) { return routed == 0.0; })) {
      std::fill_n(gain[m - 1], kSide, 0.0);
    } else {
      FindGainsOf(square, block, other, factors, moments, m, g, gain[m - 1]);
    }
  }
}

void SumSide(const Square& square, const Block& block, const Block& other, const Factors& factors,
             const Factors& of_other, double scale, Result* result) {
  Moments moments;
  FindMoments(square, other, of_other, scale, &moments);
  alignas(64) double g[kSide + kHalo];
  SumWeights(square, block, factors, moments, g, result->left);
  FindGains(square, block, other, factors, moments, g, result->gain);
}

}  // namespace

double SumProducts(const Square& square, const Block& rows, const Block& columns, Result* of_rows,
                   Result* of_columns) {
  Factors row_factors;
  Factors column_factors;
  FindFactors(square, rows, columns, &row_factors);
  FindFactors(square, columns, rows, &column_factors);
  double apart = 0.0;
  for (std::size_t d = 0; d < square.dimension; ++d)
    apart += (rows.centre[d] - columns.centre[d]) * (rows.centre[d] - columns.centre[d]);
  const double scale = square.factor * std::exp(0.5 * apart);
  SumSide(square, rows, columns, row_factors, column_factors, scale, of_rows);
  SumSide(square, columns, rows, column_factors, row_factors, scale, of_columns);
  return scale * SumOf(row_factors.value + kHalo) * SumOf(column_factors.value + kHalo);
}

}  // namespace submarine::internal::routed_products
