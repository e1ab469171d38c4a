// Bounds are about the exact kernels: of the data before rounding to features, and with the scale
// factors of the exact row sums. Both are evaluated here from the data, with more digits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/operator_verifier.h"
#include "submarine/bound/verify/dense/operator_verifier_test_util.h"
#include "submarine/model/image_features.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::NextLabeling;
using testing::RandomMarginals;
using testing::RandomModels;
using testing::RandomPotential;

const PairOptions kEveryPair{.cutoff = 0.0, .far_tolerance = 0.0};

// A model with one kernel of features, and the weights of its pairs from the data.
struct Truth {
  DenseCrf model;
  Matrix<long double> weight;
};

// Offsets up to 1e12; ranges of up to 1e9 sigmas, in which some variables are neighbours.
Truth RandomTruth(RandomModels* random) {
  const auto n = static_cast<std::size_t>(random->Integer(2, 6));
  Matrix<double> data(n, static_cast<std::size_t>(random->Integer(1, 3)));
  std::vector<double> sigmas;
  for (std::size_t d = 0; d < data.cols(); ++d) {
    const double offset = std::pow(10.0, random->Real(-3.0, 12.0));
    sigmas.push_back(std::pow(10.0, random->Real(-3.0, 3.0)));
    const double width = sigmas.back() * std::pow(10.0, random->Real(-1.0, 9.0));
    data(0, d) = offset + random->Real(-width, width);
    for (std::size_t a = 1; a < n; ++a) {
      data(a, d) = random->Integer(0, 2) == 0 && d > 0
                       ? offset + random->Real(-width, width)
                       : data(a - 1, d) + sigmas.back() * random->Real(-1.5, 1.5);
    }
    data(n - 1, d) = offset + (random->Integer(0, 1) == 0 ? width : sigmas.back());
  }
  LabelSpace labels = random->Labels(random->Integer(2, 3));
  Matrix<float> unary(n, static_cast<std::size_t>(labels.num_labels()));
  for (std::size_t k = 0; k < unary.size(); ++k)
    unary.data()[k] = static_cast<float>(random->Real(-2.0, 2.0));
  const double weight = random->Real(0.1, 4.0);
  DenseCrf model(unary, {FeatureKernel(data, sigmas, weight, "f")}, std::move(labels));
  Matrix<long double> pairs(n, n);
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      long double squared = 0.0L;
      for (std::size_t d = 0; d < data.cols(); ++d) {
        const long double apart = (static_cast<long double>(data(a, d)) - data(b, d)) / sigmas[d];
        squared += apart * apart;
      }
      pairs(a, b) = a == b ? 0.0L : 2.0L * weight * std::exp(-0.5L * squared);
    }
  }
  return {std::move(model), std::move(pairs)};
}

long double Energy(const Truth& truth, const std::vector<int>& x) {
  const DenseCrf& model = truth.model;
  long double energy = model.constant();
  for (std::size_t a = 0; a < x.size(); ++a) {
    energy += model.unary()(a, static_cast<std::size_t>(x[a]));
    for (std::size_t b = 0; b < a; ++b) {
      energy += truth.weight(a, b) * model.metric().distance(static_cast<std::size_t>(x[a]),
                                                             static_cast<std::size_t>(x[b]));
    }
  }
  return energy;
}

long double LogZ(const Truth& truth) {
  std::vector<int> x(truth.model.num_variables(), 0);
  long double z = 0.0L;
  do {
    z += std::exp(-Energy(truth, x));
  } while (NextLabeling(&x, truth.model.num_labels()));
  return std::log(z);
}

// What a potential proves with the exact weights, its differences rounded to T.
template <class T>
long double Upper(const Truth& truth, const Matrix<float>& v) {
  const DenseCrf& model = truth.model;
  long double bound = -model.constant();
  for (std::size_t a = 0; a < v.rows(); ++a) {
    long double sum = 0.0L;
    for (int i = 0; i < model.num_labels(); ++i) {
      long double s = model.unary()(a, static_cast<std::size_t>(i));
      for (std::size_t c = 0; c < v.cols(); ++c) {
        if (!model.labels().cuts->contains(static_cast<int>(c), i)) continue;
        for (std::size_t b = 0; b < v.rows(); ++b) {
          const T q = std::clamp(static_cast<T>(v(a, c)) - static_cast<T>(v(b, c)), T{-1}, T{1});
          s += model.metric().length[c] * truth.weight(a, b) * static_cast<long double>(q);
        }
      }
      sum += std::exp(-s);
    }
    bound += std::log(sum);
  }
  return bound;
}

TEST(KernelErrorTest, BoundsAreAboutTheFeaturesMeant) {
  RandomModels random(41);
  double largest_error = 0.0;
  for (int trial = 0; trial < 500; ++trial) {
    const Truth truth = RandomTruth(&random);
    const DenseCrf& model = truth.model;
    largest_error = std::max(largest_error, model.kernels().front().feature_error);
    const std::vector<OperatorKind> kinds = {OperatorKind::kBruteForce};
    const OperatorVerifier brute_force(model, kinds, {});
    const Matrix<float> v = RandomPotential(model, &random);
    const FlowProof proof = {{1.0, FlowShape::kClip, v}};
    ASSERT_GE(VerifiedUpper(model, proof, kEveryPair), Upper<float>(truth, v)) << "trial " << trial;
    ASSERT_GE(brute_force.Upper(proof), Upper<double>(truth, v));
    std::vector<int> x(model.num_variables());
    for (int& label : x) label = random.Integer(0, model.num_labels() - 1);
    const long double energy = Energy(truth, x);
    ASSERT_GE(VerifiedEnergy(model, x, kEveryPair), energy);
    ASSERT_GE(VerifiedEnergy(model, x, {.far_tolerance = 0.1}), energy);
    ASSERT_GE(brute_force.Energy(x), energy);
    const long double log_z = LogZ(truth);
    const Matrix<float> y = RandomMarginals(model, &random);
    ASSERT_LE(VerifiedAt(model, y, {}).lower, log_z);
    // Exact inference on the stored weights, with the error that they have.
    Truth stored = truth;
    for (std::size_t a = 0; a < x.size(); ++a) {
      for (std::size_t b = 0; b < x.size(); ++b)
        stored.weight(a, b) = a == b ? 0.0 : model.PairWeight(a, b);
    }
    ASSERT_LE(std::abs(LogZ(stored) - log_z), EnergyError(model));
  }
  EXPECT_GT(largest_error, 1e-9) << "the test needs features with an error";
}

// Two variables that prefer different labels: log Z is close to minus the weight between them, and
// the flow of any potential that separates them proves it. An upper bound may use no more than the
// least weight that the error of the scale factors allows, a lower bound and an energy no less than
// the largest.
TEST(KernelErrorTest, BoundsAllowForTheErrorOfScaleFactors) {
  constexpr double kError = 1e-3;
  for (const OperatorKind kind :
       {OperatorKind::kBruteForce, OperatorKind::kNeighbourList, OperatorKind::kLattice}) {
    GaussianKernel kernel{"two", Matrix<double>(2, 1), 1.0, {0.7, 0.8}};
    kernel.features(1, 0) = 0.5;
    kernel.normalisation = KernelNormalisation::kSymmetric;
    Matrix<float> unary(2, 2);
    unary(0, 1) = unary(1, 0) = 50.0F;
    const DenseCrf stored(unary, {kernel}, PottsLabels(2), PairCounting::kOnce);
    kernel.scale_error = kError;
    const DenseCrf model(unary, {kernel}, PottsLabels(2), PairCounting::kOnce);
    Matrix<float> v(2, 2);
    v(0, 0) = v(1, 1) = 2.0F;
    const FlowProof proof = {{1.0, FlowShape::kClip, v}};
    const std::vector<int> x = {0, 1};
    const Matrix<float> y = [] {
      Matrix<float> certain(2, 2);
      certain(0, 0) = certain(1, 1) = 1.0F;
      return certain;
    }();
    const OperatorOptions options;
    const OperatorVerifier before(stored, {&kind, 1}, options);
    const OperatorVerifier verifier(model, {&kind, 1}, options);
    const double weight = before.Energy(x);
    // Sums over a lattice allow for 2 * 1024 * 8 roundings, one of which is 1.1e-16 here.
    const double rounding = 2e-12;
    EXPECT_NEAR(verifier.Upper(proof), before.Upper(proof) + kError * weight, rounding);
    EXPECT_NEAR(verifier.Lower(y), -weight * (1.0 + kError), rounding);
    EXPECT_NEAR(verifier.Dual(y), -weight * (1.0 + kError), rounding);
    EXPECT_NEAR(verifier.Energy(x), weight * (1.0 + kError), rounding);
    if (kind == OperatorKind::kLattice) continue;
    EXPECT_NEAR(VerifiedUpper(model, proof, {}), VerifiedUpper(stored, proof, {}) + kError * weight,
                rounding);
    EXPECT_NEAR(VerifiedAt(model, y, {}).lower, -weight * (1.0 + kError), rounding);
    EXPECT_NEAR(VerifiedAt(model, y, {}).dual, -weight * (1.0 + kError), rounding);
    EXPECT_NEAR(VerifiedEnergy(model, x, {}), weight * (1.0 + kError), rounding);
  }
}

// A pair exactly at the cutoff carries no flow, but its cost is counted: it is unknown on which
// side the exact features lie.
TEST(KernelErrorTest, PairsAtTheCutoffCountOnTheSafeSide) {
  GaussianKernel kernel{"two", Matrix<double>(2, 1), 1.0};
  kernel.features(1, 0) = 1.5;
  const double cutoff = std::exp(-0.5 * 1.5 * 1.5);
  const DenseCrf model(Matrix<float>(2, 2), {kernel}, PottsLabels(2), PairCounting::kOnce);
  const std::vector<OperatorKind> kinds = {OperatorKind::kNeighbourList};
  Matrix<float> v(2, 2);
  v(0, 0) = v(1, 1) = 2.0F;
  const auto values = [&](double at) {
    const OperatorVerifier verifier(model, kinds, {.cutoff = at});
    return std::pair(verifier.Upper({{1.0, FlowShape::kClip, v}}), verifier.Energy({0, 1}));
  };
  const double free = values(cutoff * 1.01).first;
  EXPECT_NE(values(cutoff * 0.99).first, free);
  EXPECT_EQ(values(cutoff).first, free);
  EXPECT_NEAR(values(cutoff).second, cutoff, 1e-12);
  EXPECT_NEAR(values(cutoff * 1.01).second, 0.0, 1e-12);
}

TEST(KernelErrorTest, KernelsAreNotUsedBeforeTheyAreNormalised) {
  GaussianKernel kernel{"two", Matrix<double>(2, 1), 1.0};
  kernel.normalisation = KernelNormalisation::kSymmetric;
  const DenseCrf model(Matrix<float>(2, 2), {kernel}, PottsLabels(2));
  const char* message = "is not normalised yet";
  ExpectInvalid(
      [&] {
        VerifiedUpper(model, {{1.0, FlowShape::kClip, Matrix<float>(2, 2)}}, {});
      },
      message);
  ExpectInvalid([&] { VerifiedAt(model, Matrix<float>(2, 2, 0.5F), {}); }, message);
  ExpectInvalid([&] { VerifiedEnergy(model, {0, 1}, {}); }, message);
  ExpectInvalid([&] { EstimatePairs(model, 0.1); }, message);
  for (const OperatorKind kind :
       {OperatorKind::kBruteForce, OperatorKind::kNeighbourList, OperatorKind::kLattice}) {
    ExpectInvalid([&] { OperatorVerifier(model, {&kind, 1}, {}); }, message);
  }
}

}  // namespace
}  // namespace submarine::internal
