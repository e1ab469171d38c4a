#include "submarine/filter/list/pair_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/simd/simd_test_util.h"

namespace submarine::internal {
namespace {

// The plain forms, which the kernels are compared with.
namespace scalar {

template <class Term>
void Sum(const NeighbourRow& row, const float* x, const float* x_a, std::size_t columns, float* out,
         Term term) {
  std::fill(out, out + columns, 0.0F);
  for (std::size_t j = 0; j < row.count; ++j) {
    const float* x_b = x + row.neighbour[j] * columns;
    for (std::size_t c = 0; c < columns; ++c) out[c] += row.weight[j] * term(x_a[c], x_b[c]);
  }
}

void SumProducts(const NeighbourRow& row, const float* x, std::size_t columns, float* out) {
  Sum(row, x, x, columns, out, [](float, float b) { return b; });
}
void SumClipped(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
                float* out) {
  Sum(row, x, x + a * columns, columns, out,
      [](float p, float q) { return std::clamp(p - q, -1.0F, 1.0F); });
}
void SumSigns(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
              float* out) {
  Sum(row, x, x + a * columns, columns, out,
      [](float p, float q) { return static_cast<float>((p > q) - (p < q)); });
}
void SumDistances(const NeighbourRow& row, const float* x, std::size_t a, std::size_t columns,
                  float* out) {
  Sum(row, x, x + a * columns, columns, out, [](float p, float q) { return std::abs(p - q); });
}

std::size_t SelectNear(const float* coordinates, std::size_t stride, std::size_t dimension,
                       const float* point, std::size_t count, float cutoff, std::uint32_t* index,
                       float* value) {
  std::size_t found = 0;
  for (std::size_t j = 0; j < count; ++j) {
    float squared = 0.0F;
    for (std::size_t d = 0; d < dimension; ++d) {
      const float difference = coordinates[d * stride + j] - point[d];
      squared += difference * difference;
    }
    const float gaussian = std::exp(-0.5F * squared);
    if (gaussian < cutoff) continue;
    index[found] = static_cast<std::uint32_t>(j);
    value[found++] = gaussian;
  }
  return found;
}

}  // namespace scalar

using testing::ForEachTarget;

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
constexpr float kCanary = 12345.678F;
constexpr std::size_t kRows = 50;

class RandomFloats {
 public:
  explicit RandomFloats(std::uint64_t seed) : rng_(seed) {}

  float Real(double low, double high) {
    return static_cast<float>(std::uniform_real_distribution<double>(low, high)(rng_));
  }
  std::size_t Index(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(rng_);
  }

 private:
  std::mt19937_64 rng_;
};

// A row of the list over a matrix that starts `offset` floats after an aligned address.
struct Case {
  Case(std::size_t columns_, std::size_t count, std::size_t offset_, RandomFloats* random)
      : columns(columns_), offset(offset_), x(1, kRows * columns_ + offset_) {
    // Few distinct values, so that signs meet ties, and differences beyond 1, so that clips clip.
    for (std::size_t k = 0; k < x.size(); ++k)
      x.data()[k] = random->Index(3) == 0 ? 0.5F : random->Real(-2.0, 2.0);
    for (std::size_t j = 0; j < count; ++j) {
      neighbour.push_back(static_cast<std::uint32_t>(random->Index(kRows)));
      weight.push_back(random->Real(0.0, 3.0));
    }
    a = random->Index(kRows);
  }
  NeighbourRow row() const { return {neighbour.data(), weight.data(), weight.size()}; }
  const float* first() const { return x.data() + offset; }

  std::size_t columns;
  std::size_t offset;
  std::size_t a = 0;
  Matrix<float> x;
  std::vector<std::uint32_t> neighbour;
  std::vector<float> weight;
};

using Kernel = std::function<void(const Case&, float*)>;
using Term = std::function<double(double x_a, double x_b)>;

// The fast kernel, its twin and the definition in double.
void Compare(const Case& c, const Kernel& fast, const Kernel& slow, const Term& term) {
  std::vector<float> sums(c.columns + 20, kCanary);
  std::vector<float> twin(c.columns + 20, kCanary);
  fast(c, sums.data());
  slow(c, twin.data());
  for (std::size_t k = c.columns; k < sums.size(); ++k) {
    ASSERT_EQ(sums[k], kCanary) << "written beyond the row";
    ASSERT_EQ(twin[k], kCanary) << "written beyond the row";
  }
  for (std::size_t k = 0; k < c.columns; ++k) {
    double sum = 0.0;
    double size = 0.0;
    for (std::size_t j = 0; j < c.weight.size(); ++j) {
      const double value =
          static_cast<double>(c.weight[j]) *
          term(c.first()[c.a * c.columns + k], c.first()[c.neighbour[j] * c.columns + k]);
      sum += value;
      size += std::abs(value);
    }
    // Each of the `count` additions, the product and the difference round once.
    const double rounding = 0.5 * kEpsilon * (static_cast<double>(c.weight.size()) + 2.0) * size;
    ASSERT_NEAR(sums[k], sum, rounding) << "column " << k;
    ASSERT_NEAR(twin[k], sum, rounding) << "column " << k;
  }
}

TEST(PairKernelsTest, SumsAgreeWithTheirTwins) {
  ForEachTarget([] {
    RandomFloats random(1);
    for (std::size_t columns = 1; columns <= 40; ++columns) {
      for (std::size_t count = 0; count <= 70; ++count) {
        SCOPED_TRACE(::testing::Message() << columns << " columns, " << count << " neighbours");
        const Case c(columns, count, random.Index(5), &random);
        Compare(
            c, [](const Case& d, float* out) { SumProducts(d.row(), d.first(), d.columns, out); },
            [](const Case& d, float* out) {
              scalar::SumProducts(d.row(), d.first(), d.columns, out);
            },
            [](double, double b) { return b; });
        Compare(
            c,
            [](const Case& d, float* out) { SumClipped(d.row(), d.first(), d.a, d.columns, out); },
            [](const Case& d, float* out) {
              scalar::SumClipped(d.row(), d.first(), d.a, d.columns, out);
            },
            [](double p, double q) { return std::clamp(p - q, -1.0, 1.0); });
        Compare(
            c, [](const Case& d, float* out) { SumSigns(d.row(), d.first(), d.a, d.columns, out); },
            [](const Case& d, float* out) {
              scalar::SumSigns(d.row(), d.first(), d.a, d.columns, out);
            },
            [](double p, double q) { return p > q   ? 1.0
                                            : p < q ? -1.0
                                                    : 0.0; });
        Compare(
            c,
            [](const Case& d, float* out) {
              SumDistances(d.row(), d.first(), d.a, d.columns, out);
            },
            [](const Case& d, float* out) {
              scalar::SumDistances(d.row(), d.first(), d.a, d.columns, out);
            },
            [](double p, double q) { return std::abs(p - q); });
      }
    }
  });
}

// What lies behind the last row must not leak into the sums, whatever it is.
TEST(PairKernelsTest, WhatIsReadBeyondTheEndDoesNotMatter) {
  ForEachTarget([] {
    const std::vector<std::uint32_t> neighbour{1, 0, 1};
    const std::vector<float> weight{1.0F, 2.0F, 4.0F};
    const NeighbourRow row{neighbour.data(), weight.data(), 3};
    for (std::size_t columns = 1; columns <= 20; ++columns) {
      std::vector<float> x(2 * columns, 1.0F);
      x.resize(2 * columns + 16, std::numeric_limits<float>::quiet_NaN());
      std::vector<float> sums(columns);
      SumProducts(row, x.data(), columns, sums.data());
      for (const float sum : sums) EXPECT_EQ(sum, 7.0F);
      SumDistances(row, x.data(), 1, columns, sums.data());
      for (const float sum : sums) EXPECT_EQ(sum, 0.0F);
      SumSigns(row, x.data(), 1, columns, sums.data());
      for (const float sum : sums) EXPECT_EQ(sum, 0.0F);
    }
  });
}

// Signs are those of the exact difference, however small.
TEST(PairKernelsTest, SignsOfNeighbouringNumbers) {
  ForEachTarget([] {
    const std::vector<float> values{-1e30F, -0.0F, 0.0F, 1.0F, std::nextafter(1.0F, 2.0F), 3e38F};
    const float one = 1.0F;
    for (const float p : values) {
      for (const float q : values) {
        Matrix<float> x(2, 1);
        x(0, 0) = p;
        x(1, 0) = q;
        const std::uint32_t other = 1;
        float sign = kCanary;
        SumSigns({&other, &one, 1}, x.data(), 0, 1, &sign);
        EXPECT_EQ(sign, static_cast<float>((p > q) - (p < q))) << p << " against " << q;
      }
    }
  });
}

// Coordinates of `count` points, `stride` apart, beginning `offset` floats after an aligned address.
struct Points {
  Points(std::size_t count, std::size_t dimension_, std::size_t offset_, double spread,
         RandomFloats* random)
      : stride(count + 3),
        dimension(dimension_),
        offset(offset_),
        values(1, stride * dimension_ + offset_) {
    for (std::size_t k = 0; k < values.size(); ++k)
      values.data()[k] = random->Real(-spread, spread);
  }
  const float* first() const { return values.data() + offset; }
  std::vector<float> Point(std::size_t j) const {
    std::vector<float> point(dimension);
    for (std::size_t d = 0; d < dimension; ++d) point[d] = first()[d * stride + j];
    return point;
  }

  std::size_t stride;
  std::size_t dimension;
  std::size_t offset;
  Matrix<float> values;
};

// What SelectNear finds, as a list of values, 0 for points that are not near.
using Select = std::size_t (*)(const float*, std::size_t, std::size_t, const float*, std::size_t,
                               float, std::uint32_t*, float*);
std::vector<float> Selected(Select select, const float* coordinates, std::size_t stride,
                            const std::vector<float>& point, std::size_t count, float cutoff) {
  std::vector<std::uint32_t> index(count + kSelectSlack);
  std::vector<float> value(count + kSelectSlack);
  const std::size_t found = select(coordinates, stride, point.size(), point.data(), count, cutoff,
                                   index.data(), value.data());
  EXPECT_LE(found, count);
  std::vector<float> values(count, 0.0F);
  for (std::size_t k = 0; k < found; ++k) {
    EXPECT_LT(index[k], count);
    EXPECT_TRUE(k == 0 || index[k - 1] < index[k]) << "ascending";
    EXPECT_GE(value[k], cutoff);
    EXPECT_LE(value[k], 1.0F);
    if (index[k] < count) values[index[k]] = value[k];
  }
  return values;
}

TEST(PairKernelsTest, SelectNearAgreesWithItsTwin) {
  ForEachTarget([] {
    RandomFloats random(2);
    for (std::size_t count = 0; count <= 70; ++count) {
      for (std::size_t dimension : {1, 2, 3, 5, 6, 16}) {
        for (float cutoff : {0.9F, 0.1F, 1e-3F, 1e-30F}) {
          SCOPED_TRACE(::testing::Message()
                       << count << " points, dimension " << dimension << ", cutoff " << cutoff);
          const double spread = count % 2 == 0 ? 1.0 : 6.0;
          const Points points(count, dimension, random.Index(7), spread, &random);
          std::vector<float> point(dimension);
          for (float& p : point) p = random.Real(-spread, spread);
          const std::vector<float> values =
              Selected(SelectNear, points.first(), points.stride, point, count, cutoff);
          const std::vector<float> twin =
              Selected(scalar::SelectNear, points.first(), points.stride, point, count, cutoff);
          for (std::size_t j = 0; j < count; ++j) {
            double squared = 0.0;
            for (std::size_t d = 0; d < dimension; ++d) {
              const double difference =
                  static_cast<double>(points.first()[d * points.stride + j]) - point[d];
              squared += difference * difference;
            }
            const double exact = std::exp(-0.5 * squared);
            // The square is a sum of dimension + 1 roundings; exp is good to a few units in the last
            // place.
            const double rounding =
                kEpsilon * exact * (0.5 * squared * static_cast<double>(dimension + 2) + 4.0);
            if (exact >= cutoff + rounding) {
              ASSERT_NEAR(values[j], exact, rounding) << j;
              ASSERT_NEAR(twin[j], exact, rounding) << j;
            } else if (exact < cutoff - rounding) {
              ASSERT_EQ(values[j], 0.0F) << j;
              ASSERT_EQ(twin[j], 0.0F) << j;
            }
          }
        }
      }
    }
  });
}

// k_ab = k_ba to the last bit, wherever a and b stand among the points of their calls; hence both or
// neither are near.
TEST(PairKernelsTest, SelectNearIsSymmetric) {
  ForEachTarget([] {
    RandomFloats random(3);
    for (std::size_t dimension = 1; dimension <= 6; ++dimension) {
      constexpr std::size_t kCount = 45;
      const Points points(kCount, dimension, 1, 1.5, &random);
      std::size_t near = 0;
      Matrix<float> k(kCount, kCount);
      for (std::size_t a = 0; a < kCount; ++a) {
        // Calls that start at different points and are of different lengths.
        const std::size_t split = random.Index(kCount);
        const std::vector<float> point = points.Point(a);
        const std::vector<float> left =
            Selected(SelectNear, points.first(), points.stride, point, split, 0.2F);
        const std::vector<float> right = Selected(SelectNear, points.first() + split, points.stride,
                                                  point, kCount - split, 0.2F);
        std::copy(left.begin(), left.end(), k.row(a).begin());
        std::copy(right.begin(), right.end(),
                  k.row(a).begin() + static_cast<std::ptrdiff_t>(split));
      }
      for (std::size_t a = 0; a < kCount; ++a) {
        ASSERT_EQ(k(a, a), 1.0F);
        for (std::size_t b = 0; b < a; ++b) {
          ASSERT_EQ(k(a, b), k(b, a)) << a << ", " << b;
          if (k(a, b) > 0.0F) ++near;
        }
      }
      EXPECT_GT(near, 0U);
    }
  });
}

TEST(PairKernelsTest, SelectNearOfPointsFarApart) {
  ForEachTarget([] {
    Matrix<float> far(1, 9, 3e38F);
    far(0, 0) = -3e38F;
    far(0, 2) = 1e20F;
    far(0, 3) = -1e4F;
    const std::vector<float> values = Selected(SelectNear, far.data(), 9, {-3e38F}, 9, 1e-30F);
    EXPECT_EQ(values[0], 1.0F);
    for (std::size_t j = 1; j < values.size(); ++j) EXPECT_EQ(values[j], 0.0F) << j;
  });
}

}  // namespace
}  // namespace submarine::internal
