#include "submarine/solver/routed/squares/product_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "submarine/solver/routed/squares/product_pairs.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kSide = kRoutingBlock;

// The plain forms, which the kernels are compared with.
namespace scalar {

// One side of a square, pair by pair: the edges of a block over the other one.
class ProductSide {
 public:
  ProductSide(const ReorderedKernel& kernel, const RoutingLayout& layout, std::size_t block,
              std::size_t other)
      : kernel_(kernel), layout_(layout), block_(block), other_(other) {}

  double Feature(std::size_t p, std::size_t d) const {
    return kernel_.coordinates[d * kernel_.stride + kRoom + p];
  }
  double Centre(std::size_t block, std::size_t d) const {
    return kernel_.centre[block * kernel_.dimension + d];
  }
  // log of the kernel between a position and the centre of the other block.
  double LogToCentre(std::size_t p) const {
    double sum = kernel_.log_scale[kRoom + p];
    for (std::size_t d = 0; d < kernel_.dimension; ++d)
      sum -= 0.5 * std::pow(Feature(p, d) - Centre(other_, d), 2);
    return sum;
  }
  double Cross(std::size_t p, std::size_t q) const {
    double sum = 0.0;
    for (std::size_t d = 0; d < kernel_.dimension; ++d)
      sum += (Feature(p, d) - Centre(block_, d)) * (Feature(q, d) - Centre(other_, d));
    return sum;
  }
  bool Routes(std::ptrdiff_t p, std::size_t m) const {
    const double limit =
        layout_.threshold[(m - 1) * layout_.stride +
                          static_cast<std::size_t>(static_cast<std::ptrdiff_t>(kRoom) + p)];
    double distance = 0.0;
    for (std::size_t c = 0; c < layout_.length.size() && !layout_.z.empty(); ++c) {
      const float* z = layout_.z.data() + c * layout_.stride + kRoom + p;
      const float mean = layout_.mean_z[c * layout_.num_blocks + other_];
      distance += layout_.length[c] * (std::abs(z[0] - mean) + std::abs(z[m] - mean));
    }
    return distance < limit;
  }
  double Count(std::size_t p) const {
    double count = 0.0;
    for (std::size_t m = 1; m <= layout_.bandwidth; ++m) {
      count += Routes(static_cast<std::ptrdiff_t>(p), m) ? 1.0 : 0.0;
      count +=
          Routes(static_cast<std::ptrdiff_t>(p) - static_cast<std::ptrdiff_t>(m), m) ? 1.0 : 0.0;
    }
    return count;
  }

 private:
  const ReorderedKernel& kernel_;
  const RoutingLayout& layout_;
  std::size_t block_;
  std::size_t other_;
};

void RouteSide(const ReorderedKernel& kernel, const RoutingLayout& layout, std::size_t block,
               std::size_t other, float* left, float (*gain)[kSide]) {
  const ProductSide rows(kernel, layout, block, other);
  const ProductSide columns(kernel, layout, other, block);
  const double scale = kernel.CentreScale(block, other);
  const double cross = kernel.LargestCross(block, other);
  const auto bare = [&](std::size_t p, std::size_t q) {  // without 1 + x.y
    return scale * std::exp(rows.LogToCentre(p) + columns.LogToCentre(q));
  };
  const auto weight = [&](std::size_t p, std::size_t q) {
    return bare(p, q) * (1.0 + rows.Cross(p, q));
  };
  const std::size_t first = block * kSide;
  const std::size_t other_first = other * kSide;
  std::vector<double> all(kSide, 0.0);
  for (std::size_t i = 0; i < kSide; ++i) {
    double rest = 0.0;
    for (std::size_t j = 0; j < kSide; ++j) {
      const double w = weight(first + i, other_first + j);
      all[i] += w;
      rest += w * (1.0 - layout.part * rows.Count(first + i) -
                   layout.part * columns.Count(other_first + j));
    }
    left[i] = static_cast<float>(std::max(0.0, rest));
  }
  for (std::size_t m = 1; m <= layout.bandwidth; ++m) {
    for (std::size_t i = 0; i < kSide; ++i) {
      gain[m - 1][i] = 0.0F;
      if (!rows.Routes(static_cast<std::ptrdiff_t>(first + i), m)) continue;
      const bool inside = i + m < kSide;
      const double towards = rows.LogToCentre(first + i + m) - rows.LogToCentre(first + i);
      const bool forward = !inside || towards >= 0.0;
      const std::size_t a = forward ? i : i + m;
      const std::size_t b = forward ? i + m : i;
      const double l = std::abs(towards) * (forward && towards < 0.0 ? -1.0 : 1.0);
      double mean = 0.0;
      double squares = 0.0;
      double apart = 0.0;
      for (std::size_t d = 0; d < kernel.dimension; ++d)
        apart += std::pow(rows.Feature(first + a, d) - rows.Feature(first + b, d), 2);
      for (std::size_t j = 0; j < kSide; ++j) {
        const std::size_t q = other_first + j;
        double t = l;
        for (std::size_t d = 0; d < kernel.dimension; ++d) {
          t += (rows.Feature(first + b, d) - rows.Feature(first + a, d)) *
               (rows.Feature(q, d) - rows.Centre(other, d));
        }
        mean += weight(first + a, q) * t;
        squares += (1.0 + cross) * bare(first + a, q) * t * t;
      }
      double most = all[a] + 0.5 * (mean - std::sqrt(all[a] * squares));
      const double reach = static_cast<double>(kernel.radius[other]) * std::sqrt(apart);
      if (l >= reach) most = std::max(most, all[a]);
      if (l <= -reach && inside) most = std::max(most, all[b]);
      gain[m - 1][i] = static_cast<float>(layout.part * std::max(0.0, most));
    }
  }
}

void RouteProduct(const ReorderedKernel& kernel, const RoutingLayout& layout, std::size_t row,
                  std::size_t column, ProductRoutes* routes) {
  RouteSide(kernel, layout, row, column, routes->row_left, routes->row_gain);
  RouteSide(kernel, layout, column, row, routes->column_left, routes->column_gain);
}

void FlowSquare(const ResidualBlock& left, float factor, std::size_t cuts, std::size_t stride,
                const float* v, float* flow) {
  const auto weight = [](std::uint16_t stored) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(stored) << 16U);
  };
  for (std::size_t c = 0; c < cuts; ++c) {
    const std::size_t row = c * stride + left.row * kSide;
    const std::size_t column = c * stride + left.column * kSide;
    float of_rows = 0.0F;
    float of_columns = 0.0F;
    for (std::size_t n = 0; n < kSide; ++n) {
      of_rows += weight(left.of_row[n]) * v[row + n];
      of_columns += weight(left.of_column[n]) * v[column + n];
    }
    const float q =
        factor * std::clamp(of_rows * left.over_rows - of_columns * left.over_columns, -1.0F, 1.0F);
    for (std::size_t n = 0; n < kSide; ++n) {
      flow[row + n] += q * weight(left.of_row[n]);
      flow[column + n] -= q * weight(left.of_column[n]);
    }
  }
}

}  // namespace scalar

class ProductKernelsTest : public ::testing::Test {
 protected:
  double Real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng_);
  }

  // Compact blocks of positions, one after the other.
  DenseCrf Model(std::size_t blocks, std::size_t dimension, double extent, int labels = 3) {
    const std::size_t n = blocks * kSide - 5;
    GaussianKernel kernel{"blocks", Matrix<double>(n, dimension), 0.7};
    kernel.scale.resize(n);
    std::vector<double> centre(dimension);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t d = 0; d < dimension; ++d) {
        if (a % kSide == 0) centre[d] = Real(-0.8, 0.8);
        kernel.features(a, d) = centre[d] + Real(-extent, extent);
      }
      kernel.scale[a] = Real(0.3, 1.5);
    }
    Matrix<float> unary(n, static_cast<std::size_t>(labels), 0.0F);
    return {std::move(unary), {kernel}, PottsLabels(labels)};
  }

  Routing RandomRouting(const DenseCrf& model, int bandwidth, bool everywhere) {
    Routing routing;
    const std::size_t n = model.num_variables();
    routing.paths.order.resize(n);
    std::iota(routing.paths.order.begin(), routing.paths.order.end(), 0U);
    routing.paths.begin = {0, 40};
    routing.paths.bandwidth = bandwidth;
    routing.product_limit = 1.0;
    routing.product_cutoff = 1e-3;
    if (everywhere) return routing;
    routing.z = Matrix<float>(n, static_cast<std::size_t>(model.num_cuts()));
    for (std::size_t k = 0; k < routing.z.size(); ++k)
      routing.z.data()[k] = static_cast<float>(Real(0.0, 1.0));
    routing.threshold = Matrix<float>(n, static_cast<std::size_t>(bandwidth));
    for (std::size_t k = 0; k < routing.threshold.size(); ++k)
      routing.threshold.data()[k] = static_cast<float>(Real(0.3, 1.5));
    return routing;
  }

  std::mt19937 rng_{11};
};

TEST_F(ProductKernelsTest, RoutesAreThoseOfTheScalarTwin) {
  for (const std::size_t dimension : {1, 2, 5}) {
    for (const int bandwidth : {1, 3, 8}) {
      for (const bool everywhere : {true, false}) {
        const DenseCrf model = Model(4, dimension, 0.4);
        const Routing routing = RandomRouting(model, bandwidth, everywhere);
        const std::vector<ReorderedKernel> kernels = ReorderKernels(model, routing.paths);
        const RoutingLayout layout(routing, DistinctCuts(model.labels()));
        for (const std::size_t column : {2, 3}) {
          ASSERT_TRUE(IsProduct(kernels[0], 0, column, 1.0));
          ProductRoutes fast;
          ProductRoutes slow;
          RouteProduct(kernels[0], layout, 0, column, &fast);
          scalar::RouteProduct(kernels[0], layout, 0, column, &slow);
          const float scale = *std::max_element(slow.row_left, slow.row_left + kSide) + 1.0F;
          for (std::size_t n = 0; n < kSide; ++n) {
            ASSERT_NEAR(fast.row_left[n], slow.row_left[n], 1e-5F * scale);
            ASSERT_NEAR(fast.column_left[n], slow.column_left[n], 1e-5F * scale);
            for (int m = 0; m < bandwidth; ++m) {
              ASSERT_NEAR(fast.row_gain[m][n], slow.row_gain[m][n], 2e-4F * scale);
              ASSERT_NEAR(fast.column_gain[m][n], slow.column_gain[m][n], 2e-4F * scale);
            }
          }
        }
      }
    }
  }
}

// What edges gain is no more than what the exact kernels of both ends have in common, and most of it where blocks are
// compact; what is left adds up to the same over rows and columns, and to no more than the weights.
TEST_F(ProductKernelsTest, GainsAndRestAreBoundedByTheKernel) {
  double gained = 0.0;
  double possible = 0.0;
  for (int round = 0; round < 40; ++round) {
    const DenseCrf model = Model(3, 1 + static_cast<std::size_t>(round % 5), Real(0.05, 0.4));
    const Routing routing = RandomRouting(model, 1 + round % 3, true);
    const std::vector<ReorderedKernel> kernels = ReorderKernels(model, routing.paths);
    if (!IsProduct(kernels[0], 0, 2, 1.0)) continue;
    const RoutingLayout layout(routing, DistinctCuts(model.labels()));
    const std::vector<WeightedKernel> weighted = PairWeights(model);
    const GaussianKernel& kernel = *weighted[0].kernel;
    const auto weight = [&](std::size_t a, std::size_t b) {
      return weighted[0].factor * kernel.scale[a] * kernel.scale[b] *
             std::exp(-0.5 * SquaredDistance(kernel, a, b));
    };
    ProductRoutes routes;
    RouteProduct(kernels[0], layout, 0, 2, &routes);
    double rest = 0.0;
    double of_columns = 0.0;
    double all = 0.0;
    const std::size_t last = model.num_variables() - 2 * kSide;
    for (std::size_t i = 0; i < kSide; ++i) {
      rest += routes.row_left[i];
      of_columns += routes.column_left[i];
      for (std::size_t j = 0; j < last; ++j) all += weight(i, 2 * kSide + j);
      for (int m = 1; m <= routing.paths.bandwidth; ++m) {
        double common = 0.0;
        for (std::size_t j = 0; j < last; ++j)
          common += std::min(weight(i, 2 * kSide + j),
                             weight(i + static_cast<std::size_t>(m), 2 * kSide + j));
        const double gain = routes.row_gain[m - 1][i];
        ASSERT_LE(gain, layout.part * common * (1.0 + 1e-5));
        if (i + static_cast<std::size_t>(m) < kSide) {
          gained += gain;
          possible += layout.part * common;
        }
      }
    }
    ASSERT_NEAR(rest, of_columns, 1e-4 * all);
    ASSERT_LE(rest, all * (1.0 + 1e-5));
  }
  EXPECT_GT(gained, 0.9 * possible);
}

TEST_F(ProductKernelsTest, FlowsAreThoseOfTheScalarTwin) {
  for (int round = 0; round < 20; ++round) {
    ResidualBlock left{0, 2, 0.0F, 0.0F, {}, {}};
    float of_rows = 0.0F;
    float of_columns = 0.0F;
    const auto value = [](std::uint16_t stored) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(stored) << 16U);
    };
    for (std::size_t n = 0; n < kSide; ++n) {
      left.of_row[n] = static_cast<std::uint16_t>(0x3C00 + rng_() % 0x400);
      left.of_column[n] = static_cast<std::uint16_t>(0x3C00 + rng_() % 0x400);
      of_rows += value(left.of_row[n]);
      of_columns += value(left.of_column[n]);
    }
    left.over_rows = 1.0F / of_rows;
    left.over_columns = 1.0F / of_columns;
    std::vector<float> v(2 * 3 * kSide);
    for (float& x : v) x = static_cast<float>(Real(-1.5, 1.5));
    std::vector<float> fast(v.size(), 1.0F);
    std::vector<float> slow(v.size(), 1.0F);
    const auto factor = static_cast<float>(Real(0.5, 3.0));
    FlowSquare(left, factor, 2, 3 * kSide, v.data(), fast.data());
    scalar::FlowSquare(left, factor, 2, 3 * kSide, v.data(), slow.data());
    for (std::size_t n = 0; n < v.size(); ++n) ASSERT_NEAR(fast[n], slow[n], 1e-5F);
  }
}

TEST_F(ProductKernelsTest, LooksAtCompactBlocksOnly) {
  const DenseCrf model = Model(4, 2, 0.2);
  const Routing routing = RandomRouting(model, 1, true);
  const std::vector<ReorderedKernel> kernels = ReorderKernels(model, routing.paths);
  EXPECT_EQ(ProductPairs(kernels, model.num_variables(), 1.0, 1e-3).num_squares(), 3U);
  EXPECT_EQ(ProductPairs(kernels, model.num_variables(), 0.0, 1e-3).num_squares(), 0U);
  EXPECT_FALSE(IsProduct(kernels[0], 0, 1, 1.0));  // neighbours
  const DenseCrf wide = Model(4, 2, 3.0);
  EXPECT_EQ(ProductPairs(ReorderKernels(wide, routing.paths), model.num_variables(), 1.0, 1e-3)
                .num_squares(),
            0U);
}

}  // namespace
}  // namespace submarine::internal
