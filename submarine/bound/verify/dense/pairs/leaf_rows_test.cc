#include "submarine/bound/verify/dense/pairs/leaf_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/bound/verify/dense/pairs/exponential.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using leaf_rows::kLeaf;
using testing::RandomModels;

constexpr double kUlp = std::numeric_limits<double>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

long double RelativeError(double value, long double exact) {
  return std::abs(value - exact) / exact;
}

TEST(ExponentialTest, IsOffByLessUlpsThanItClaims) {
  EXPECT_EQ(NegativeExponential(0.0), 1.0);
  RandomModels random(1);
  long double largest = RelativeError(NegativeExponential(kLeastExponent), std::exp(-700.0L));
  for (int n = 0; n < 1000000; ++n) {
    // Around the borders, where r is largest, half of the time.
    const double t =
        n % 2 == 0 ? random.Real(kLeastExponent, 0.0)
                   : -(random.Integer(0, 1000) + 0.5) * std::log(2.0) + random.Real(-1e-3, 1e-3);
    const long double error =
        RelativeError(NegativeExponential(t), std::exp(static_cast<long double>(t)));
    largest = std::max(largest, error);
  }
  EXPECT_LE(largest, kExponentialUlps * kUlp);
}

std::vector<double> RandomSlots(double low, double high, RandomModels* random) {
  std::vector<double> x(kLeaf);
  for (double& value : x) value = random->Real(low, high);
  return x;
}

TEST(LeafRowsTest, WeightsFollowTheDefinition) {
  RandomModels random(2);
  for (const double far : {1.0, 20.0, 3000.0, 1e70}) {
    for (const double limit : {-1.0, 0.7, 12.0, 1500.0, kInfinity}) {
      std::vector<double> squared = RandomSlots(0.0, far, &random);
      squared[7] = limit;
      const std::vector<double> scale = RandomSlots(0.1, 2.0, &random);
      std::vector<double> weight(kLeaf, -1.0);
      leaf_rows::KernelWeights(squared.data(), scale.data(), 0.3, 1.7, limit, weight.data());
      bool any = false;
      for (std::size_t j = 0; j < kLeaf; ++j) {
        any = any || squared[j] <= limit;
        if (squared[j] > limit || squared[j] > -2.0 * kLeastExponent) {
          EXPECT_EQ(weight[j], 0.0);
        } else {
          const long double exact =
              1.7L * 0.3L * scale[j] * std::exp(-0.5L * static_cast<long double>(squared[j]));
          EXPECT_LE(RelativeError(weight[j], exact), (kExponentialUlps + 3.0) * kUlp);
        }
      }
      EXPECT_EQ(leaf_rows::AnyWithin(squared.data(), limit), any);
    }
  }
}

// Antisymmetry makes the bound valid.
TEST(LeafRowsTest, BothEndsSeeTheSameBits) {
  RandomModels random(3);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::vector<double> squared(kLeaf, random.Real(0.0, 30.0));
    const std::vector<double> scale = RandomSlots(0.1, 2.0, &random);
    std::vector<double> weight(kLeaf);
    std::vector<double> reversed(kLeaf);
    leaf_rows::KernelWeights(squared.data(), scale.data(), scale[0], 1.3, kInfinity, weight.data());
    for (std::size_t j = 0; j < kLeaf; ++j) {
      leaf_rows::KernelWeights(squared.data(), scale.data(), scale[j], 1.3, kInfinity,
                               reversed.data());
      ASSERT_EQ(weight[j], reversed[0]);
    }
  }
}

// One pair and one cut at a time.
double Flow(FlowShape shape, float difference) {
  if (shape == FlowShape::kClip) return std::clamp(difference, -1.0F, 1.0F);
  return difference > 0.0F ? 1.0 : difference < 0.0F ? -1.0 : 0.0;
}

TEST(LeafRowsTest, FlowsFollowTheDefinitionAndAreAntisymmetric) {
  RandomModels random(4);
  for (const FlowShape shape : {FlowShape::kClip, FlowShape::kSign}) {
    for (const std::size_t cuts : {1U, 2U, 5U}) {
      std::vector<float> own(cuts * kLeaf);
      std::vector<float> other(cuts * kLeaf);
      for (float& v : own) v = static_cast<float>(random.Integer(-8, 8)) * 0.2F;
      for (float& v : other) v = static_cast<float>(random.Integer(-8, 8)) * 0.2F;
      other[0] = std::numeric_limits<float>::max();
      own[3] = -std::numeric_limits<float>::max();
      const std::vector<double> weight = RandomSlots(0.0, 2.0, &random);
      constexpr double kShare = 0.7;
      const std::vector<double> before = RandomSlots(-1.0, 1.0, &random);
      std::vector<double> sum;
      for (std::size_t c = 0; c < cuts; ++c) sum.insert(sum.end(), before.begin(), before.end());
      leaf_rows::AddFlow(weight.data(), kShare, shape, own.data() + 3, other.data(), cuts,
                         sum.data());
      for (std::size_t c = 0; c < cuts; ++c) {
        for (std::size_t j = 0; j < kLeaf; ++j) {
          const float difference = own[c * kLeaf + 3] - other[c * kLeaf + j];
          const double flow = kShare * weight[j] * Flow(shape, difference);
          EXPECT_EQ(sum[c * kLeaf + j], before[j] + flow);
          std::vector<double> back(cuts * kLeaf, 0.0);
          leaf_rows::AddFlow(std::vector<double>(kLeaf, weight[j]).data(), kShare, shape,
                             other.data() + j, own.data(), cuts, back.data());
          EXPECT_EQ(back[c * kLeaf + 3], -flow);
        }
      }
    }
  }
}

TEST(LeafRowsTest, DegreesAddUp) {
  RandomModels random(5);
  const std::vector<double> weight = RandomSlots(0.0, 2.0, &random);
  const std::vector<double> squared = RandomSlots(0.0, 9.0, &random);
  std::vector<double> degree(kLeaf, 0.5);
  std::vector<double> far(kLeaf, 0.25);
  leaf_rows::AddWeights(weight.data(), squared.data(), degree.data(), far.data());
  for (std::size_t j = 0; j < kLeaf; ++j) {
    EXPECT_EQ(degree[j], 0.5 + weight[j]);
    EXPECT_EQ(far[j], 0.25 + weight[j] * squared[j]);
  }
}

}  // namespace
}  // namespace submarine::internal
