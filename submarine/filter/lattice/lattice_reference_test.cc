#include "submarine/filter/lattice/lattice_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/filter/lattice/lattice.h"
#include "submarine/filter/lattice/lattice_levels.h"

namespace submarine::internal {
namespace {

GaussianKernel RandomKernel(std::size_t n, std::size_t d, double side) {
  std::mt19937_64 rng(31 * n + d);
  std::uniform_real_distribution<double> uniform(0.0, side);
  GaussianKernel kernel{"random", Matrix<double>(n, d)};
  for (std::size_t k = 0; k < n * d; ++k) {
    kernel.features.data()[k] = static_cast<float>(uniform(rng));
  }
  for (std::size_t a = 0; a < n; ++a) {
    kernel.scale.push_back(static_cast<float>(0.5 + uniform(rng) / side));
  }
  return kernel;
}

struct Case {
  std::size_t n, d;
  double side;
  int half_steps;
};
constexpr Case kCases[] = {{60, 1, 10.0, 0}, {120, 2, 6.0, 2}, {90, 3, 3.0, 0},
                           {90, 5, 2.0, 0},  {70, 5, 2.0, 2},  {30, 12, 1.0, 0}};

// The sum of all entries of a row is what products and flows of it are relative to.
double RowSum(const Matrix<double>& k, std::size_t a) {
  double sum = 0.0;
  for (const double value : k.row(a)) sum += value;
  return sum;
}

TEST(LatticeReferenceTest, DiagonalAndManyColumnsAreThoseOfTheMatrix) {
  for (const auto& [n, d, side, half_steps] : kCases) {
    const LatticeReference reference(RandomKernel(n, d, side), {.half_steps = half_steps});
    const Matrix<double> k = reference.DenseK();
    const std::vector<double> diagonal = reference.Diagonal();
    for (std::size_t a = 0; a < n; ++a) EXPECT_NEAR(diagonal[a], k(a, a), 1e-13 * k(a, a));
    std::mt19937_64 rng(n);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    Matrix<double> x(n, 11);
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = uniform(rng);
    const Matrix<double> product = reference.Product(x);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t c = 0; c < x.cols(); ++c) {
        double expected = 0.0;
        for (std::size_t b = 0; b < n; ++b) expected += k(a, b) * x(b, c);
        EXPECT_NEAR(product(a, c), expected, 1e-13 * RowSum(k, a));
      }
    }
  }
}

TEST(LatticeReferenceTest, SelfProductsAreThoseOfTheMatrix) {
  for (const auto& [n, d, side, half_steps] : kCases) {
    const LatticeReference reference(RandomKernel(n, d, side), {.half_steps = half_steps});
    const Matrix<double> k = reference.DenseK();
    std::mt19937_64 rng(n + 3);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    for (const std::size_t columns : {1, 5, 8, 11}) {
      Matrix<double> x(n, columns);
      for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = uniform(rng);
      double of_columns = 0.0;
      double of_sum = 0.0;
      for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) {
          for (std::size_t i = 0; i < columns; ++i) {
            of_columns += k(a, b) * x(a, i) * x(b, i);
            for (std::size_t j = 0; j < columns; ++j) of_sum += k(a, b) * x(a, i) * x(b, j);
          }
        }
      }
      const LatticeReference::VertexProducts products = reference.SelfProducts(x);
      const auto total = [](const std::vector<double>& terms) {
        return std::accumulate(terms.begin(), terms.end(), 0.0);
      };
      EXPECT_NEAR(total(products.of_columns), of_columns, 1e-12 * of_columns);
      EXPECT_NEAR(total(products.of_sum), of_sum, 1e-12 * of_sum);
    }
  }
}

TEST(LatticeReferenceTest, FlowIsTheSumOverPairsOfPsi) {
  for (const auto& [n, d, side, half_steps] : kCases) {
    const LatticeReference reference(RandomKernel(n, d, side), {.half_steps = half_steps});
    const Matrix<double> k = reference.DenseK();
    std::mt19937_64 rng(n + 1);
    for (const std::size_t cells : {1, 2, 7, 8, 9, 15, 63}) {
      std::uniform_real_distribution<double> uniform(0.0, static_cast<double>(cells));
      std::vector<double> level(n);
      for (double& s : level) s = rng() % 3 == 0 ? std::round(uniform(rng)) : uniform(rng);
      level[0] = static_cast<double>(cells);
      level[1] = 0.0;
      const std::vector<double> flow = reference.Flow(level, cells);
      for (std::size_t a = 0; a < n; ++a) {
        double expected = 0.0;
        for (std::size_t b = 0; b < n; ++b) {
          if (b != a) expected += k(a, b) * PsiOfLevels(level[a], level[b]);
        }
        EXPECT_NEAR(flow[a], expected, 1e-13 * RowSum(k, a)) << cells << " cells";
      }
    }
  }
}

TEST(LatticeReferenceTest, TotalVariationIsAnOverEstimateExactAtNodes) {
  for (const auto& [n, d, side, half_steps] : kCases) {
    const LatticeReference reference(RandomKernel(n, d, side), {.half_steps = half_steps});
    const Matrix<double> k = reference.DenseK();
    std::mt19937_64 rng(n + 2);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    for (const std::size_t count : {2, 3, 9, 12}) {
      std::vector<double> nodes(count);
      for (double& t : nodes) t = uniform(rng);
      nodes[0] = -1.0;
      nodes[1] = 1.0;
      std::sort(nodes.begin(), nodes.end());
      for (const bool at_nodes : {false, true}) {
        std::vector<double> x(n);
        for (double& value : x) value = at_nodes ? nodes[rng() % count] : uniform(rng);
        double exact = 0.0;
        for (std::size_t a = 0; a < n; ++a) {
          for (std::size_t b = 0; b < a; ++b) exact += k(a, b) * std::abs(x[a] - x[b]);
        }
        const auto variation = reference.TotalVariation(x, nodes, reference.Diagonal());
        const double value = variation.pairs - variation.self;
        EXPECT_GE(value, exact * (1.0 - 1e-12));
        if (at_nodes) {
          EXPECT_NEAR(value, exact, 1e-12 * exact);
        }
      }
    }
  }
}

TEST(LatticeReferenceTest, DoesNotDependOnTheNumberOfThreads) {
  const GaussianKernel kernel = RandomKernel(5000, 3, 20.0);
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<double> uniform(0.0, 9.0);
  std::vector<double> level(kernel.size());
  for (double& s : level) s = uniform(rng);
  const auto all = [&] {
    const LatticeReference reference(kernel);
    std::vector<double> values = reference.Flow(level, 9);
    const std::vector<double> diagonal = reference.Diagonal();
    values.insert(values.end(), diagonal.begin(), diagonal.end());
    const double nodes[] = {0.0, 2.0, 9.0};
    values.push_back(reference.TotalVariation(level, nodes, diagonal).pairs);
    return values;
  };
  testing::SetThreadCount(1);
  const std::vector<double> one = all();
  testing::SetThreadCount(2);
  EXPECT_EQ(all(), one);
  testing::SetThreadCount(0);
}

}  // namespace
}  // namespace submarine::internal
