// The classic filter in the fast lattice implementation against the slow reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "submarine/filter/classic/axis_lattice.h"
#include "submarine/filter/lattice/lattice.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kMemory = std::size_t{1} << 30;

Matrix<float> Random(std::size_t rows, std::size_t cols, float width, unsigned seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<float> uniform(0.0F, width);
  Matrix<float> matrix(rows, cols);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix.data()[i] = uniform(rng);
  return matrix;
}

float LargestDifference(const Matrix<float>& x, const Matrix<float>& y) {
  float largest = 0.0F;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::max(largest, std::abs(x.data()[i] - y.data()[i]));
  return largest;
}

// Few vertices per variable, and many: spreading has separate code for each.
TEST(LatticeClassicTest, ProductsAreThoseOfTheSlowTwin) {
  for (const float width : {2.0F, 60.0F}) {
    for (std::size_t d = 1; d <= AxisLattice::kMaxDimension; ++d) {
      const Matrix<float> features = Random(3000, d, width, 10 + static_cast<unsigned>(d));
      const Matrix<float> x = Random(3000, 5, 1.0F, 3);
      Matrix<float> expected(3000, 5);
      const AxisLattice twin(features);
      twin.AddProduct(x, 0.7F, &expected);
      const auto fast = LatticeOperator::MakeClassic(features, false, kMemory);
      EXPECT_EQ(fast->lattice().num_vertices, twin.num_vertices());
      Matrix<float> product(3000, 5);
      fast->AddProductWithSelf(x, 0.7F, &product);
      const float scale = *std::max_element(expected.data(), expected.data() + expected.size());
      // Sums of up to 3000 terms; features quantized to 2^-22 cells move weights by as much.
      EXPECT_LE(LargestDifference(product, expected), 1e-5F * scale) << "d " << d << " " << width;
      // The tables were swapped and hold leftovers of other products.
      Matrix<float> other(3000, 9);
      fast->AddProductWithSelf(Random(3000, 9, 1.0F, 4), 1.0F, &other);
      Matrix<float> again(3000, 5);
      fast->AddProductWithSelf(x, 0.7F, &again);
      EXPECT_EQ(again, product) << "d " << d << " " << width;
    }
  }
}

TEST(LatticeClassicTest, RowSumsAreTheProductWithOnes) {
  for (const float width : {2.0F, 60.0F}) {
    for (std::size_t d = 1; d <= AxisLattice::kMaxDimension; ++d) {
      const auto op = LatticeOperator::MakeClassic(
          Random(3000, d, width, 20 + static_cast<unsigned>(d)), false, kMemory);
      Matrix<float> product(3000, 1);
      op->AddProductWithSelf(Matrix<float>(3000, 1, 1.0F), 1.0F, &product);
      for (std::size_t a = 0; a < 3000; ++a)
        ASSERT_NEAR(op->RowSums()[a], product(a, 0), 1e-5F * product(a, 0))
            << "d " << d << " " << width;
    }
  }
}

TEST(LatticeClassicTest, NormalisationStandsOnBothSides) {
  for (const float width : {2.0F, 60.0F}) {
    const Matrix<float> features = Random(500, 3, width, 5);
    const auto plain = LatticeOperator::MakeClassic(features, false, kMemory);
    const auto normalised = LatticeOperator::MakeClassic(features, true, kMemory);
    const std::vector<float>& sums = plain->RowSums();
    Matrix<float> x = Random(500, 4, 1.0F, 6);
    Matrix<float> product(500, 4);
    normalised->AddProductWithSelf(x, 1.0F, &product);
    for (std::size_t a = 0; a < 500; ++a)
      for (float& value : x.row(a)) value /= std::sqrt(sums[a]);
    Matrix<float> expected(500, 4);
    plain->AddProductWithSelf(x, 1.0F, &expected);
    for (std::size_t a = 0; a < 500; ++a)
      for (float& value : expected.row(a)) value /= std::sqrt(sums[a]);
    EXPECT_LE(LargestDifference(product, expected), 2e-6F) << width;
  }
}

TEST(LatticeClassicTest, HasNoFlows) {
  const auto op = LatticeOperator::MakeClassic(Random(20, 2, 2.0F, 1), true, kMemory);
  const Matrix<float> x(20, 1);
  Matrix<float> out(20, 1);
  EXPECT_THROW(op->AddFlow(x, FlowShape::kClip, 1.0F, &out), std::logic_error);
  EXPECT_THROW(op->TotalVariation(x), std::logic_error);
  EXPECT_THROW(op->Diagonal(), std::logic_error);
}

}  // namespace
}  // namespace submarine::internal
