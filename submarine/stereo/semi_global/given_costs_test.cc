#include "submarine/stereo/semi_global/given_costs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

constexpr int kWidth = 7;
constexpr int kHeight = 5;
constexpr int kDisparities = 9;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

std::vector<float> RandomCosts() {
  std::mt19937 random(1);
  std::vector<float> costs(kPixels * kDisparities);
  for (float& cost : costs) cost = static_cast<float>(random() % 1000);
  return costs;
}

CostVolume Scaled(const std::vector<float>& costs) {
  return ScaledCosts(costs, kWidth, kHeight, kDisparities, 0.5);
}

TEST(GivenCosts, CountWithoutTheirUnit) {
  const std::vector<float> costs = RandomCosts();
  std::vector<float> others = costs;
  for (float& cost : others) cost = 7.0F * cost - 300.0F;
  const CostVolume a = Scaled(costs);
  const CostVolume b = Scaled(others);
  for (std::size_t j = 0; j < a.cells.size(); ++j)
    EXPECT_NEAR(a.cells.data()[j], b.cells.data()[j], 1);
}

TEST(GivenCosts, KeepTheirOrder) {
  const std::vector<float> costs = RandomCosts();
  const CostVolume volume = Scaled(costs);
  for (std::size_t a = 0; a < kPixels; ++a) {
    for (std::size_t k = 1; k < kDisparities; ++k) {
      const float before = costs[a * kDisparities + k - 1];
      const float here = costs[a * kDisparities + k];
      if (before < here) {
        EXPECT_LE(volume.cells(a, k - 1), volume.cells(a, k));
      } else {
        EXPECT_GE(volume.cells(a, k - 1), volume.cells(a, k));
      }
    }
    for (std::size_t k = kDisparities; k < volume.stride(); ++k)
      EXPECT_EQ(volume.cells(a, k), kPaddingCost);
  }
}

TEST(GivenCosts, AreUnknownWhereNotFinite) {
  std::vector<float> costs = RandomCosts();
  costs[3] = kNan;
  costs[4] = kInfinite;
  costs[5] = -kInfinite;
  for (std::size_t k = 0; k < kDisparities; ++k) costs[kDisparities + k] = kNan;
  const CostVolume volume = Scaled(costs);
  for (const std::size_t k : {3, 4, 5}) EXPECT_EQ(volume.cells(0, k), kCostUnit / 2);
  for (std::size_t k = 0; k < kDisparities; ++k) EXPECT_EQ(volume.cells(1, k), kCostUnit / 2);
}

TEST(GivenCosts, MayAllBeAlike) {
  const CostVolume volume = Scaled(std::vector<float>(kPixels * kDisparities, 3.0F));
  for (std::size_t k = 1; k < kDisparities; ++k) EXPECT_EQ(volume.cells(0, k), volume.cells(0, 0));
}

TEST(Ranges, ExcludeDisparities) {
  std::vector<float> low(kPixels, kNan);
  std::vector<float> high(kPixels, kNan);
  low[2] = 2.5F;
  high[2] = 4.5F;
  low[3] = -kInfinite;
  high[3] = 0.0F;
  const StereoGiven given{{}, low, high};
  CheckGiven(given, kWidth, kHeight, kDisparities);
  CostVolume volume = Scaled(RandomCosts());
  ExcludeOutside(given, &volume);
  for (int k = 0; k < kDisparities; ++k) {
    const auto kk = static_cast<std::size_t>(k);
    EXPECT_NE(volume.cells(1, kk), kImpossibleCost);
    EXPECT_EQ(volume.cells(2, kk) == kImpossibleCost, k < 2 || k > 5) << k;
    EXPECT_EQ(volume.cells(3, kk) == kImpossibleCost, k > 0) << k;
  }
}

TEST(Given, IsChecked) {
  const std::vector<float> costs = RandomCosts();
  const std::vector<float> ends(kPixels, 3.0F);
  std::vector<float> lower = ends;
  const auto check = [](const StereoGiven& given) {
    CheckGiven(given, kWidth, kHeight, kDisparities);
  };
  EXPECT_NO_THROW(check({costs, ends, ends}));
  EXPECT_THROW(check({std::span(costs).first(30), {}, {}}), InvalidInput);
  EXPECT_THROW(check({std::vector<float>(costs.size(), kNan), {}, {}}), InvalidInput);
  EXPECT_THROW(check({{}, ends, {}}), InvalidInput);
  EXPECT_THROW(check({{}, ends, std::span(ends).first(3)}), InvalidInput);
  lower[9] = 2.0F;
  EXPECT_THROW(check({{}, ends, lower}), InvalidInput);
  lower[9] = -1.0F;
  EXPECT_THROW(check({{}, lower, lower}), InvalidInput);
  lower[9] = kDisparities;
  EXPECT_THROW(check({{}, lower, lower}), InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
