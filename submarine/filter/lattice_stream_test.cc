#include "submarine/filter/lattice_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/filter/kernel/grid_operator.h"
#include "submarine/filter/lattice/lattice.h"
#include "submarine/filter/lattice/lattice_reference.h"
#include "submarine/filter/operator_choice.h"

namespace submarine::internal {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : rng_(seed) {}

  float Real(double low, double high) {
    return static_cast<float>(std::uniform_real_distribution<double>(low, high)(rng_));
  }
  Matrix<float> Values(std::size_t rows, std::size_t columns) {
    Matrix<float> x(rows, columns);
    for (std::size_t k = 0; k < x.size(); ++k) x.data()[k] = Real(-1.0, 1.0);
    return x;
  }
  GaussianKernel Kernel(std::size_t n, std::size_t d, double side) {
    GaussianKernel kernel;
    kernel.features = Matrix<double>(n, d);
    for (std::size_t k = 0; k < n * d; ++k) kernel.features.data()[k] = Real(0.0, side);
    for (std::size_t a = 0; a < n; ++a) kernel.scale.push_back(Real(0.1, 0.3));
    return kernel;
  }

 private:
  std::mt19937_64 rng_;
};

std::unique_ptr<SumOperator> LatticeSum(std::size_t n, const std::vector<GaussianKernel>& kernels,
                                        bool self_terms) {
  std::vector<SumOperator::Part> parts;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    LatticeOptions options;
    options.self_terms = self_terms;
    parts.push_back(
        {0.5 + static_cast<double>(k), std::make_unique<LatticeOperator>(kernels[k], options)});
  }
  return std::make_unique<SumOperator>(n, std::move(parts));
}

// base + factor K x, by the stream.
Matrix<float> Streamed(const GaussianOperator& op, const Matrix<float>& x, float factor,
                       const Matrix<float>& base) {
  const std::unique_ptr<LatticeStream> stream = LatticeStream::Make(op, x.cols());
  if (stream == nullptr) return {};
  const auto put = [&](const Matrix<float>& rows, std::size_t first, std::size_t last,
                       float* block) {
    for (std::size_t a = first; a < last; ++a) {
      float* to = block + (a - first) * stream->row_stride();
      std::fill(to, to + stream->row_stride(), 0.0F);
      std::copy(rows.row(a).begin(), rows.row(a).end(), to);
    }
  };
  // What was spread before must not linger.
  stream->Spread(
      [&](std::size_t first, std::size_t last, float* block) { put(base, first, last, block); },
      &base);
  stream->Blur(3.0F);
  stream->Spread(
      [&](std::size_t first, std::size_t last, float* block) { put(x, first, last, block); }, &x);
  stream->BlurLast(factor);
  Matrix<float> out(x.rows(), x.cols());
  stream->Visit([&](std::size_t first, std::size_t last, float* block) {
    stream->Slice(first, last, base.row(first).data(),
                  stream->needs_x() ? x.row(first).data() : nullptr, block);
    for (std::size_t a = first; a < last; ++a) {
      const float* from = block + (a - first) * stream->row_stride();
      std::copy_n(from, x.cols(), out.row(a).data());
    }
  });
  return out;
}

struct Case {
  std::size_t n;
  std::vector<std::size_t> dimensions;  // of the kernels
  bool self_terms;
};

// Too many vertices for sums by parts: alone, and beside a lattice of few.
TEST(LatticeStream, GathersWhatLatticesOfManyVerticesNeed) {
  Random random(8);
  const std::size_t n = 3000;
  const GaussianKernel few = random.Kernel(n, 2, 3.0);
  const GaussianKernel many = random.Kernel(n, 2, 60.0);
  ASSERT_FALSE(BuildSplatParts(LatticeOperator(few).lattice()).empty());
  ASSERT_TRUE(BuildSplatParts(LatticeOperator(many).lattice()).empty());
  for (const bool self_terms : {true, false}) {
    for (const auto& kernels : {std::vector{many}, std::vector{few, many}}) {
      const std::unique_ptr<SumOperator> op = LatticeSum(n, kernels, self_terms);
      const Matrix<float> x = random.Values(n, 21);
      const Matrix<float> base = random.Values(n, 21);
      Matrix<float> expected = base;
      op->AddProduct(x, -1.5F, &expected);
      testing::SetThreadCount(1);
      const Matrix<float> one = Streamed(*op, x, -1.5F, base);
      testing::SetThreadCount(2);
      EXPECT_TRUE(one == Streamed(*op, x, -1.5F, base));
      testing::SetThreadCount(0);
      ASSERT_EQ(one.size(), expected.size());
      for (std::size_t k = 0; k < expected.size(); ++k)
        ASSERT_NEAR(one.data()[k], expected.data()[k], 1e-4) << k;
    }
  }
}

// Beside a lattice; alone there is nothing to stream through.
TEST(LatticeStream, AddsWhatGridsMultiply) {
  Random random(9);
  const std::size_t side = 13;
  const std::size_t n = side * side * side;
  GaussianKernel places;
  places.features = Matrix<double>(n, 3);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t d = 0, rest = a; d < 3; ++d, rest /= side)
      places.features(a, d) =
          static_cast<double>(rest % side) / (1.0 + 0.2 * static_cast<double>(d));
    places.scale.push_back(random.Real(0.1, 0.3));
  }
  for (const bool self_terms : {true, false}) {
    std::vector<SumOperator::Part> parts;
    LatticeOptions options;
    options.self_terms = self_terms;
    parts.push_back({0.7, GridOperator::Make(places)});
    parts.push_back({0.5, std::make_unique<LatticeOperator>(random.Kernel(n, 2, 3.0), options)});
    parts.push_back({1.3, GridOperator::Make(places)});
    const SumOperator op(n, std::move(parts));
    for (const std::size_t columns : {1, 3, 8, 21}) {
      const Matrix<float> x = random.Values(n, columns);
      const Matrix<float> base = random.Values(n, columns);
      Matrix<float> expected = base;
      op.AddProduct(x, -1.5F, &expected);
      testing::SetThreadCount(1);
      const Matrix<float> one = Streamed(op, x, -1.5F, base);
      testing::SetThreadCount(2);
      EXPECT_TRUE(one == Streamed(op, x, -1.5F, base));
      testing::SetThreadCount(0);
      ASSERT_EQ(one.size(), expected.size());
      for (std::size_t k = 0; k < expected.size(); ++k)
        ASSERT_NEAR(one.data()[k], expected.data()[k], 1e-4) << k;
    }
  }
  std::vector<SumOperator::Part> alone;
  alone.push_back({1.0, GridOperator::Make(places)});
  EXPECT_EQ(LatticeStream::Make(SumOperator(n, std::move(alone)), 3), nullptr);
}

class LatticeStreamCases : public ::testing::TestWithParam<Case> {};

TEST_P(LatticeStreamCases, IsTheProductForAnyNumberOfThreads) {
  const auto& [n, dimensions, self_terms] = GetParam();
  Random random(17);
  std::vector<GaussianKernel> kernels;
  for (const std::size_t d : dimensions)
    kernels.push_back(random.Kernel(n, d, 4.0 / static_cast<double>(d)));
  const std::unique_ptr<SumOperator> op = LatticeSum(n, kernels, self_terms);
  for (const std::size_t columns : {1, 2, 7, 8, 9, 16, 21, 24, 25, 32, 33, 40}) {
    SCOPED_TRACE(columns);
    const Matrix<float> x = random.Values(n, columns);
    const Matrix<float> base = random.Values(n, columns);
    Matrix<float> expected = base;
    op->AddProduct(x, -1.5F, &expected);
    testing::SetThreadCount(1);
    const Matrix<float> one = Streamed(*op, x, -1.5F, base);
    testing::SetThreadCount(2);
    const Matrix<float> two = Streamed(*op, x, -1.5F, base);
    testing::SetThreadCount(0);
    EXPECT_TRUE(one == two);
    ASSERT_EQ(one.size(), expected.size());
    double largest = 0.0;
    for (std::size_t k = 0; k < expected.size(); ++k)
      largest = std::max(largest, static_cast<double>(std::abs(expected.data()[k])));
    for (std::size_t k = 0; k < expected.size(); ++k)
      ASSERT_NEAR(one.data()[k], expected.data()[k], 2e-5 * largest) << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, LatticeStreamCases,
                         ::testing::Values(Case{3000, {2}, true}, Case{3000, {2}, false},
                                           Case{1000, {2, 5}, true}, Case{5000, {2, 5}, false},
                                           Case{700, {1, 3, 4}, false},
                                           Case{700, {2, 3, 1, 6}, true},
                                           Case{20000, {2, 3, 1, 5}, false}));

// The sums by parts of AddProduct itself, against the twin in double.
TEST(SplatParts, GiveTheReferenceProduct) {
  Random random(5);
  const std::size_t n = 2500;
  const GaussianKernel kernel = random.Kernel(n, 3, 2.0);
  const LatticeOperator op(kernel);
  const SplatParts parts = BuildSplatParts(op.lattice());
  ASSERT_FALSE(parts.empty());
  ASSERT_GE(parts.row_begin.size(), 4U);
  EXPECT_EQ(parts.vertex_of_row.size(), parts.num_rows());
  EXPECT_EQ(parts.MostRows(parts.num_parts()), parts.num_rows());
  EXPECT_LT(parts.MostRows(1), parts.num_rows());
  const Matrix<float> x = random.Values(n, 1);
  Matrix<float> product(n, 1);
  op.AddProductWithSelf(x, 1.0F, &product);
  const std::vector<double> expected =
      LatticeReference(kernel).Product({x.data(), x.data() + x.size()});
  for (std::size_t a = 0; a < n; ++a) ASSERT_NEAR(product(a, 0), expected[a], 1e-4) << a;
}

TEST(SplatParts, EveryCornerHasARowOfItsVertex) {
  Random random(6);
  const LatticeOperator op(random.Kernel(4000, 2, 8.0));
  const Lattice& lattice = op.lattice();
  const SplatParts parts = BuildSplatParts(lattice);
  ASSERT_FALSE(parts.empty());
  for (std::size_t a = 0; a < lattice.num_pixels; ++a) {
    const std::size_t part = a / parts.part_pixels;
    for (std::size_t i = 0; i < lattice.corners; ++i) {
      const std::size_t corner = lattice.simplex_of[a] * lattice.corners + i;
      const std::uint32_t row = parts.row_begin[part] + parts.corner_row[corner];
      ASSERT_LT(row, parts.row_begin[part + 1]);
      ASSERT_EQ(parts.vertex_of_row[row], lattice.simplex_vertex[corner]);
    }
  }
}

TEST(LatticeStream, IsOnlyForLattices) {
  Random random(7);
  const GaussianKernel dense = random.Kernel(1000, 2, 3.0);
  const GaussianKernel sparse = random.Kernel(1000, 5, 100.0);
  EXPECT_NE(LatticeStream::Make(LatticeOperator(dense), 3), nullptr);
  EXPECT_EQ(LatticeStream::Make(LatticeOperator(dense), 0), nullptr);
  EXPECT_NE(LatticeStream::Make(*LatticeSum(1000, {dense, sparse}, true), 3), nullptr);
  EXPECT_EQ(LatticeStream::Make(*LatticeSum(1000, {}, true), 3), nullptr);
  const WeightedKernel listed{&dense, 1.0};
  const ChosenOperator lists = MakeOperator(1000, {&listed, 1}, {3, false},
                                            {.kind = OperatorKind::kNeighbourList, .cutoff = 0.1});
  EXPECT_EQ(LatticeStream::Make(*lists.op, 3), nullptr);
}

}  // namespace
}  // namespace submarine::internal
