#include "submarine/filter/kernel/grid_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "submarine/filter/kernel/brute_force.h"

namespace submarine::internal {
namespace {

struct Grid {
  std::array<int, 3> sides;  // x, y, z
  std::array<double, 3> sigmas;
};

GaussianKernel KernelOf(const Grid& grid) {
  GaussianKernel kernel;
  kernel.name = "position";
  const auto& [nx, ny, nz] = grid.sides;
  kernel.features = Matrix<double>(static_cast<std::size_t>(nx * ny * nz), 3);
  std::size_t a = 0;
  for (int z = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x, ++a) {
        kernel.features(a, 0) = (x - 0.5 * nx) / grid.sigmas[0];
        kernel.features(a, 1) = (y - 0.5 * ny) / grid.sigmas[1];
        kernel.features(a, 2) = (z - 0.5 * nz) / grid.sigmas[2];
      }
    }
  }
  return kernel;
}

Matrix<float> RandomRows(std::size_t rows, std::size_t columns, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> draw(0.0F, 1.0F);
  Matrix<float> x(rows, columns);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = draw(rng);
  return x;
}

// The slow twin: every pair, by definition.
TEST(GridOperator, AgreesWithEveryPair) {
  unsigned seed = 0;
  for (const Grid& grid : {Grid{{7, 5, 9}, {1.0, 1.0, 1.0}}, Grid{{40, 1, 3}, {0.7, 2.0, 1.3}},
                           Grid{{3, 4, 45}, {1.9, 0.4, 1.6}}, Grid{{2, 1, 1}, {1.0, 1.0, 1.0}},
                           Grid{{11, 9, 1}, {2.0, 0.1, 1.0}}}) {
    for (const bool scaled : {false, true}) {
      GaussianKernel kernel = KernelOf(grid);
      if (scaled) {
        const Matrix<float> r = RandomRows(kernel.size(), 1, ++seed);
        kernel.scale.assign(r.data(), r.data() + r.size());
      }
      const auto op = GridOperator::Make(kernel);
      ASSERT_NE(op, nullptr);
      const WeightedKernel one{&kernel, 1.0};
      const BruteForceOperator slow({&one, 1});
      const Matrix<float> x = RandomRows(kernel.size(), 3, ++seed);
      Matrix<float> expected(kernel.size(), 3, 0.25F);
      Matrix<float> found = expected;
      slow.AddProduct(x, -1.5F, &expected);
      op->AddProduct(x, -1.5F, &found);
      // Four standard deviations leave out some 1e-4 of a row along each axis.
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found.data()[i], expected.data()[i], 4e-3) << i;
      const std::vector<float> slow_sums = slow.RowSumsWithSelf();
      const std::vector<float> sums = op->RowSumsWithSelf();
      for (std::size_t a = 0; a < sums.size(); ++a)
        EXPECT_NEAR(sums[a], slow_sums[a], 4e-3 * slow_sums[a] + 1e-5) << a;
    }
  }
}

TEST(GridOperator, NormalisesByItsOwnRowSums) {
  GaussianKernel kernel = KernelOf({{6, 7, 8}, {1.0, 1.5, 0.8}});
  const std::vector<float> sums = GridOperator::Make(kernel)->RowSumsWithSelf();
  kernel.normalisation = KernelNormalisation::kSymmetric;
  const std::unique_ptr<GridOperator> op = GridOperator::Make(kernel);
  const std::vector<float>& scale = op->scale();
  for (std::size_t a = 0; a < sums.size(); ++a)
    EXPECT_NEAR(scale[a] * scale[a] * sums[a], 1.0F, 1e-6F);
}

TEST(GridOperator, IsForNarrowKernelsOfGrids) {
  EXPECT_EQ(GridOperator::Make(KernelOf({{30, 4, 4}, {2.5, 1.0, 1.0}})), nullptr);
  EXPECT_NE(GridOperator::Make(KernelOf({{4, 4, 4}, {50.0, 1.0, 1.0}})), nullptr);  // few taps
  GaussianKernel kernel = KernelOf({{5, 5, 5}, {1.0, 1.0, 1.0}});
  kernel.features(77, 1) += 0.01;
  EXPECT_EQ(GridOperator::Make(kernel), nullptr);
  kernel = KernelOf({{5, 5, 5}, {1.0, 1.0, 1.0}});
  kernel.features.row(3)[0] = kernel.features.row(0)[0];
  EXPECT_EQ(GridOperator::Make(kernel), nullptr);
  GaussianKernel same;
  same.features = Matrix<double>(10, 3, 1.0);
  EXPECT_EQ(GridOperator::Make(same), nullptr);
  GaussianKernel flat;
  flat.features = Matrix<double>(10, 2, 1.0);
  EXPECT_EQ(GridOperator::Make(flat), nullptr);
}

}  // namespace
}  // namespace submarine::internal
