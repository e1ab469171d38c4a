#include "submarine/model/dense_crf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine {
namespace {

using ::submarine::testing::ExpectInvalid;
using ::submarine::testing::NextLabeling;
using ::submarine::testing::RandomModels;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

GaussianKernel Position(std::size_t variables, double weight) {
  GaussianKernel kernel{"position", Matrix<float>(variables, 1), weight};
  for (std::size_t a = 0; a < variables; ++a) kernel.features(a, 0) = static_cast<float>(a);
  return kernel;
}

TEST(DenseCrfTest, RefusesBadUnaries) {
  ExpectInvalid([] { DenseCrf(Matrix<float>(0, 3), {}, PottsLabels(3)); }, "no variables");
  ExpectInvalid([] { DenseCrf(Matrix<float>(2, 4), {}, PottsLabels(3)); },
                "the unaries have 4 labels, but the metric has 3");
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                    -std::numeric_limits<float>::infinity()}) {
    Matrix<float> unary(3, 2);
    unary(1, 0) = bad;
    ExpectInvalid([&] { DenseCrf(unary, {}, PottsLabels(2)); },
                  "the unary of variable 1, label 0 is");
  }
}

TEST(DenseCrfTest, RefusesBadConstants) {
  for (double bad : {std::nan(""), kInfinity, -kInfinity}) {
    ExpectInvalid(
        [&] { DenseCrf(Matrix<float>(2, 2), {}, PottsLabels(2), PairCounting::kOrdered, bad); },
        "the constant is");
  }
}

TEST(DenseCrfTest, RefusesOtherThanOneMetric) {
  LabelSpace labels = PottsLabels(2);
  labels.metrics.push_back(labels.metrics.front());
  ExpectInvalid([&] { DenseCrf(Matrix<float>(2, 2), {}, labels); },
                "a dense model has one label metric, but 2 were given");
  labels.metrics.clear();
  ExpectInvalid([&] { DenseCrf(Matrix<float>(2, 2), {}, labels); }, "but 0 were given");
}

TEST(DenseCrfTest, RefusesBadKernels) {
  const auto with = [](GaussianKernel kernel) {
    return [kernel] { DenseCrf(Matrix<float>(3, 2), {Position(3, 1.0), kernel}, PottsLabels(2)); };
  };
  EXPECT_NO_THROW(with(Position(3, 0.0))());
  ExpectInvalid(with(Position(4, 1.0)),
                "kernel \"position\" has features of 4 variables, but there are unaries of 3");
  ExpectInvalid(with(Position(3, -1.0)), "kernel \"position\" has weight -1");
  ExpectInvalid(with(Position(3, kInfinity)), "kernel \"position\" has weight inf");
  ExpectInvalid(with(GaussianKernel{"empty", Matrix<float>(3, 0)}),
                "kernel \"empty\" has features of dimension 0");
}

TEST(DenseCrfTest, RefusesEnergiesThatCouldOverflow) {
  Matrix<float> unary(3, 2);
  unary(2, 1) = -3e38F;
  ExpectInvalid([&] { DenseCrf(unary, {}, PottsLabels(2)); }, "expected at most 1e+30");
  ExpectInvalid([] { DenseCrf(Matrix<float>(3, 2), {Position(3, 1e30)}, PottsLabels(2)); },
                "expected at most 1e+30");
  GaussianKernel scaled = Position(3, 1.0);
  scaled.scale = {1.0F, 1e16F, 1.0F};
  ExpectInvalid([&] { DenseCrf(Matrix<float>(3, 2), {scaled}, PottsLabels(2)); },
                "expected at most 1e+30");
}

TEST(DenseCrfTest, PairWeightAndEnergyByHand) {
  Matrix<float> unary(3, 3);
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t i = 0; i < 3; ++i) unary(a, i) = static_cast<float>(10 * a + i);
  }
  GaussianKernel scaled{"same", Matrix<float>(3, 2), 0.5, {1.0F, 2.0F, 3.0F}};
  const std::vector<GaussianKernel> kernels{Position(3, 4.0), scaled};
  const DenseCrf ordered(unary, kernels, LinearLabels(3), PairCounting::kOrdered, -0.5);
  const DenseCrf once(unary, kernels, LinearLabels(3), PairCounting::kOnce, -0.5);
  const double w01 = 4.0 * std::exp(-0.5) + 0.5 * 2.0;
  const double w02 = 4.0 * std::exp(-2.0) + 0.5 * 3.0;
  const double w12 = 4.0 * std::exp(-0.5) + 0.5 * 6.0;
  EXPECT_DOUBLE_EQ(once.PairWeight(0, 1), w01);
  EXPECT_DOUBLE_EQ(once.PairWeight(2, 0), w02);
  EXPECT_DOUBLE_EQ(ordered.PairWeight(1, 2), 2.0 * w12);
  const std::vector<int> labeling{2, 0, 1};  // unaries 2 + 10 + 21
  EXPECT_DOUBLE_EQ(once.Energy(labeling), 32.5 + 2.0 * w01 + w02 + w12);
  EXPECT_DOUBLE_EQ(ordered.Energy(labeling), 32.5 + 2.0 * (2.0 * w01 + w02 + w12));
}

TEST(DenseCrfTest, EnergyRefusesWhatIsNoLabeling) {
  const DenseCrf model(Matrix<float>(3, 2), {}, PottsLabels(2));
  ExpectInvalid(
      [&] {
        model.Energy(std::vector<int>{0, 1});
      },
      "the labeling has 2 variables, expected 3");
  ExpectInvalid(
      [&] {
        model.Energy(std::vector<int>{0, 2, 1});
      },
      "the label of variable 1 is 2, expected 0 to 1");
  ExpectInvalid([&] { model.Energy(std::vector<int>{0, 1, -1}); }, "the label of variable 2 is -1");
}

TEST(DenseCrfTest, SparseTwinHasTheSameEnergies) {
  RandomModels random(31);
  for (int trial = 0; trial < 100; ++trial) {
    const DenseCrf model = random.Dense(random.Integer(1, 5), random.Labels(random.Integer(2, 4)));
    const SparseCrf sparse = ToSparseCrf(model);
    EXPECT_EQ(sparse.num_edges(), model.num_variables() * (model.num_variables() - 1) / 2);
    EXPECT_EQ(sparse.constant(), model.constant());
    std::vector<int> labeling(model.num_variables(), 0);
    do {
      const double energy = model.Energy(labeling);
      ASSERT_NEAR(sparse.Energy(labeling), energy, 1e-12 * (1.0 + std::abs(energy)));
    } while (NextLabeling(&labeling, model.num_labels()));
  }
}

TEST(DenseCrfTest, DescribesItself) {
  GaussianKernel normalised = Position(6, 2.5);
  normalised.name = "bilateral 80/13";
  normalised.scale.assign(6, 1.0F);
  const DenseCrf model(Matrix<float>(6, 4), {Position(6, 3.0), normalised},
                       TruncatedLinearLabels(4, 2));
  EXPECT_EQ(model.Description(),
            "dense CRF, 6 variables, 4 labels, metric truncated:2, kernels position (weight 3) + "
            "bilateral 80/13 (weight 2.5, normalised), ordered pairs");
  EXPECT_THAT(DenseCrf(Matrix<float>(6, 4), {}, PottsLabels(4), PairCounting::kOnce).Description(),
              HasSubstr("no kernels, pairs counted once"));
}

}  // namespace
}  // namespace submarine
