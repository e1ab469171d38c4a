#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "submarine/filter/lattice/lattice.h"
#include "submarine/filter/lattice/lattice_levels.h"
#include "submarine/filter/lattice/lattice_reference.h"

namespace submarine::internal {
namespace {

GaussianKernel RandomKernel(std::size_t n, std::size_t d, double side) {
  std::mt19937_64 rng(17 * n + d);
  std::uniform_real_distribution<double> uniform(0.0, side);
  GaussianKernel kernel;
  kernel.name = "random";
  kernel.features = Matrix<double>(n, d);
  for (std::size_t k = 0; k < n * d; ++k) {
    kernel.features.data()[k] = static_cast<float>(uniform(rng));
  }
  return kernel;
}

// Columns of several kinds: spread out, mostly at the least value, few distinct values, constant,
// far wider than levels reach.
Matrix<float> Potentials(std::size_t n) {
  std::mt19937_64 rng(n);
  std::normal_distribution<double> normal;
  Matrix<float> v(n, 6);
  for (std::size_t a = 0; a < n; ++a) {
    v(a, 0) = static_cast<float>(3.0 * normal(rng));
    v(a, 1) = static_cast<float>(rng() % 8 == 0 ? std::abs(4.0 * normal(rng)) - 2.0 : -2.0);
    v(a, 2) = static_cast<float>(rng() % 3) * 0.4F;
    v(a, 3) = 1.25F;
    v(a, 4) = static_cast<float>(0.1 * normal(rng));
    v(a, 5) = static_cast<float>(std::exp(3.0 * normal(rng)));
  }
  return v;
}

// sum_b K_ab psi(v_a, v_b) with K of the reference and psi from the levels, pair by pair.
std::vector<double> ExplicitFlow(const Matrix<double>& k, const std::vector<double>& level) {
  std::vector<double> flow(level.size(), 0.0);
  for (std::size_t a = 0; a < level.size(); ++a) {
    for (std::size_t b = 0; b < level.size(); ++b) {
      if (a != b) flow[a] += k(a, b) * PsiOfLevels(level[a], level[b]);
    }
  }
  return flow;
}

std::vector<double> LevelsOf(const ColumnLevels& levels, const Matrix<float>& v,
                             std::size_t column) {
  std::vector<double> result;
  std::vector<float> s(levels.columns());
  for (std::size_t a = 0; a < v.rows(); ++a) {
    levels.Row(v.data() + a * v.cols(), s.data());
    result.push_back(s[column]);
  }
  return result;
}

TEST(LatticeFlow, IsTheSumOverPairsOfThePsiOfItsLevels) {
  for (const std::size_t n : {90, 300}) {
    const GaussianKernel kernel = RandomKernel(n, 3, 3.0);
    const Matrix<double> k = LatticeReference(kernel).DenseK();
    const Matrix<float> v = Potentials(n);
    for (const int count : {2, 3, 16, 64}) {
      LatticeOptions options;
      options.levels = count;
      const LatticeOperator op(kernel, options);
      for (const FlowShape shape : {FlowShape::kClip, FlowShape::kSign}) {
        Matrix<float> out(n, v.cols(), 0.5F);
        op.AddFlow(v, shape, 2.0F, &out);
        const ColumnLevels levels = ColumnLevels::Soft(
            v, shape == FlowShape::kClip ? NodeRule::kUnitCells : NodeRule::kQuantiles, count, 0,
            v.cols());
        ASSERT_LT(levels.cells(), static_cast<std::size_t>(count));
        for (std::size_t c = 0; c < v.cols(); ++c) {
          const std::vector<double> flow = ExplicitFlow(k, LevelsOf(levels, v, c));
          for (std::size_t a = 0; a < n; ++a) {
            ASSERT_NEAR(out(a, c), 0.5 + 2.0 * flow[a], 2e-4 * (1.0 + op.RowSums()[a]))
                << "column " << c << ", " << count << " levels";
          }
        }
      }
    }
  }
}

TEST(LatticeFlow, GroupsOfColumnsGiveTheSame) {
  const GaussianKernel kernel = RandomKernel(300, 5, 6.0);
  const Matrix<float> v = Potentials(300);
  LatticeOptions options;
  Matrix<float> together(300, v.cols());
  LatticeOperator(kernel, options).AddFlow(v, FlowShape::kSign, 1.0F, &together);
  options.flow_workspace_bytes = 1;
  Matrix<float> apart(300, v.cols());
  LatticeOperator(kernel, options).AddFlow(v, FlowShape::kSign, 1.0F, &apart);
  for (std::size_t k = 0; k < together.size(); ++k) {
    EXPECT_NEAR(together.data()[k], apart.data()[k], 1e-4);
  }
}

TEST(LatticeFlow, PsiIsAntisymmetricAndBounded) {
  std::mt19937_64 rng(1);
  std::uniform_real_distribution<double> uniform(0.0, 4.0);
  for (int trial = 0; trial < 2000; ++trial) {
    const double a = trial % 3 == 0 ? std::floor(uniform(rng)) : uniform(rng);
    const double b = trial % 5 == 0 ? a : uniform(rng);
    EXPECT_EQ(PsiOfLevels(a, b), -PsiOfLevels(b, a));
    EXPECT_LE(std::abs(PsiOfLevels(a, b)), 1.0);
    if (std::floor(a) == std::floor(b)) {
      EXPECT_NEAR(PsiOfLevels(a, b), a - b, 1e-15);
    }
  }
}

TEST(LatticeFlow, UnitCellsApproximateClip) {
  // Range below the levels: cells of width exactly 1, psi off by at most 1/4 and exact in a cell.
  const std::vector<float> sample = {-1.0F, 0.2F, 2.0F, 5.5F};
  const std::vector<float> nodes = ChooseNodes(sample, -1.0F, 5.5F, NodeRule::kUnitCells, 16);
  ASSERT_EQ(nodes.size(), 8U);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    EXPECT_FLOAT_EQ(nodes[k], -1.0F + static_cast<float>(k));
  }
  for (double a = 0.0; a <= 7.0; a += 0.125) {
    for (double b = 0.0; b <= 7.0; b += 0.125) {
      EXPECT_NEAR(PsiOfLevels(a, b), std::clamp(a - b, -1.0, 1.0), 0.25 + 1e-12);
    }
  }
}

TEST(LatticeFlow, NodesEncloseTheValuesAndRespectTheLimit) {
  std::mt19937_64 rng(5);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<float> sample;
    for (int k = 0; k < 1 + trial * 7; ++k) {
      sample.push_back(static_cast<float>(std::exp(0.1 * trial * normal(rng))));
    }
    std::sort(sample.begin(), sample.end());
    for (const NodeRule rule : {NodeRule::kUnitCells, NodeRule::kQuantiles, NodeRule::kMixed}) {
      for (const int levels : {2, 3, 16, 64}) {
        const std::vector<float> nodes =
            ChooseNodes(sample, sample.front(), sample.back(), rule, levels);
        EXPECT_EQ(nodes.front(), sample.front());
        EXPECT_GE(nodes.back(), sample.back());
        EXPECT_LE(nodes.size(), static_cast<std::size_t>(levels));
        EXPECT_TRUE(std::is_sorted(nodes.begin(), nodes.end(), std::less_equal<>()));
        for (std::size_t k = 1; rule == NodeRule::kUnitCells && k < nodes.size(); ++k) {
          EXPECT_GE(nodes[k] - nodes[k - 1], 0.999F);
        }
      }
    }
  }
}

// |flow by levels - flow by the true sign|, relative to the row sums.
double ErrorOfOrder(const GaussianKernel& kernel, const Matrix<double>& k, const Matrix<float>& v,
                    int levels) {
  LatticeOptions options;
  options.levels = levels;
  const LatticeOperator op(kernel, options);
  Matrix<float> out(v.rows(), v.cols());
  op.AddFlow(v, FlowShape::kSign, 1.0F, &out);
  double error = 0.0;
  double scale = 0.0;
  for (std::size_t c = 0; c < v.cols(); ++c) {
    for (std::size_t a = 0; a < v.rows(); ++a) {
      double exact = 0.0;
      for (std::size_t b = 0; b < v.rows(); ++b) {
        exact += b == a ? 0.0 : k(a, b) * ((v(a, c) > v(b, c)) - (v(a, c) < v(b, c)));
      }
      error += std::abs(out(a, c) - exact);
      scale += op.RowSums()[a];
    }
  }
  return error / scale;
}

TEST(LatticeFlow, MoreLevelsConvergeToTheExactOrder) {
  const GaussianKernel kernel = RandomKernel(60, 2, 2.0);
  const Matrix<double> k = LatticeReference(kernel).DenseK();
  const Matrix<float> v = Potentials(60);
  const double few = ErrorOfOrder(kernel, k, v, 4);
  const double more = ErrorOfOrder(kernel, k, v, 16);
  EXPECT_LT(more, 0.5 * few);
  // As many nodes as values: nothing is interpolated.
  EXPECT_LT(ErrorOfOrder(kernel, k, v, 64), 1e-6);
}

TEST(LatticeFlow, TotalVariationIsAnOverEstimate) {
  for (const std::size_t n : {100, 300}) {
    const GaussianKernel kernel = RandomKernel(n, 3, 3.0);
    const Matrix<double> k = LatticeReference(kernel).DenseK();
    const Matrix<float> x = Potentials(n);
    for (const int levels : {2, 8, 64}) {
      LatticeOptions options;
      options.levels = levels;
      const std::vector<double> estimate = LatticeOperator(kernel, options).TotalVariation(x);
      for (std::size_t c = 0; c < x.cols(); ++c) {
        double exact = 0.0;
        for (std::size_t a = 0; a < n; ++a) {
          for (std::size_t b = 0; b < a; ++b) exact += k(a, b) * std::abs(x(a, c) - x(b, c));
        }
        EXPECT_GE(estimate[c], exact) << "column " << c;
        // Three values: exact from three nodes on. Otherwise many nodes come close.
        if (c == 2 && levels > 8) {
          EXPECT_LE(estimate[c], exact * (1.0 + 1e-4));
        }
        if (levels == 64) {
          EXPECT_LE(estimate[c], exact * 1.05);
        }
      }
    }
  }
}

}  // namespace
}  // namespace submarine::internal
