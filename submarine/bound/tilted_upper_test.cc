#include "submarine/bound/tilted_upper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/bound/bound_internal.h"

namespace submarine::internal {
namespace {

using Tilted = std::shared_ptr<const TiltedUpper>;

// T log sum_i exp(-(c_i - by_i) / T).
long double SoftMaximum(std::span<const double> c, std::span<const double> values, double delta,
                        double temperature) {
  const auto exponent = [&](std::size_t i) {
    return -(static_cast<long double>(c[i]) - static_cast<long double>(delta) * values[i]) /
           temperature;
  };
  long double largest = exponent(0);
  for (std::size_t i = 1; i < c.size(); ++i) largest = std::max(largest, exponent(i));
  long double sum = 0.0;
  for (std::size_t i = 0; i < c.size(); ++i) sum += std::exp(exponent(i) - largest);
  return temperature * (std::log(sum) + largest);
}

struct Costs {
  Matrix<double> c;
  double temperature;
};

Tilted Make(const Costs& costs, double verified) {
  Tilted tilted;
  FactorisedUpperMaker maker(costs.c.rows(), costs.c.cols(), costs.temperature, &tilted);
  for (std::size_t a = 0; a < costs.c.rows(); ++a) maker.Set(a, costs.c.row(a));
  EXPECT_EQ(maker.Finish(BoundMaker::Verified(verified)).value(), verified);
  return tilted;
}

// Never below the exact value, and close to it, for costs and tilts of all sizes.
TEST(TiltedUpper, OfASumOverVariablesIsRoundedUpwards) {
  std::mt19937 rng(5);
  const auto real = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(rng);
  };
  for (int trial = 0; trial < 2000 && !HasFailure(); ++trial) {
    const auto labels = static_cast<std::size_t>(1 + trial % 7);
    Costs costs{Matrix<double>(1 + trial % 3, labels), std::pow(10.0, real(-3.0, 3.0))};
    Matrix<double> values(costs.c.rows(), labels);
    const double size = costs.temperature * std::pow(10.0, real(-2.0, 4.0));
    for (std::size_t k = 0; k < values.size(); ++k) {
      costs.c.data()[k] = real(-size, size);
      values.data()[k] = trial % 2 == 0 ? std::floor(real(0.0, 2.0)) : real(-3.0, 3.0);
    }
    const double delta = real(-1.0, 1.0) * costs.temperature * std::pow(10.0, real(-3.0, 1.5));
    const double verified = 10.0;
    long double expected = verified;
    long double magnitude = 1.0 + costs.temperature;
    for (std::size_t a = 0; a < values.rows(); ++a) {
      const long double after =
          SoftMaximum(costs.c.row(a), values.row(a), delta, costs.temperature);
      const long double before = SoftMaximum(costs.c.row(a), values.row(a), 0.0, costs.temperature);
      expected += after - before;
      magnitude += std::abs(after) + std::abs(before);
    }
    const double found = Make(costs, verified)->LogZ(values, delta);
    EXPECT_GE(found, static_cast<double>(expected - 1e-17L * magnitude));
    // Labels that have next to no probability have at least the least number of single precision.
    if (size < 30.0 * costs.temperature) {
      EXPECT_LE(found - static_cast<double>(expected), 1e-6 * costs.temperature);
    }
  }
}

TEST(TiltedUpper, DoesNotDependOnTheNumberOfThreads) {
  Costs costs{Matrix<double>(5000, 3), 1.0};
  Matrix<double> values(5000, 3);
  for (std::size_t k = 0; k < values.size(); ++k) {
    costs.c.data()[k] = std::sin(static_cast<double>(k));
    values.data()[k] = std::cos(static_cast<double>(k));
  }
  const Tilted tilted = Make(costs, 0.0);
  const double all = tilted->LogZ(values, 0.3);
  const ThreadLimit one(1);
  EXPECT_EQ(tilted->LogZ(values, 0.3).value(), all);
}

TEST(TiltedUpper, IsMadeWhereItIsAskedForOnly) {
  FactorisedUpperMaker nobody(1, 2, 1.0, nullptr);
  nobody.Set(0, std::vector<double>{0.0, 1.0});
  EXPECT_EQ(nobody.Finish(BoundMaker::Verified(3.0)).value(), 3.0);
  Tilted tilted;
  FactorisedUpperMaker at_zero(1, 2, 0.0, &tilted);
  at_zero.Finish(BoundMaker::Verified(3.0));
  EXPECT_EQ(tilted, nullptr);
}

TEST(TiltedUpper, KeepsBothAndIsTheLesser) {
  const Costs costs{Matrix<double>(1, 2), 1.0};
  const Matrix<double> values(1, 2, 1.0);
  Tilted kept;
  KeepBoth(nullptr, &kept);
  EXPECT_EQ(kept, nullptr);
  for (const double value : {3.0, 2.0, 4.0}) KeepBoth(Make(costs, value), &kept);
  EXPECT_EQ(kept->untilted().value(), 2.0);
  EXPECT_EQ(kept->parts().size(), 3U);
  EXPECT_NEAR(kept->LogZ(values, 1.0), 3.0, 1e-12);
}

TEST(TiltedUpper, KeepsTheTighterOneAndRaisesIt) {
  const Costs costs{Matrix<double>(1, 2), 1.0};
  const Matrix<double> values(1, 2, 1.0);
  Tilted kept;
  KeepTighter(nullptr, &kept);
  EXPECT_EQ(kept, nullptr);
  for (const double value : {3.0, 2.0, 4.0}) KeepTighter(Make(costs, value), &kept);
  KeepTighter(nullptr, &kept);
  EXPECT_EQ(kept->untilted().value(), 2.0);
  const Tilted raised = RaisedBy(0.5, kept);
  EXPECT_NEAR(raised->untilted(), 2.5, 1e-12);
  EXPECT_GE(raised->LogZ(values, 1.0), 3.5);
  EXPECT_NEAR(raised->LogZ(values, 1.0), 3.5, 1e-12);
  EXPECT_EQ(raised->num_variables(), 1U);
  EXPECT_EQ(raised->num_labels(0), 2U);
  EXPECT_EQ(RaisedBy(0.0, kept), kept);
  EXPECT_EQ(RaisedBy(1.0, nullptr), nullptr);
}

}  // namespace
}  // namespace submarine::internal
