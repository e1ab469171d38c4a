#include "submarine/filter/lattice/lattice_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "submarine/filter/lattice/lattice_build.h"

namespace submarine::internal {
namespace {

// The plain forms, which the kernels are compared with.
namespace scalar {

void LocatePoints(const double* feature, int d, LocatedPoints* out) {
  for (std::size_t p = 0; p < kLocateBlock; ++p) {
    double e[kMaxCorners];
    double sum = 0.0;
    for (int i = d; i > 0; --i) {
      const double f = feature[(i - 1) * kLocateBlock + p];
      e[i] = sum - i * f;
      sum += f;
    }
    e[0] = sum;
    double cell[kMaxCorners];
    double residual[kMaxCorners];
    int rank[kMaxCorners] = {};
    int excess = 0;  // how far the floor is off the plane: -d..0
    for (int i = 0; i <= d; ++i) {
      cell[i] = std::floor(e[i]);
      residual[i] = e[i] - cell[i];
      excess += static_cast<int>(cell[i]);
    }
    for (int i = 0; i <= d; ++i) {
      for (int j = i + 1; j <= d; ++j) ++rank[residual[i] < residual[j] ? i : j];
    }
    for (int i = 0; i <= d; ++i) {
      rank[i] += excess;
      const int shift = rank[i] < 0 ? 1 : (rank[i] > d ? -1 : 0);
      rank[i] += shift * (d + 1);
      cell[i] += shift;
      out->cell[i][p] = static_cast<std::int32_t>(cell[i]);
      out->rank[i][p] = rank[i];
    }
    // Barycentric coordinates are differences of consecutive sorted residuals.
    float sorted[kMaxCorners] = {};
    for (int i = 0; i <= d; ++i) sorted[rank[i]] = static_cast<float>(e[i] - cell[i]);
    out->weight[0][p] = std::max(0.0F, 1.0F + sorted[d] - sorted[0]);
    for (int r = 1; r <= d; ++r)
      out->weight[r][p] = std::max(0.0F, sorted[d - r] - sorted[d + 1 - r]);
    out->repeats[p] = p == 0 ? 0 : 1;
    for (int i = 0; i <= d && out->repeats[p] != 0; ++i) {
      const bool same =
          out->cell[i][p] == out->cell[i][p - 1] && out->rank[i][p] == out->rank[i][p - 1];
      out->repeats[p] = same ? 1 : 0;
    }
  }
}

void SplatToVertices(const RowsView& x, std::size_t channels, const std::uint32_t* begin,
                     const SplatEntry* entry, std::size_t first, std::size_t last, float* z) {
  const std::size_t padded = PaddedChannels(channels);
  for (std::size_t v = first; v < last; ++v) {
    float* row = z + v * padded;
    std::fill(row, row + padded, 0.0F);
    for (std::size_t k = begin[v]; k < begin[v + 1]; ++k) {
      const float* source = x.data + entry[k].pixel * x.stride;
      for (std::size_t c = 0; c < channels; ++c) row[c] += entry[k].weight * source[c];
    }
  }
}

void SplatFromPixels(const RowsView& x, std::size_t channels, const PixelCorners& pixels,
                     std::size_t first, std::size_t last, float* z) {
  const std::size_t padded = PaddedChannels(channels);
  for (std::size_t a = first; a < last; ++a) {
    const float* source = x.data + a * x.stride;
    const std::uint32_t* vertex = pixels.simplex_vertex + pixels.simplex_of[a] * pixels.corners;
    for (std::size_t i = 0; i < pixels.corners; ++i) {
      const float weight = pixels.weight[a * pixels.corners + i];
      float* row = z + vertex[i] * padded;
      for (std::size_t c = 0; c < channels; ++c) row[c] += weight * source[c];
    }
  }
}

void BlurVertices(const BlurPass& pass, const float* in, std::size_t padded, std::size_t first,
                  std::size_t last, float* out) {
  for (std::size_t v = first; v < last; ++v) {
    const std::size_t begin = pass.begin[v];
    const std::size_t end = pass.begin[v + 1];
    const float centre = pass.centre - pass.per_present * static_cast<float>(end - begin);
    for (std::size_t c = 0; c < padded; ++c) {
      float sum = 0.0F;
      for (std::size_t k = begin; k < end; ++k) sum += in[pass.neighbour[k] * padded + c];
      out[v * padded + c] = centre * in[v * padded + c] + pass.move * sum;
    }
  }
}

void SliceToPixels(const float* z, std::size_t z_stride, std::size_t channels,
                   const PixelCorners& pixels, const float* self, const RowsView& x, float factor,
                   std::size_t first, std::size_t last, float* out, std::size_t out_stride) {
  for (std::size_t a = first; a < last; ++a) {
    const std::uint32_t* vertex = pixels.simplex_vertex + pixels.simplex_of[a] * pixels.corners;
    for (std::size_t c = 0; c < channels; ++c) {
      float sum = self == nullptr ? 0.0F : -self[a] * x.data[a * x.stride + c];
      for (std::size_t i = 0; i < pixels.corners; ++i) {
        sum += pixels.weight[a * pixels.corners + i] * z[vertex[i] * z_stride + c];
      }
      out[a * out_stride + c] += factor * sum;
    }
  }
}

void SliceOnto(const float* z, std::size_t padded, const PixelCorners& pixels,
               const SliceBase& onto, std::size_t count, float* out) {
  for (std::size_t a = 0; a < count; ++a) {
    const std::uint32_t* vertex = pixels.simplex_vertex + pixels.simplex_of[a] * pixels.corners;
    for (std::size_t c = 0; c < padded; ++c) {
      float sum = onto.base[a * onto.base_stride + c];
      if (onto.self != nullptr)
        sum -= onto.self_factor * onto.self[a] * onto.x[a * onto.x_stride + c];
      for (std::size_t i = 0; i < pixels.corners; ++i)
        sum += pixels.weight[a * pixels.corners + i] * z[vertex[i] * padded + c];
      out[a * padded + c] = sum;
    }
  }
}

bool LevelRow(const float* v, std::size_t n, const float* node, const float* slope,
              std::size_t cells, std::size_t padded, float* s) {
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) {
    float sum = 0.0F;
    for (std::size_t k = 0; k < cells; ++k) {
      sum += std::clamp((v[i] - node[k * padded + i]) * slope[k * padded + i], 0.0F, 1.0F);
    }
    s[i] = sum;
    any = any || sum > 0.0F;
  }
  return any;
}

}  // namespace scalar

std::vector<float> RandomFloats(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> values(n);
  for (float& x : values) x = uniform(rng);
  return values;
}

void ExpectClose(const std::vector<float>& x, const std::vector<float>& y, std::size_t stride,
                 std::size_t channels) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (k % stride < channels) {
      ASSERT_NEAR(x[k], y[k], 1e-4) << k;
    }
  }
}

TEST(LatticeKernels, LocatePointsMatchesItsTwinBitForBit) {
  std::mt19937_64 rng(4);
  for (int d = 1; d <= static_cast<int>(kMaxFeatureDimension); ++d) {
    for (const double reach : {0.0, 1.0, 30.0, 5e6}) {
      std::uniform_real_distribution<double> uniform(-reach, reach);
      std::vector<double> feature(static_cast<std::size_t>(d) * kLocateBlock);
      for (double& f : feature) f = uniform(rng);
      // Whole numbers: ties everywhere.
      for (std::size_t k = 0; k < feature.size(); k += 3) feature[k] = std::floor(feature[k]);
      // Runs of equal and of nearly equal points: the same simplex.
      for (std::size_t k = 1; k < feature.size(); ++k) {
        const std::size_t p = k % kLocateBlock;
        if (p % 5 > 2) feature[k] = feature[k - 1] + (p % 5 == 4 ? 1e-7 : 0.0);
      }
      for (double& f : feature) f = QuantizeFeature(f);
      const auto fast = std::make_unique<LocatedPoints>();
      const auto slow = std::make_unique<LocatedPoints>();
      LocatePoints(feature.data(), d, fast.get());
      scalar::LocatePoints(feature.data(), d, slow.get());
      for (int i = 0; i <= d; ++i) {
        for (std::size_t p = 0; p < kLocateBlock; ++p) {
          ASSERT_EQ(fast->cell[i][p], slow->cell[i][p]);
          ASSERT_EQ(fast->rank[i][p], slow->rank[i][p]);
          ASSERT_EQ(fast->weight[i][p], slow->weight[i][p]);
          ASSERT_EQ(fast->repeats[p], slow->repeats[p]);
        }
      }
      EXPECT_GT(std::count(fast->repeats, fast->repeats + kLocateBlock, 1), 0);
      EXPECT_EQ(fast->repeats[0], 0);
      for (std::size_t p = 0; p < kLocateBlock; ++p) {
        std::vector<bool> seen(static_cast<std::size_t>(d + 1), false);
        std::int64_t sum = 0;
        float weights = 0.0F;
        for (int i = 0; i <= d; ++i) {
          const std::int32_t rank = fast->rank[i][p];
          weights += fast->weight[i][p];
          ASSERT_TRUE(rank >= 0 && rank <= d && !seen[static_cast<std::size_t>(rank)]);
          seen[static_cast<std::size_t>(rank)] = true;
          sum += fast->cell[i][p];
        }
        ASSERT_EQ(sum, 0);
        ASSERT_NEAR(weights, 1.0F, 1e-5F);
      }
    }
  }
}

class Kernels : public ::testing::TestWithParam<std::size_t> {
 protected:
  Kernels() {
    std::mt19937_64 rng(6);
    std::uniform_real_distribution<float> uniform(0.0F, 3.0F);
    GaussianKernel kernel;
    kernel.features = Matrix<double>(kPixels, 3);
    for (std::size_t k = 0; k < kernel.features.size(); ++k) {
      kernel.features.data()[k] = uniform(rng);
    }
    lattice_ = BuildLattice(LatticePoints(kernel), MakeLatticeStencil(3, {}), std::size_t{1} << 30);
  }
  static constexpr std::size_t kPixels = 57;
  Lattice lattice_;
};

TEST_P(Kernels, SplatBlurSliceMatchTheirTwins) {
  const std::size_t channels = GetParam();
  const std::size_t padded = PaddedChannels(channels);
  const std::size_t m = lattice_.num_vertices;
  // Exactly as large as it must be: reading past the end is an error that sanitizers see.
  const std::vector<float> x = RandomFloats(kPixels * channels, 1);
  const std::size_t unreadable = (padded - channels + channels - 1) / channels;
  const RowsView rows{x.data(), channels, kPixels - std::min(kPixels, unreadable)};

  const SplatLists lists = BuildSplatLists(lattice_);
  std::vector<float> fast(m * padded, 9.0F);
  std::vector<float> slow(m * padded, 9.0F);
  SplatToVertices(rows, channels, lists.begin.data(), lists.entry.data(), 0, m, fast.data());
  scalar::SplatToVertices(rows, channels, lists.begin.data(), lists.entry.data(), 0, m,
                          slow.data());
  ExpectClose(fast, slow, padded, channels);

  std::vector<float> scattered(m * padded, 0.0F);
  std::vector<float> scattered_slow(m * padded, 0.0F);
  SplatFromPixels(rows, channels, lattice_.pixels(), 0, kPixels, scattered.data());
  scalar::SplatFromPixels(rows, channels, lattice_.pixels(), 0, kPixels, scattered_slow.data());
  ExpectClose(scattered, scattered_slow, padded, channels);
  ExpectClose(scattered, slow, padded, channels);

  const BlurPass pass{lattice_.neighbour_begin.data(), lattice_.neighbour.data(), 0.3F, 0.01F,
                      0.07F};
  std::vector<float> blurred(m * padded);
  std::vector<float> blurred_slow(m * padded);
  BlurVertices(pass, slow.data(), padded, 0, m, blurred.data());
  scalar::BlurVertices(pass, slow.data(), padded, 0, m, blurred_slow.data());
  ExpectClose(blurred, blurred_slow, padded, channels);

  const std::vector<float> self = RandomFloats(kPixels, 2);
  for (const float* diagonal : {self.data(), static_cast<const float*>(nullptr)}) {
    std::vector<float> out = RandomFloats(kPixels * channels, 3);
    std::vector<float> out_slow = out;
    SliceToPixels(blurred_slow.data(), padded, channels, lattice_.pixels(), diagonal, rows, -1.5F,
                  2, kPixels, out.data(), channels);
    scalar::SliceToPixels(blurred_slow.data(), padded, channels, lattice_.pixels(), diagonal, rows,
                          -1.5F, 2, kPixels, out_slow.data(), channels);
    ExpectClose(out, out_slow, channels, channels);
  }
}

TEST_P(Kernels, SliceOntoMatchesItsTwin) {
  const std::size_t padded = PaddedChannels(GetParam());
  const std::size_t stride = GetParam();
  for (const std::size_t d : {1, 2, 3, 5}) {  // corners that are known and that are not
    std::mt19937_64 rng(d);
    std::uniform_real_distribution<float> uniform(0.0F, 3.0F);
    GaussianKernel kernel;
    kernel.features = Matrix<double>(kPixels, d);
    for (std::size_t k = 0; k < kernel.features.size(); ++k)
      kernel.features.data()[k] = uniform(rng);
    const Lattice lattice = BuildLattice(
        LatticePoints(kernel), MakeLatticeStencil(static_cast<int>(d), {}), std::size_t{1} << 30);
    const std::vector<float> z = RandomFloats(lattice.num_vertices * padded, 4);
    const std::vector<float> self = RandomFloats(kPixels, 2);
    // Readable up to the padded channels of the last row, and no further.
    const std::vector<float> base = RandomFloats(kPixels * stride + padded - stride, 5);
    const std::vector<float> x = RandomFloats(kPixels * stride + padded - stride, 6);
    for (const bool with_self : {false, true}) {
      const SliceBase onto{
          base.data() + 2 * stride, stride, with_self ? self.data() : nullptr, -1.5F,
          x.data() + 2 * stride,    stride};
      const std::size_t count = kPixels - 2;
      std::vector<float> fast(count * padded);
      std::vector<float> slow(count * padded);
      SliceOnto(z.data(), padded, lattice.pixels().From(2), onto, count, fast.data());
      scalar::SliceOnto(z.data(), padded, lattice.pixels().From(2), onto, count, slow.data());
      ExpectClose(fast, slow, padded, padded);
      // In place.
      const SliceBase on_itself{fast.data(), padded, nullptr, 0.0F, nullptr, 0};
      const SliceBase on_twin{slow.data(), padded, nullptr, 0.0F, nullptr, 0};
      SliceOnto(z.data(), padded, lattice.pixels(), on_itself, count, fast.data());
      scalar::SliceOnto(z.data(), padded, lattice.pixels(), on_twin, count, slow.data());
      ExpectClose(fast, slow, padded, padded);
    }
  }
}

TEST_P(Kernels, LevelRowMatchesItsTwin) {
  const std::size_t n = GetParam();
  const std::size_t padded = PaddedChannels(n);
  for (const std::size_t cells : {1, 5, 63}) {
    std::vector<float> node(cells * padded);
    std::vector<float> slope(cells * padded, 2.0F);
    for (std::size_t k = 0; k < node.size(); ++k) {
      node[k] = -0.5F + 0.5F * static_cast<float>(k / padded);
    }
    for (const float shift : {-2.0F, 0.0F, 3.0F}) {
      std::vector<float> v = RandomFloats(n, 7);
      for (float& value : v) value += shift;
      std::vector<float> fast(n);
      std::vector<float> slow(n);
      EXPECT_EQ(
          LevelRow(v.data(), n, node.data(), slope.data(), cells, padded, fast.data()),
          scalar::LevelRow(v.data(), n, node.data(), slope.data(), cells, padded, slow.data()));
      ExpectClose(fast, slow, n, n);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Channels, Kernels,
                         ::testing::Values(1, 2, 3, 7, 8, 9, 15, 16, 17, 21, 24, 31, 32, 33, 64,
                                           100));

}  // namespace
}  // namespace submarine::internal
