// The verifiers of dense models at every temperature, down to T = 0, against long double sums over all
// pairs and all labelings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/operator_verifier.h"
#include "submarine/bound/verify/dense/operator_verifier_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::NextLabeling;
using testing::RandomMarginals;
using testing::RandomModels;
using testing::RandomPotential;

constexpr double kLeastSubnormal = std::numeric_limits<double>::denorm_min();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kTemperatures[] = {
    0.0, kLeastSubnormal, 1e-310, 1e-100, 1e-12, 0.1, 0.5, 1.0, 2.0, 10.0, 1e12, 1e100};

PairOptions At(double temperature) {
  return {.temperature = temperature, .cutoff = 0.0, .far_tolerance = 0.0};
}

std::vector<OperatorKind> AllPairs(const DenseCrf& model) {
  return std::vector<OperatorKind>(model.kernels().size(), OperatorKind::kBruteForce);
}

// T log sum_k exp(x_k / T).
long double SoftMaximum(const std::vector<long double>& x, long double T) {
  const long double largest = *std::max_element(x.begin(), x.end());
  if (T == 0.0L) return largest;
  long double sum = 0.0L;
  for (const long double value : x) sum += std::exp((value - largest) / T);
  return largest + T * std::log(sum);
}

std::vector<long double> MinusEnergies(const DenseCrf& model) {
  std::vector<long double> values;
  std::vector<int> labeling(model.num_variables(), 0);
  do {
    values.push_back(-static_cast<long double>(model.Energy(labeling)));
  } while (NextLabeling(&labeling, model.num_labels()));
  return values;
}

// g_T of the flow q_ab = clip(v_a - v_b).
long double UpperByDefinition(const DenseCrf& model, const Matrix<float>& v, long double T) {
  long double bound = -static_cast<long double>(model.constant());
  for (std::size_t a = 0; a < model.num_variables(); ++a) {
    std::vector<long double> s(model.unary().row(a).begin(), model.unary().row(a).end());
    for (std::size_t b = 0; b < model.num_variables(); ++b) {
      if (a == b) continue;
      const long double weight = model.PairWeight(a, b);
      for (int c = 0; c < model.num_cuts(); ++c) {
        const auto cut = static_cast<std::size_t>(c);
        const long double q = std::clamp(v(a, cut) - v(b, cut), -1.0F, 1.0F);
        for (const int i : model.labels().cuts->set(c))
          s[static_cast<std::size_t>(i)] += weight * model.metric().length[cut] * q;
      }
    }
    for (long double& value : s) value = -value;
    bound += SoftMaximum(s, T);
  }
  return bound;
}

struct PointValues {
  long double lower;
  long double dual;
};

PointValues AtByDefinition(const DenseCrf& model, const Matrix<float>& marginals, long double T) {
  const auto labels = marginals.cols();
  Matrix<long double> y(marginals.rows(), labels);
  for (std::size_t a = 0; a < y.rows(); ++a) {
    long double sum = 0.0L;
    for (const float p : marginals.row(a)) sum += p;
    for (std::size_t i = 0; i < labels; ++i) y(a, i) = marginals(a, i) / sum;
  }
  long double alone = -static_cast<long double>(model.constant());
  long double expected = 0.0L;
  long double variation = 0.0L;
  for (std::size_t a = 0; a < y.rows(); ++a) {
    for (std::size_t i = 0; i < labels; ++i) {
      if (y(a, i) > 0.0L) alone -= T * y(a, i) * std::log(y(a, i));
      alone -= y(a, i) * model.unary()(a, i);
    }
    for (std::size_t b = a + 1; b < y.rows(); ++b) {
      const long double w = model.PairWeight(a, b);
      for (std::size_t i = 0; i < labels; ++i) {
        for (std::size_t j = 0; j < labels; ++j)
          expected += w * y(a, i) * y(b, j) * model.metric().distance(i, j);
      }
      for (int c = 0; c < model.num_cuts(); ++c) {
        long double difference = 0.0L;
        for (const int i : model.labels().cuts->set(c))
          difference += y(a, static_cast<std::size_t>(i)) - y(b, static_cast<std::size_t>(i));
        variation += w * model.metric().length[static_cast<std::size_t>(c)] * std::abs(difference);
      }
    }
  }
  return {alone - expected, alone - variation};
}

// The allowance for rounding in the verifiers: 1e-11 of the terms that they add up, and underflow.
long double Slack(const DenseCrf& model, long double T) {
  long double size = std::abs(model.constant());
  double length = 0.0;
  for (const double l : model.metric().length) length += l;
  for (std::size_t a = 0; a < model.num_variables(); ++a) {
    for (const float phi : model.unary().row(a)) size += std::abs(phi);
    size += T * std::log(static_cast<long double>(model.num_labels()));
    for (std::size_t b = 0; b < model.num_variables(); ++b)
      size += a == b ? 0.0 : length * model.PairWeight(a, b);
  }
  return 1e-11L * size + 1e-300L;
}

template <class Body>
void ForModels(int count, std::uint64_t seed, const Body& body) {
  RandomModels random(seed);
  for (int trial = 0; trial < count && !::testing::Test::HasFailure(); ++trial) {
    const int labels = random.Integer(2, 4);
    const DenseCrf model =
        random.Dense(random.Integer(1, labels == 4 ? 5 : 6), random.Labels(labels));
    for (const double T : kTemperatures) {
      SCOPED_TRACE(::testing::Message()
                   << "trial " << trial << ", T " << T << ": " << model.Description());
      body(model, T, &random);
    }
  }
}

TEST(DenseTemperatureTest, ValuesFollowTheDefinitionFromTheSafeSide) {
  ForModels(60, 1, [](const DenseCrf& model, double T, RandomModels* random) {
    const long double slack = Slack(model, T);
    // In steps of 2^-12, so that differences have no rounding.
    Matrix<float> v = RandomPotential(model, random);
    for (std::size_t k = 0; k < v.size(); ++k)
      v.data()[k] = std::round(v.data()[k] * 0x1p12F) * 0x1p-12F;
    const FlowProof proof{{1.0, FlowShape::kClip, v}};
    const OperatorVerifier verifier(model, AllPairs(model), {}, T);
    const long double expected_upper = UpperByDefinition(model, v, T);
    for (const double upper : {VerifiedUpper(model, proof, At(T)), verifier.Upper(proof)}) {
      EXPECT_GE(upper, expected_upper);
      EXPECT_LE(upper, expected_upper + slack);
    }

    const Matrix<float> y = RandomMarginals(model, random);
    const PointValues expected = AtByDefinition(model, y, T);
    const VerifiedPoint at = VerifiedAt(model, y, At(T));
    for (const double lower : {at.lower, verifier.Lower(y)}) {
      EXPECT_LE(lower, expected.lower);
      EXPECT_GE(lower, expected.lower - slack);
    }
    for (const double dual : {at.dual, verifier.Dual(y)}) {
      EXPECT_LE(dual, expected.dual);
      EXPECT_GE(dual, expected.dual - slack);
    }
  });
}

TEST(DenseTemperatureTest, EncloseThePartitionFunction) {
  ForModels(60, 2, [](const DenseCrf& model, double T, RandomModels* random) {
    const long double exact = SoftMaximum(MinusEnergies(model), T);
    const long double rounding = 1e-3L * Slack(model, 0.0L);  // energies are summed in double
    const FlowProof proof{{0.4, FlowShape::kClip, RandomPotential(model, random)},
                          {0.6, FlowShape::kSign, RandomPotential(model, random)}};
    const Matrix<float> y = RandomMarginals(model, random);
    const OperatorVerifier verifier(model, AllPairs(model), {}, T);
    const VerifiedPoint at = VerifiedAt(model, y, At(T));
    EXPECT_LE(at.lower, exact + rounding);
    EXPECT_LE(verifier.Lower(y), exact + rounding);
    for (const double upper : {VerifiedUpper(model, proof, At(T)), verifier.Upper(proof)}) {
      EXPECT_GE(upper, exact - rounding);
      EXPECT_LE(at.dual, upper) << "weak duality";
      EXPECT_LE(verifier.Dual(y), upper) << "weak duality";
    }
    for (const double cutoff : {1e-4, 0.1, 100.0}) {
      EXPECT_GE(VerifiedUpper(model, proof, {.temperature = T, .cutoff = cutoff}),
                exact - rounding);
    }
    EXPECT_LE(VerifiedAt(model, y, {.temperature = T, .far_tolerance = 0.1}).lower,
              exact + rounding);
  });
}

// Labelings have no entropy, not even its rounding error, which would dominate at T = 1e12.
TEST(DenseTemperatureTest, EnergiesDoNotDependOnTheTemperature) {
  ForModels(30, 3, [](const DenseCrf& model, double T, RandomModels* random) {
    std::vector<int> labels(model.num_variables());
    for (int& label : labels) label = random->Integer(0, model.num_labels() - 1);
    const VerifiedPoint cold = VerifiedAt(model, labels, At(0.0));
    const VerifiedPoint at = VerifiedAt(model, labels, At(T));
    EXPECT_EQ(at.lower, cold.lower);
    EXPECT_EQ(at.dual, cold.dual);
    EXPECT_EQ(VerifiedEnergy(model, labels, At(T)), -cold.lower);
    EXPECT_EQ(OperatorVerifier(model, AllPairs(model), {}, T).Energy(labels),
              OperatorVerifier(model, AllPairs(model), {}, 0.0).Energy(labels));
    EXPECT_NEAR(-at.lower, model.Energy(labels), static_cast<double>(Slack(model, 0.0L)));
  });
}

// value(T; E) = T value(1; E / T): powers of 2 divide single precision without rounding.
TEST(DenseTemperatureTest, ScaleWithTheEnergy) {
  RandomModels random(4);
  for (int trial = 0; trial < 40; ++trial) {
    const DenseCrf model = random.Dense(random.Integer(1, 40), random.Labels(random.Integer(2, 6)));
    const Matrix<float> y = RandomMarginals(model, &random);
    const FlowProof proof{{1.0, FlowShape::kClip, RandomPotential(model, &random)}};
    for (const double T : {0x1p-40, 0.25, 8.0, 0x1p40}) {
      SCOPED_TRACE(::testing::Message() << "T " << T << ": " << model.Description());
      Matrix<float> unary = model.unary();
      for (std::size_t k = 0; k < unary.size(); ++k)
        unary.data()[k] = static_cast<float>(unary.data()[k] / T);
      std::vector<GaussianKernel> kernels = model.kernels();
      for (GaussianKernel& kernel : kernels) kernel.weight /= T;
      const DenseCrf scaled(unary, kernels, model.labels(), model.counting(), model.constant() / T);
      const double rounding = 2.0 * static_cast<double>(Slack(model, T));
      EXPECT_NEAR(VerifiedUpper(model, proof, At(T)), T * VerifiedUpper(scaled, proof, At(1.0)),
                  rounding);
      EXPECT_NEAR(VerifiedAt(model, y, At(T)).lower, T * VerifiedAt(scaled, y, At(1.0)).lower,
                  rounding);
      EXPECT_NEAR(VerifiedAt(model, y, At(T)).dual, T * VerifiedAt(scaled, y, At(1.0)).dual,
                  rounding);
      const OperatorVerifier verifier(model, AllPairs(model), {}, T);
      const OperatorVerifier unit(scaled, AllPairs(model), {});
      EXPECT_NEAR(verifier.Upper(proof), T * unit.Upper(proof), rounding);
      EXPECT_NEAR(verifier.Lower(y), T * unit.Lower(y), rounding);
      EXPECT_NEAR(verifier.Dual(y), T * unit.Dual(y), rounding);
    }
  }
}

// T H exceeds the largest number: the lower bound is -infinity, not something wrong.
TEST(DenseTemperatureTest, OverflowIsOnTheSafeSide) {
  const DenseCrf model(Matrix<float>(100, 3, 1.0F), {{"flat", Matrix<double>(100, 1)}},
                       PottsLabels(3));
  const Matrix<float> y(100, 3, 1.0F);
  const OperatorVerifier verifier(model, AllPairs(model), {}, kLargest);
  EXPECT_EQ(VerifiedUpper(model, {}, At(kLargest)), HUGE_VAL);
  EXPECT_EQ(verifier.Upper({}), HUGE_VAL);
  EXPECT_EQ(VerifiedAt(model, y, At(kLargest)).lower, -HUGE_VAL);
  EXPECT_EQ(VerifiedAt(model, y, At(kLargest)).dual, -HUGE_VAL);
  EXPECT_EQ(verifier.Lower(y), -HUGE_VAL);
  EXPECT_EQ(verifier.Dual(y), -HUGE_VAL);
}

// Products of the least number are rounded to 0 or to it, with any relative error.
TEST(DenseTemperatureTest, UnderflowIsOnTheSafeSide) {
  const DenseCrf four(Matrix<float>(1, 4), {}, PottsLabels(4));
  const long double upper = kLeastSubnormal * std::log(4.0L);
  EXPECT_GE(VerifiedUpper(four, {}, At(kLeastSubnormal)), upper);
  EXPECT_GE(OperatorVerifier(four, {}, {}, kLeastSubnormal).Upper({}), upper);
  const DenseCrf two(Matrix<float>(1, 2), {}, PottsLabels(2));
  Matrix<float> y(1, 2);
  y(0, 0) = 0.6F;
  y(0, 1) = 0.4F;
  const long double lower = AtByDefinition(two, y, kLeastSubnormal).lower;
  EXPECT_LE(VerifiedAt(two, y, At(kLeastSubnormal)).lower, lower);
  EXPECT_LE(OperatorVerifier(two, {}, {}, kLeastSubnormal).Dual(y), lower);
}

TEST(DenseTemperatureTest, NothingToRoundIsNotRounded) {
  const DenseCrf model(Matrix<float>(3, 2), {}, PottsLabels(2));
  EXPECT_EQ(VerifiedUpper(model, {}, At(0.0)), 0.0);
  EXPECT_EQ(VerifiedAt(model, Matrix<float>(3, 2, 0.5F), At(0.0)).lower, 0.0);
}

TEST(DenseTemperatureTest, RefusesTemperaturesThatAreNone) {
  const DenseCrf model(Matrix<float>(3, 2, 1.0F), {{"flat", Matrix<double>(3, 1)}}, PottsLabels(2));
  for (const double bad : {-1e-300, -1.0, std::nan(""), HUGE_VAL}) {
    const char* message = "expected a finite number >= 0";
    ExpectInvalid([&] { VerifiedUpper(model, {}, At(bad)); }, message);
    ExpectInvalid([&] { VerifiedAt(model, Matrix<float>(3, 2, 0.5F), At(bad)); }, message);
    ExpectInvalid([&] { VerifiedEnergy(model, {0, 1, 0}, At(bad)); }, message);
    ExpectInvalid([&] { OperatorVerifier(model, AllPairs(model), {}, bad); }, message);
  }
}

}  // namespace
}  // namespace submarine::internal
