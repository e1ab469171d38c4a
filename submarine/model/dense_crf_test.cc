#include "submarine/model/dense_crf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using ::testing::HasSubstr;
using testing::NextLabeling;
using testing::RandomModels;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

GaussianKernel Position(std::size_t variables, double weight) {
  GaussianKernel kernel{"position", Matrix<double>(variables, 1), weight};
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
  ExpectInvalid(with(GaussianKernel{"empty", Matrix<double>(3, 0)}),
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
  GaussianKernel scaled{"same", Matrix<double>(3, 2), 0.5, {1.0F, 2.0F, 3.0F}};
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

TEST(DenseCrfTest, HasNoPairsBeforeItIsNormalised) {
  GaussianKernel kernel = Position(2, 1.0);
  kernel.normalisation = KernelNormalisation::kSymmetric;
  const DenseCrf model(Matrix<float>(2, 2), {kernel}, PottsLabels(2));
  const char* message =
      "kernel \"position\" asks for symmetric normalisation and is not normalised";
  ExpectInvalid([&] { model.PairWeight(0, 1); }, message);
  ExpectInvalid([&] { model.Energy(std::vector<int>{0, 1}); }, message);
  ExpectInvalid([&] { ToSparseCrf(model); }, message);
  ExpectInvalid([&] { EnergyError(model); }, message);
  kernel.weight = 0.0;
  EXPECT_EQ(DenseCrf(Matrix<float>(2, 2), {kernel}, PottsLabels(2)).PairWeight(0, 1), 0.0);
}

// Features and scale factors moved by their maximal errors: no energy moves by more than
// EnergyError, and some by a good part of it.
TEST(DenseCrfTest, EnergyErrorHoldsForFeaturesAndScales) {
  RandomModels random(77);
  double largest_share = 0.0;
  for (int trial = 0; trial < 200; ++trial) {
    const DenseCrf drawn = random.Dense(random.Integer(2, 5), random.Labels(random.Integer(2, 3)));
    std::vector<GaussianKernel> kernels = drawn.kernels();
    std::vector<GaussianKernel> meant = kernels;
    const double feature_error = std::pow(10.0, random.Real(-9.0, -3.0));
    const double scale_error = std::pow(10.0, random.Real(-9.0, -1.0));
    for (std::size_t m = 0; m < kernels.size(); ++m) {
      kernels[m].feature_error = feature_error;
      for (std::size_t k = 0; k < kernels[m].features.size(); ++k) {
        meant[m].features.data()[k] += random.Integer(0, 1) == 0 ? feature_error : -feature_error;
      }
      if (kernels[m].scale.empty()) continue;
      kernels[m].scale_error = scale_error;
      for (double& r : meant[m].scale) {
        r *= std::sqrt(random.Integer(0, 1) == 0 ? 1.0 + scale_error : 1.0 - scale_error);
      }
    }
    const auto with = [&](const std::vector<GaussianKernel>& k) {
      return DenseCrf(drawn.unary(), k, drawn.labels(), drawn.counting(), drawn.constant());
    };
    const DenseCrf stored = with(kernels);
    const DenseCrf truth = with(meant);
    const double error = EnergyError(stored);
    std::vector<int> labeling(drawn.num_variables(), 0);
    do {
      const double energy = stored.Energy(labeling);
      const double difference = std::abs(energy - truth.Energy(labeling));
      ASSERT_LE(difference, error + 1e-13 * (1.0 + std::abs(energy)));
      if (error > 1e-9) largest_share = std::max(largest_share, difference / error);
    } while (NextLabeling(&labeling, drawn.num_labels()));
  }
  EXPECT_GT(largest_share, 0.3);
}

TEST(DenseCrfTest, DescribesItself) {
  GaussianKernel normalised = Position(6, 2.5);
  normalised.name = "bilateral 80/13";
  normalised.scale.assign(6, 1.0);
  normalised.normalisation = KernelNormalisation::kSymmetric;
  const DenseCrf model(Matrix<float>(6, 4), {Position(6, 3.0), normalised},
                       TruncatedLinearLabels(4, 2));
  EXPECT_EQ(model.Description(),
            "dense CRF, 6 variables, 4 labels, metric truncated:2, kernels position (weight 3) + "
            "bilateral 80/13 (weight 2.5, normalised), ordered pairs");
  normalised.scale_source = "lattice of 7 vertices";
  const auto named = [&](const std::string& text) {
    EXPECT_THAT(DenseCrf(Matrix<float>(6, 4), {normalised}, PottsLabels(4)).Description(),
                HasSubstr("(weight 2.5" + text + ")"));
  };
  named(", normalised by the row sums of lattice of 7 vertices");
  normalised.normalisation = KernelNormalisation::kNone;
  named(", scaled");
  normalised.scale.clear();
  named("");
  normalised.normalisation = KernelNormalisation::kSymmetric;
  named(", to be normalised");
  EXPECT_THAT(DenseCrf(Matrix<float>(6, 4), {}, PottsLabels(4), PairCounting::kOnce).Description(),
              HasSubstr("no kernels, pairs counted once"));
}

}  // namespace
}  // namespace submarine::internal
