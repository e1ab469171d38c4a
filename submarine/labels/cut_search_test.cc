#include "submarine/labels/cut_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

namespace submarine::internal {
namespace {

using ::testing::ElementsAre;

CutValue RandomValue(int labels, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  CutValue value{Matrix<double>(labels, labels), std::vector<double>(labels + 1)};
  for (int i = 0; i < labels; ++i) {
    for (int j = 0; j < i; ++j) value.pair(i, j) = value.pair(j, i) = normal(random);
  }
  for (int k = 1; k < labels; ++k) value.size[k] = 0.1 * k * (labels - k);
  return value;
}

double ValueByDefinition(const CutValue& value, CutMask cut) {
  double sum = value.size[std::popcount(cut)];
  for (int i = 0; i < value.num_labels(); ++i) {
    for (int j = 0; j < i; ++j) {
      if (((cut >> i) ^ (cut >> j)) & 1) sum += value.pair(i, j);
    }
  }
  return sum;
}

TEST(CutSearchTest, CanonicalCutIsOneOfTwoSides) {
  EXPECT_EQ(CanonicalCut(0b00111, 5), CutMask{0b11000});
  EXPECT_EQ(CanonicalCut(0b11000, 5), CutMask{0b11000});
  EXPECT_EQ(CanonicalCut(0b0011, 4), CutMask{0b1100});
  EXPECT_EQ(CanonicalCut(0b1111, 4), CutMask{0});
  EXPECT_EQ(CanonicalCut(~CutMask{0}, 64), CutMask{0});
  EXPECT_EQ(CanonicalCut(~CutMask{1}, 64), CutMask{1});
  EXPECT_THAT(LabelsOf(0b10110), ElementsAre(1, 2, 4));
  EXPECT_THAT(LabelsOf(CutMask{1} << 63), ElementsAre(63));
}

TEST(CutSearchTest, SmallSetsAreEnumerated) {
  const CutValue value = RandomValue(9, 1);
  std::vector<CutMask> expected;
  for (CutMask cut = 1; cut < CutMask{1} << 8; ++cut) {
    if (ValueByDefinition(value, cut) > 2.0) expected.push_back(CanonicalCut(cut, 9));
  }
  std::vector<CutMask> found = ValuableCuts(value, 2.0, 1000, {});
  for (std::size_t k = 1; k < found.size(); ++k) {
    EXPECT_GE(value(found[k - 1]) + 1e-12, value(found[k]));
  }
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_FALSE(found.empty());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(ValuableCuts(value, 2.0, 3, {}).size(), 3u);
}

TEST(CutSearchTest, LocalSearchFindsLocalMaximaAndTheBestOfThem) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const CutValue value = RandomValue(14, seed);
    double best = 0.0;
    for (CutMask cut = 1; cut < CutMask{1} << 13; ++cut) {
      best = std::max(best, ValueByDefinition(value, cut));
    }
    const std::vector<CutMask> found = ValuableCuts(value, 1e-6, 1000, {});
    ASSERT_FALSE(found.empty());
    EXPECT_NEAR(value(found[0]), best, 1e-9);
    for (CutMask cut : found) {
      EXPECT_EQ(cut, CanonicalCut(cut, 14));
      EXPECT_NEAR(value(cut), ValueByDefinition(value, cut), 1e-9);
      for (int i = 0; i < 14; ++i) {
        EXPECT_LE(ValueByDefinition(value, cut ^ (CutMask{1} << i)), value(cut) + 1e-6);
      }
    }
  }
}

TEST(CutSearchTest, NothingValuableIsAnEmptyAnswer) {
  for (int labels : {5, 20, 64}) {
    CutValue value = RandomValue(labels, 1);
    for (std::size_t k = 0; k < value.pair.size(); ++k) value.pair.data()[k] = -1.0;
    std::fill(value.size.begin(), value.size.end(), 0.0);
    EXPECT_TRUE(ValuableCuts(value, 1e-8, 100, {}).empty());
  }
}

}  // namespace
}  // namespace submarine::internal
