#include "submarine/solver/routed/squares/tile_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace submarine::internal {
namespace {

// The plain forms, which the kernels are compared with.
namespace scalar {

void GaussianTile(const float* coordinates, std::size_t stride, std::size_t dimension,
                  const float* scale, std::ptrdiff_t first_row, std::ptrdiff_t first_column,
                  int bandwidth, Tile* tile) {
  const std::ptrdiff_t side = static_cast<std::ptrdiff_t>(kTile) + 2 * bandwidth;
  for (std::ptrdiff_t r = 0; r < side; ++r) {
    for (std::ptrdiff_t c = 0; c < side; ++c) {
      const std::ptrdiff_t p = first_row - bandwidth + r;
      const std::ptrdiff_t q = first_column - bandwidth + c;
      float squared = 0.0F;
      for (std::size_t k = 0; k < dimension; ++k) {
        const float difference = coordinates[k * stride + q] - coordinates[k * stride + p];
        squared += difference * difference;
      }
      tile->value[r * kTileStride + c] =
          p == q ? 0.0F : scale[p] * scale[q] * std::exp(-0.5F * squared);
    }
  }
}

void DistanceTile(const float* z, std::size_t stride, std::size_t cuts, const float* length,
                  std::ptrdiff_t first_row, std::ptrdiff_t first_column, int bandwidth,
                  Tile* tile) {
  const std::ptrdiff_t side = static_cast<std::ptrdiff_t>(kTile) + 2 * bandwidth;
  for (std::ptrdiff_t r = 0; r < side; ++r) {
    for (std::ptrdiff_t c = 0; c < side; ++c) {
      float sum = 0.0F;
      for (std::size_t k = 0; k < cuts; ++k) {
        sum += length[k] * std::abs(z[k * stride + first_row - bandwidth + r] -
                                    z[k * stride + first_column - bandwidth + c]);
      }
      tile->value[r * kTileStride + c] = sum;
    }
  }
}

void RouteTile(const Tile& weights, const TileRule& rule, float part, int bandwidth,
               TileRoutes* routes) {
  const std::ptrdiff_t k = bandwidth;
  const auto tile = static_cast<std::ptrdiff_t>(kTile);
  const auto at = [&](const Tile& t, std::ptrdiff_t i, std::ptrdiff_t j) {
    return t.value[(i + k) * static_cast<std::ptrdiff_t>(kTileStride) + j + k];
  };
  // Over the pair (i, j), for the edge whose other end has the pair (i2, j2).
  const auto routed = [&](std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t i2, std::ptrdiff_t j2,
                          float threshold) {
    const bool routes_here =
        rule.distance == nullptr
            ? threshold > 0.0F
            : at(*rule.distance, i, j) + at(*rule.distance, i2, j2) < threshold;
    return routes_here ? part * std::min(at(weights, i, j), at(weights, i2, j2)) : 0.0F;
  };
  for (std::ptrdiff_t i = 0; i < tile; ++i) {
    for (std::ptrdiff_t j = 0; j < tile; ++j) {
      float left = at(weights, i, j);
      for (std::ptrdiff_t m = 1; m <= k; ++m) {
        const float* row_limit = rule.row_limit[m - 1] + k;
        const float* column_limit = rule.column_limit[m - 1] + k;
        const float down = routed(i, j, i + m, j, row_limit[i]);
        const float up = routed(i, j, i - m, j, row_limit[i - m]);
        const float right = routed(i, j, i, j + m, column_limit[j]);
        const float before = routed(i, j, i, j - m, column_limit[j - m]);
        left -= down + up + right + before;
        routes->row_gain[(m - 1) * tile + i] += down;
        routes->column_gain[(m - 1) * tile + j] += right;
      }
      routes->residual[i * tile + j] += left;
    }
  }
}

void FlowTile(const std::uint16_t* weights, float factor, const float* v_row, const float* v_column,
              float* row, float* column) {
  for (std::size_t i = 0; i < kTile; ++i) {
    for (std::size_t j = 0; j < kTile; ++j) {
      const float w = std::bit_cast<float>(std::uint32_t{weights[i * kTile + j]} << 16);
      const float flow = w * std::clamp(v_row[i] - v_column[j], -1.0F, 1.0F);
      row[i] += factor * flow;
      column[j] -= factor * flow;
    }
  }
}

}  // namespace scalar

class TileKernelsTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kRoom = kTileStride;
  static constexpr std::size_t kPositions = 3 * kTile;
  static constexpr std::size_t kWidth = kPositions + 2 * kRoom;

  float Real(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(rng_);
  }
  std::vector<float> Row(std::size_t rows, float low, float high) {
    std::vector<float> values(rows * kWidth, 0.0F);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t p = 0; p < kPositions; ++p) values[r * kWidth + kRoom + p] = Real(low, high);
    }
    return values;
  }
  static std::size_t Side(int bandwidth) { return kTile + 2 * static_cast<std::size_t>(bandwidth); }

  std::mt19937 rng_{7};
};

TEST_F(TileKernelsTest, GaussiansAndDistancesAreThoseOfTheScalarTwins) {
  for (const int bandwidth : {1, 2, 3, 5, 8}) {
    for (const std::size_t column : {std::size_t{32}, std::size_t{64}}) {
      const std::vector<float> f = Row(5, -3.0F, 3.0F);
      const std::vector<float> scale = Row(1, 0.1F, 2.0F);
      Tile fast;
      Tile slow;
      const auto at = static_cast<std::ptrdiff_t>(column);
      GaussianTile(f.data() + kRoom, kWidth, 5, scale.data() + kRoom, 32, at, bandwidth, &fast);
      scalar::GaussianTile(f.data() + kRoom, kWidth, 5, scale.data() + kRoom, 32, at, bandwidth,
                           &slow);
      const std::vector<float> z = Row(3, 0.0F, 1.0F);
      const float length[] = {0.5F, 1.0F, 2.0F};
      Tile fast_d;
      Tile slow_d;
      DistanceTile(z.data() + kRoom, kWidth, 3, length, 32, at, bandwidth, &fast_d);
      scalar::DistanceTile(z.data() + kRoom, kWidth, 3, length, 32, at, bandwidth, &slow_d);
      for (std::size_t r = 0; r < Side(bandwidth); ++r) {
        for (std::size_t c = 0; c < Side(bandwidth); ++c) {
          const std::size_t n = r * kTileStride + c;
          // exp of up to -90 turns roundings of its argument into 90 ulps.
          ASSERT_NEAR(fast.value[n], slow.value[n], 1e-4F * slow.value[n] + 1e-36F);
          ASSERT_NEAR(fast_d.value[n], slow_d.value[n], 1e-6F);
        }
      }
    }
  }
}

TEST_F(TileKernelsTest, RoutesAreThoseOfTheScalarTwin) {
  for (const int bandwidth : {1, 2, 3, 5, 8}) {
    for (const bool everywhere : {true, false}) {
      Tile weights;
      Tile distance;
      for (float& w : weights.value) w = Real(0.0F, 1.0F);
      for (float& d : distance.value) d = Real(0.0F, 1.0F);
      TileRule rule;
      if (!everywhere) rule.distance = &distance;
      for (auto* limits : {rule.row_limit, rule.column_limit}) {
        for (int m = 0; m < bandwidth; ++m) {
          for (float& limit : limits[m])
            limit = Real(0.0F, 1.0F) < 0.1F ? -std::numeric_limits<float>::infinity()
                                            : Real(0.5F, 1.5F);
        }
      }
      TileRoutes fast{};
      TileRoutes slow{};
      const float part = 0.25F / static_cast<float>(bandwidth);
      RouteTile(weights, rule, part, bandwidth, &fast);
      scalar::RouteTile(weights, rule, part, bandwidth, &slow);
      for (std::size_t n = 0; n < kTile * kTile; ++n) {
        ASSERT_NEAR(fast.residual[n], slow.residual[n], 1e-6F);
        ASSERT_GE(slow.residual[n], -1e-6F);  // no pair spends more than it has
      }
      for (std::size_t n = 0; n < static_cast<std::size_t>(bandwidth) * kTile; ++n) {
        ASSERT_NEAR(fast.row_gain[n], slow.row_gain[n], 1e-5F);
        ASSERT_NEAR(fast.column_gain[n], slow.column_gain[n], 1e-5F);
      }
    }
  }
}

TEST_F(TileKernelsTest, FlowsAreThoseOfTheScalarTwin) {
  std::vector<std::uint16_t> weights(kTile * kTile);
  for (std::uint16_t& w : weights) w = static_cast<std::uint16_t>(0x3000 + rng_() % 0x1000);
  std::vector<float> v(2 * kTile);
  for (float& x : v) x = Real(-2.0F, 2.0F);
  for (const bool diagonal : {false, true}) {
    std::vector<float> fast(2 * kTile, 1.0F);
    std::vector<float> slow(2 * kTile, 1.0F);
    const std::size_t column = diagonal ? 0 : kTile;
    const float factor = diagonal ? 1.0F : 2.5F;
    FlowTile(weights.data(), factor, v.data(), v.data() + column, fast.data(),
             fast.data() + column);
    scalar::FlowTile(weights.data(), factor, v.data(), v.data() + column, slow.data(),
                     slow.data() + column);
    for (std::size_t n = 0; n < fast.size(); ++n) ASSERT_NEAR(fast[n], slow[n], 1e-4F);
  }
}

}  // namespace
}  // namespace submarine::internal
