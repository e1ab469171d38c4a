#include "submarine/filter/list/feature_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace submarine::internal {
namespace {

Matrix<float> RandomPoints(std::size_t count, std::size_t dimension, double spread,
                           std::mt19937_64* rng) {
  Matrix<float> points(count, dimension);
  std::uniform_real_distribution<double> value(-spread, spread);
  for (std::size_t k = 0; k < points.size(); ++k)
    points.data()[k] = static_cast<float>(value(*rng));
  return points;
}

double SquaredDistance(const Matrix<float>& points, std::size_t a, std::size_t b) {
  double squared = 0.0;
  for (std::size_t d = 0; d < points.cols(); ++d) {
    const double difference = static_cast<double>(points(a, d)) - points(b, d);
    squared += difference * difference;
  }
  return squared;
}

// Every variable in one bucket, with its coordinates.
void ExpectPartition(const FeatureTree& tree, const Matrix<float>& points) {
  ASSERT_EQ(tree.dimension(), points.cols());
  std::vector<int> seen(points.rows(), 0);
  ASSERT_EQ(tree.begin(0), 0U);
  for (std::size_t bucket = 0; bucket < tree.num_buckets(); ++bucket) {
    const auto variables = tree.variables(bucket);
    ASSERT_FALSE(variables.empty());
    ASSERT_TRUE(std::is_sorted(variables.begin(), variables.end()));
    ASSERT_EQ(tree.begin(bucket) + variables.size(), tree.begin(bucket + 1));
    for (std::size_t k = 0; k < variables.size(); ++k) {
      ++seen[variables[k]];
      for (std::size_t d = 0; d < points.cols(); ++d)
        ASSERT_EQ(tree.coordinate(d)[tree.begin(bucket) + k], points(variables[k], d));
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(points.rows()));
}

void ExpectFindsAllWithin(const FeatureTree& tree, const Matrix<float>& points, double radius) {
  std::vector<std::uint32_t> bucket_of(points.rows());
  for (std::size_t bucket = 0; bucket < tree.num_buckets(); ++bucket) {
    for (const std::uint32_t a : tree.variables(bucket))
      bucket_of[a] = static_cast<std::uint32_t>(bucket);
  }
  std::vector<std::uint32_t> near{77};  // what was there before does not stay
  for (std::size_t bucket = 0; bucket < tree.num_buckets(); ++bucket) {
    tree.Near(bucket, radius, &near);
    ASSERT_TRUE(std::is_sorted(near.begin(), near.end()));
    ASSERT_EQ(std::adjacent_find(near.begin(), near.end()), near.end()) << "a bucket twice";
    std::vector<bool> listed(tree.num_buckets(), false);
    for (const std::uint32_t other : near) {
      ASSERT_LT(other, tree.num_buckets());
      listed[other] = true;
    }
    ASSERT_TRUE(listed[bucket]) << "itself";
    for (const std::uint32_t a : tree.variables(bucket)) {
      for (std::size_t b = 0; b < points.rows(); ++b) {
        if (SquaredDistance(points, a, b) <= radius * radius) {
          ASSERT_TRUE(listed[bucket_of[b]]) << a << " and " << b << " at radius " << radius;
        }
      }
    }
  }
}

TEST(FeatureTreeTest, FindsAllPointsWithinTheRadius) {
  std::mt19937_64 rng(1);
  for (std::size_t dimension = 1; dimension <= 6; ++dimension) {
    for (std::size_t count : {1, 2, 31, 32, 33, 64, 65, 400}) {
      SCOPED_TRACE(::testing::Message() << count << " points, dimension " << dimension);
      const Matrix<float> points = RandomPoints(count, dimension, 5.0, &rng);
      const FeatureTree tree(points);
      ExpectPartition(tree, points);
      for (double radius : {0.0, 0.1, 1.0, 3.3, 100.0}) ExpectFindsAllWithin(tree, points, radius);
    }
  }
}

TEST(FeatureTreeTest, RepeatedPoints) {
  std::mt19937_64 rng(2);
  for (std::size_t dimension = 1; dimension <= 6; ++dimension) {
    Matrix<float> points = RandomPoints(300, dimension, 3.0, &rng);
    for (std::size_t a = 0; a < points.rows(); ++a) {
      const std::size_t same = rng() % 12;
      for (std::size_t d = 0; d < dimension; ++d) points(a, d) = points(same, d);
    }
    const FeatureTree tree(points);
    ExpectPartition(tree, points);
    for (double radius : {0.0, 1e-6, 1.0}) ExpectFindsAllWithin(tree, points, radius);
  }
}

TEST(FeatureTreeTest, AllPointsEqual) {
  const Matrix<float> points(1000, 3, 0.25F);
  const FeatureTree tree(points);
  ExpectPartition(tree, points);
  ExpectFindsAllWithin(tree, points, 0.0);
  EXPECT_LE(tree.num_buckets(), 1000U / 8) << "buckets are split by number where points are equal";
}

TEST(FeatureTreeTest, HugeCoordinates) {
  std::mt19937_64 rng(3);
  for (std::size_t dimension = 1; dimension <= 6; ++dimension) {
    for (double spread : {1e6, 1e20, 3.4e38}) {
      const Matrix<float> points = RandomPoints(200, dimension, spread, &rng);
      const FeatureTree tree(points);
      ExpectPartition(tree, points);
      for (double radius : {1.0, 0.1 * spread, 10.0 * spread})
        ExpectFindsAllWithin(tree, points, radius);
    }
  }
}

// Points of natural images lie near a curve in feature space.
TEST(FeatureTreeTest, LooksAtFewBucketsWherePointsLieThin) {
  constexpr std::size_t kCount = 4096;
  Matrix<float> points(kCount, 5);
  for (std::size_t a = 0; a < kCount; ++a) {
    for (std::size_t d = 0; d < 5; ++d) points(a, d) = static_cast<float>(a);
  }
  const FeatureTree tree(points);
  EXPECT_LE(tree.num_buckets(), kCount / 16);
  std::vector<std::uint32_t> near;
  for (std::size_t bucket = 0; bucket < tree.num_buckets(); ++bucket) {
    tree.Near(bucket, 3.0, &near);
    EXPECT_LE(near.size(), 3U) << "itself and its two neighbours";
  }
}

}  // namespace
}  // namespace submarine::internal
