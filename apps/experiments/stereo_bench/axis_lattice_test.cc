#include "apps/experiments/stereo_bench/axis_lattice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"

namespace submarine::apps {
namespace {

using Point = std::vector<int>;

Matrix<float> RandomFeatures(std::size_t rows, std::size_t cols, float range, unsigned seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<float> uniform(-range, range);
  Matrix<float> features(rows, cols);
  for (std::size_t k = 0; k < features.size(); ++k) features.data()[k] = uniform(rng);
  return features;
}

// The filter by its definition, in double, over points found by search instead of by rounding.
class Twin {
 public:
  explicit Twin(const Matrix<float>& features) : d_(static_cast<int>(features.cols())) {
    for (std::size_t a = 0; a < features.rows(); ++a) corners_.push_back(Corners(features.row(a)));
    for (const auto& corners : corners_) {
      for (const auto& [point, weight] : corners) present_[point] = 0.0;
    }
  }

  // Column b of K.
  std::vector<double> Column(std::size_t b) const {
    std::map<Point, double> z = present_;
    for (const auto& [point, weight] : corners_[b]) z[point] += weight;
    for (int axis = 0; axis <= d_; ++axis) {
      std::map<Point, double> next = z;
      for (auto& [point, value] : next) {
        for (const int direction : {-1, 1}) {
          Point other = point;
          for (int& x : other) x -= direction;
          other[static_cast<std::size_t>(axis)] += direction * (d_ + 1);
          const auto found = z.find(other);
          if (found != z.end()) value += 0.5 * found->second;
        }
      }
      z = std::move(next);
    }
    std::vector<double> column;
    for (const auto& corners : corners_) {
      double sum = 0.0;
      for (const auto& [point, weight] : corners) sum += weight * z.at(point);
      column.push_back(sum / (1.0 + std::pow(2.0, -d_)));
    }
    return column;
  }
  std::size_t num_vertices() const { return present_.size(); }

 private:
  // e = E f with orthogonal columns of E in the plane sum e = 0: (1, .., 1, -i, 0, .., 0).
  std::vector<double> Elevated(std::span<const float> f) const {
    std::vector<double> e(static_cast<std::size_t>(d_) + 1, 0.0);
    for (int i = 1; i <= d_; ++i) {
      const double x = f[static_cast<std::size_t>(i) - 1] * std::sqrt(2.0 / 3.0) * (d_ + 1) /
                       std::sqrt(i * (i + 1.0));
      for (int k = 0; k < i; ++k) e[static_cast<std::size_t>(k)] += x;
      e[static_cast<std::size_t>(i)] -= i * x;
    }
    return e;
  }

  // Of all points of the plane with multiples of d+1 near e, the nearest.
  Point NearestZero(const std::vector<double>& e) const {
    Point best;
    double least = std::numeric_limits<double>::infinity();
    Point choice(e.size(), 0);
    for (;;) {
      Point point;
      int sum = 0;
      double distance = 0.0;
      for (std::size_t i = 0; i < e.size(); ++i) {
        const int cell = static_cast<int>(std::floor(e[i] / (d_ + 1))) + choice[i];
        point.push_back(cell * (d_ + 1));
        sum += cell;
        distance += (e[i] - point[i]) * (e[i] - point[i]);
      }
      if (sum == 0 && distance < least) {
        least = distance;
        best = point;
      }
      std::size_t digit = 0;
      while (digit < choice.size() && ++choice[digit] == 2) choice[digit++] = 0;
      if (digit == choice.size()) return best;
    }
  }

  // From the nearest point of remainder 0, one step of (1, .., 1) with the coordinates of least
  // residual taken down by d+1, one after the other, leads around the simplex.
  std::vector<std::pair<Point, double>> Corners(std::span<const float> f) const {
    const std::vector<double> e = Elevated(f);
    Point point = NearestZero(e);
    std::vector<double> residual;
    for (std::size_t i = 0; i < e.size(); ++i) residual.push_back((e[i] - point[i]) / (d_ + 1));
    std::vector<std::size_t> order(e.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::size_t i, std::size_t j) { return residual[i] < residual[j]; });
    std::vector<std::pair<Point, double>> corners;
    corners.emplace_back(point, 1.0 + residual[order.front()] - residual[order.back()]);
    for (std::size_t r = 0; r + 1 < order.size(); ++r) {
      for (int& x : point) ++x;
      point[order[r]] -= d_ + 1;
      corners.emplace_back(point, residual[order[r + 1]] - residual[order[r]]);
    }
    return corners;
  }

  int d_;
  std::vector<std::vector<std::pair<Point, double>>> corners_;
  std::map<Point, double> present_;
};

class AxisLatticeByDimension : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Dimensions, AxisLatticeByDimension, ::testing::Values(1, 2, 3, 5, 6));

TEST_P(AxisLatticeByDimension, AgreesWithItsDefinition) {
  constexpr std::size_t kVariables = 60;
  const Matrix<float> features =
      RandomFeatures(kVariables, GetParam(), 1.5F, static_cast<unsigned>(GetParam()));
  const AxisLattice lattice(features);
  const Twin twin(features);
  ASSERT_EQ(lattice.num_vertices(), twin.num_vertices());
  Matrix<float> identity(kVariables, kVariables);
  for (std::size_t a = 0; a < kVariables; ++a) identity(a, a) = 1.0F;
  Matrix<float> k(kVariables, kVariables, 0.25F);
  lattice.AddProduct(identity, 2.0F, &k);
  for (std::size_t b = 0; b < kVariables; ++b) {
    const std::vector<double> column = twin.Column(b);
    for (std::size_t a = 0; a < kVariables; ++a)
      ASSERT_NEAR(k(a, b), 0.25 + 2.0 * column[a], 1e-5) << a << ", " << b;
  }
}

TEST(AxisLattice, RowsOfAGridSumToLessThanTheGaussian) {
  constexpr int kSide = 40;
  constexpr double kSigma = 2.0;
  Matrix<float> features(kSide * kSide, 2);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      features(static_cast<std::size_t>(y * kSide + x), 0) = static_cast<float>(x / kSigma);
      features(static_cast<std::size_t>(y * kSide + x), 1) = static_cast<float>(y / kSigma);
    }
  }
  const std::vector<float> sums = AxisLattice(features).RowSums();
  const double whole = 2.0 * M_PI * kSigma * kSigma;
  for (int y = 15; y < 25; ++y) {
    for (int x = 15; x < 25; ++x) {
      // 0.88 was measured with the authors' code; it wavers with the place in a cell.
      EXPECT_NEAR(sums[static_cast<std::size_t>(y * kSide + x)] / whole, 0.88, 0.02);
    }
  }
}

TEST(AxisLattice, DoesNotDependOnThreads) {
  const Matrix<float> features = RandomFeatures(3000, 3, 4.0F, 9);
  const Matrix<float> x = RandomFeatures(3000, 5, 1.0F, 10);
  std::vector<Matrix<float>> products;
  for (const int threads : {1, 2, 5}) {
    internal::testing::SetThreadCount(threads);
    products.emplace_back(3000, 5);
    AxisLattice(features).AddProduct(x, 1.0F, &products.back());
  }
  internal::testing::SetThreadCount(0);
  EXPECT_EQ(products[0], products[1]);
  EXPECT_EQ(products[0], products[2]);
}

TEST(AxisLattice, RefusesWhatIsNoFeature) {
  EXPECT_THROW(AxisLattice(Matrix<float>()), InvalidInput);
  EXPECT_THROW(AxisLattice(Matrix<float>(3, 7)), InvalidInput);
  Matrix<float> features(3, 2);
  features(1, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW((AxisLattice{features}), InvalidInput);
  features(1, 1) = 1e30F;
  EXPECT_THROW((AxisLattice{features}), InvalidInput);
}

TEST(AxisLattice, RefusesSizesThatDisagree) {
  const AxisLattice lattice(RandomFeatures(4, 2, 1.0F, 1));
  Matrix<float> out(4, 3);
  EXPECT_THROW(lattice.AddProduct(Matrix<float>(5, 3), 1.0F, &out), InvalidInput);
  EXPECT_THROW(lattice.AddProduct(Matrix<float>(4, 2), 1.0F, &out), InvalidInput);
}

}  // namespace
}  // namespace submarine::apps
