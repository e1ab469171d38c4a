#include "submarine/filter/lattice_memory.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "submarine/filter/lattice/lattice.h"
#include "submarine/filter/lattice/lattice_parts.h"
#include "submarine/filter/lattice/lattice_reference.h"

namespace submarine::internal {
namespace {

// A picture's position and colour kernel: patches of colours, with noise.
GaussianKernel PictureKernel(int width, int height, double sigma, double colour_sigma,
                             double noise) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0.0, noise);
  GaussianKernel kernel{"picture", Matrix<double>(static_cast<std::size_t>(width) * height, 5)};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::size_t a = static_cast<std::size_t>(y) * width + x;
      kernel.features(a, 0) = x / sigma;
      kernel.features(a, 1) = y / sigma;
      for (std::size_t c = 2; c < 5; ++c) {
        const int patch = (x / 40 + 3 * (y / 40) + 5 * static_cast<int>(c)) % 7;
        kernel.features(a, c) = (30.0 * patch + normal(random)) / colour_sigma;
      }
    }
  }
  return kernel;
}

struct Case {
  const char* name;
  GaussianKernel kernel;
};

// Few vertices for many pixels, about as many, and many more; the last with more pixels than are counted one by one.
std::vector<Case> Cases() {
  return {{"smooth", PictureKernel(240, 200, 20.0, 20.0, 2.0)},
          {"fine", PictureKernel(240, 200, 5.0, 8.0, 4.0)},
          {"noisy", PictureKernel(240, 200, 2.0, 4.0, 20.0)},
          {"large", PictureKernel(700, 500, 20.0, 10.0, 5.0)}};
}

TEST(CountLattice, CountsWhatIsBuilt) {
  for (const auto& [name, kernel] : Cases()) {
    SCOPED_TRACE(name);
    const LatticeOperator op(kernel);
    const LatticeCounts counts = CountLattice(kernel, {});
    const Lattice& lattice = op.lattice();
    EXPECT_EQ(counts.pixels, kernel.size());
    EXPECT_EQ(counts.dimension, 5U);
    EXPECT_EQ(counts.simplices, lattice.simplex_vertex.size() / lattice.corners);
    const auto vertices = static_cast<double>(lattice.num_vertices);
    const SplatParts parts = BuildSplatParts(lattice);
    if (kernel.size() > 300000) {  // an eighth of them was counted: three standard deviations
      EXPECT_NEAR(static_cast<double>(counts.vertices), vertices, 3.0 * std::sqrt(7.0 * vertices));
    } else {
      EXPECT_EQ(counts.vertices, lattice.num_vertices);
      if (!parts.empty()) {
        EXPECT_EQ(counts.part_rows, parts.num_rows());
      }
    }
    EXPECT_GE(counts.chunk_vertices, counts.vertices * 95 / 100);
  }
}

// Compared with the bytes that the operator reports: neighbours are bounded from above, the rest is
// exact.
TEST(LatticeHeldBytes, IsWhatAnOperatorHolds) {
  for (const auto& [name, kernel] : Cases()) {
    for (const std::size_t columns : {4U, 21U}) {
      for (const bool flows : {false, true}) {
        if (columns > 4 && (flows || kernel.size() > 300000)) continue;  // they take long
        SCOPED_TRACE(::testing::Message() << name << ", " << columns << (flows ? " flows" : ""));
        const LatticeOptions options;
        const LatticeOperator op(kernel, options);
        Matrix<float> x(kernel.size(), columns);
        for (std::size_t k = 0; k < x.size(); ++k) x.data()[k] = static_cast<float>(k % 97) / 9.0F;
        Matrix<float> out(kernel.size(), columns);
        op.AddProduct(x, 1.0F, &out);
        if (flows) {
          op.AddFlow(x, FlowShape::kSign, 1.0F, &out);
          op.TotalVariation(x);
        }
        const double estimate =
            LatticeHeldBytes(CountLattice(kernel, options), {columns, flows}, options);
        const auto held = static_cast<double>(op.bytes());
        EXPECT_GE(estimate, 0.95 * held);
        EXPECT_LE(estimate, 1.12 * held);
        EXPECT_GE(LatticeBuildBytes(CountLattice(kernel, options)),
                  static_cast<double>(op.lattice().bytes()));
      }
    }
  }
}

TEST(ReferenceHeldBytes, IsWhatTheReferenceHolds) {
  for (const auto& [name, kernel] : Cases()) {
    if (kernel.size() > 300000) continue;  // it is slow
    SCOPED_TRACE(name);
    const auto held = static_cast<double>(LatticeReference(kernel).bytes());
    EXPECT_NEAR(ReferenceHeldBytes(CountLattice(kernel, {})), held, 0.01 * held);
  }
}

}  // namespace
}  // namespace submarine::internal
