// What certificates prove about sums, against enumeration: expectations and quantiles of random small
// models, whatever the evidence, the temperature and the sum.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/bound/expectation.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/operator_verifier.h"
#include "submarine/bound/verify/dense/operator_verifier_test_util.h"
#include "submarine/bound/verify/dense/routed/routed_verifier.h"
#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solve/solve.h"
#include "submarine/solver/flow/pdhg.h"
#include "submarine/solver/forest/trw.h"
#include "submarine/submarine.h"

namespace submarine::internal {
namespace {

using testing::NextLabeling;
using testing::OperatorModel;
using testing::OperatorWeights;
using testing::RandomModels;
using testing::RandomPotential;

using Tilted = std::shared_ptr<const TiltedUpper>;

// All labelings, and their probabilities at temperature T.
class Enumerated {
 public:
  Enumerated(const SparseCrf& model, double T) {
    std::vector<int> x(model.num_variables(), 0);
    std::vector<double> exponents;
    do {
      labelings_.push_back(x);
      exponents.push_back(-model.Energy(x) / T);
    } while (NextLabeling(&x, model.num_labels()));
    const double largest = *std::max_element(exponents.begin(), exponents.end());
    double sum = 0.0;
    for (const double e : exponents) sum += std::exp(e - largest);
    for (const double e : exponents) probability_.push_back(std::exp(e - largest) / sum);
  }

  // Checks what is claimed, and counts how often it says something.
  void Check(const Expectation& found, const Matrix<double>& values) {
    double mean = 0.0;
    double outside = 0.0;
    double least = HUGE_VAL;
    double largest = -HUGE_VAL;
    double size = 0.0;
    for (std::size_t k = 0; k < values.size(); ++k) size += std::abs(values.data()[k]);
    const double rounding = 1e-10 * (1.0 + size);
    for (std::size_t k = 0; k < labelings_.size(); ++k) {
      double sum = 0.0;
      for (std::size_t a = 0; a < values.rows(); ++a)
        sum += values(a, static_cast<std::size_t>(labelings_[k][a]));
      mean += probability_[k] * sum;
      if (sum < found.credible_lower - rounding || sum > found.credible_upper + rounding)
        outside += probability_[k];
      least = std::min(least, sum);
      largest = std::max(largest, sum);
    }
    EXPECT_LE(found.lower, mean + rounding);
    EXPECT_GE(found.upper, mean - rounding);
    EXPECT_LE(outside, 1.0 - kCredibility + 1e-12);
    EXPECT_GE(found.lower, least - rounding);
    EXPECT_LE(found.upper, largest + rounding);
    EXPECT_LE(found.credible_lower, found.lower + rounding);
    EXPECT_GE(found.credible_upper, found.upper - rounding);
    const double range = largest - least;
    mean_says += (found.upper - found.lower < 0.9 * range) ? 1 : 0;
    sample_says += (found.credible_upper - found.credible_lower < 0.99 * range) ? 1 : 0;
  }

  double Probability(std::size_t variable, int label) const {
    double sum = 0.0;
    for (std::size_t k = 0; k < labelings_.size(); ++k)
      sum += labelings_[k][variable] == label ? probability_[k] : 0.0;
    return sum;
  }

  static inline int mean_says = 0;
  static inline int sample_says = 0;

 private:
  std::vector<std::vector<int>> labelings_;
  std::vector<double> probability_;
};

// Areas of a label in a region, agreement with labels, or any numbers.
Matrix<double> RandomValues(std::size_t variables, int labels, RandomModels* random) {
  Matrix<double> values(variables, static_cast<std::size_t>(labels));
  const int kind = random->Integer(0, 3);
  const int label = random->Integer(0, labels - 1);
  const double size = std::pow(10.0, random->Real(-4.0, 4.0));
  for (std::size_t a = 0; a < variables; ++a) {
    if (kind == 0) values(a, static_cast<std::size_t>(label)) = random->Integer(0, 3) == 0 ? 0 : 1;
    if (kind == 1) values(a, static_cast<std::size_t>(random->Integer(0, labels - 1))) = 1.0;
    for (int i = 0; i < labels && kind >= 2; ++i)
      values(a, static_cast<std::size_t>(i)) = kind == 2 ? i : random->Real(-size, size);
  }
  return values;
}

int FewVariables(int labels, RandomModels* random) {
  return random->Integer(1, labels == 2 ? 10 : labels == 3 ? 6 : 5);
}

double RandomTemperature(RandomModels* random) {
  return random->Integer(0, 1) == 0 ? 1.0 : std::exp(random->Real(-2.0, 2.0));
}

// As tight as it gets: from exact inference.
Bound ExactLower(const SparseCrf& model, double T) {
  return *Solve(model, {.method = Method::kExact, .temperature = T}).certificate.lower;
}

void CheckAll(const TiltedUpper& tilted, const Bound& lower, const SparseCrf& model, double T,
              RandomModels* random) {
  Enumerated exact(model, T);
  for (int sum = 0; sum < 2; ++sum) {
    const Matrix<double> values = RandomValues(model.num_variables(), model.num_labels(), random);
    exact.Check(CertifiedExpectation(tilted, lower, values), values);
  }
  const auto variable =
      static_cast<std::size_t>(random->Integer(0, static_cast<int>(model.num_variables()) - 1));
  const int label = random->Integer(0, model.num_labels() - 1);
  const Expectation p =
      CertifiedProbability(tilted, lower, variable, static_cast<std::size_t>(label));
  EXPECT_LE(p.lower, exact.Probability(variable, label) + 1e-10);
  EXPECT_GE(p.upper, exact.Probability(variable, label) - 1e-10);
}

class Expectations : public ::testing::Test {
 protected:
  void SetUp() override { Enumerated::mean_says = Enumerated::sample_says = 0; }
  // Most sums must be known better than trivially, or this tests nothing.
  void ExpectSays(int mean, int sample) {
    EXPECT_GE(Enumerated::mean_says, mean);
    EXPECT_GE(Enumerated::sample_says, sample);
  }
};

// Flows, unaries and forests; 1500 models.
TEST_F(Expectations, OfSparseModelsContainTheExactOnes) {
  RandomModels random(3201);
  for (int trial = 0; trial < 1500 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 5);
    const double strength = random.Real(0.0, 12.0);
    const SparseCrf model =
        random.Model(FewVariables(labels, &random), random.Labels(labels), -strength, strength);
    const double T = RandomTemperature(&random);
    SCOPED_TRACE(::testing::Message()
                 << "trial " << trial << ": " << model.Description() << ", T = " << T);
    Tilted tilted;
    const int kind = random.Integer(0, 4);
    if (kind == 0) {
      VerifiedUnaryUpper(model, T, &tilted);
    } else if (kind <= 2) {
      PdhgOptions pdhg;
      pdhg.temperature = T;
      pdhg.max_iterations = random.Integer(0, 300);
      VerifiedUpper(model, ExtensionKind::kOptimal, SolvePdhg(model, pdhg).flow, T, &tilted);
    } else {
      TrwOptions trw;
      trw.temperature = T;
      trw.max_iterations = random.Integer(1, 50);
      const TrwEvidence evidence = SolveTrw(model, trw).evidence;
      if (kind == 3) {
        VerifiedTrwUpper(model, evidence, T, &tilted);
      } else {
        VerifiedTrwUpper(ToFactorGraph(model), evidence, T, &tilted);
      }
    }
    CheckAll(*tilted, ExactLower(model, T), model, T, &random);
  }
  ExpectSays(1000, 300);
}

// Flows about the exact Gaussians and about operators; 1000 models.
TEST_F(Expectations, OfDenseModelsContainTheExactOnes) {
  RandomModels random(3202);
  constexpr OperatorKind kKinds[] = {OperatorKind::kBruteForce, OperatorKind::kNeighbourList,
                                     OperatorKind::kLattice};
  for (int trial = 0; trial < 1000 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 4);
    const DenseCrf model = random.Dense(FewVariables(labels, &random), random.Labels(labels));
    const double T = RandomTemperature(&random);
    SCOPED_TRACE(::testing::Message()
                 << "trial " << trial << ": " << model.Description() << ", T = " << T);
    FlowProof proof;
    if (random.Integer(0, 3) > 0) {
      proof.push_back({0.6, FlowShape::kClip, RandomPotential(model, &random)});
      proof.push_back({0.4, FlowShape::kSign, RandomPotential(model, &random)});
    }
    Tilted tilted;
    if (random.Integer(0, 1) == 0) {
      const PairOptions options{.temperature = T, .cutoff = std::pow(10.0, random.Real(-4.0, 1.0))};
      VerifiedUpper(model, proof, options, &tilted);
      const SolveResult exact = Solve(model, {.method = Method::kExact, .temperature = T});
      CheckAll(*tilted, *exact.certificate.lower, ToSparseCrf(model), T, &random);
    } else {
      const std::vector<OperatorKind> kinds(model.kernels().size(), kKinds[random.Integer(0, 2)]);
      const OperatorOptions options{.cutoff = std::pow(10.0, random.Real(-4.0, -0.1))};
      OperatorVerifier(model, kinds, options, T).Upper(proof, {}, &tilted);
      const SparseCrf sparse = OperatorModel(model, OperatorWeights(model, kinds, options));
      CheckAll(*tilted, ExactLower(sparse, T), sparse, T, &random);
    }
  }
  ExpectSays(500, 100);
}

// Mean field and what its fluctuations add, about lattices; 1500 models, of which some have none.
TEST_F(Expectations, OfFluctuationsContainTheExactOnes) {
  RandomModels random(3205);
  int bounded = 0;
  int tight = 0;
  for (int trial = 0; trial < 1500 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 5);
    const DenseCrf given = random.Dense(FewVariables(labels, &random), PottsLabels(labels));
    std::vector<GaussianKernel> kernels = given.kernels();
    const double strength = std::pow(10.0, random.Real(-2.0, 0.5));
    for (GaussianKernel& kernel : kernels) kernel.weight *= strength;
    const DenseCrf model(Matrix<float>(given.unary()), std::move(kernels), PottsLabels(labels),
                         PairCounting::kOnce, given.constant());
    const double T = RandomTemperature(&random);
    SCOPED_TRACE(::testing::Message()
                 << "trial " << trial << ": " << model.Description() << ", T = " << T);
    Matrix<float> marginals(model.num_variables(), static_cast<std::size_t>(labels));
    for (std::size_t k = 0; k < marginals.size(); ++k)
      marginals.data()[k] = static_cast<float>(random.Real(1e-3, 1.0));
    const std::vector<OperatorKind> kinds(model.kernels().size(), OperatorKind::kLattice);
    Tilted tilted;
    const std::optional<Bound> upper =
        OperatorVerifier(model, kinds, {}, T).FluctuationUpper(marginals, {}, &tilted);
    if (!upper) continue;
    ++bounded;
    const SparseCrf sparse = OperatorModel(model, OperatorWeights(model, kinds, {}));
    const Bound lower = ExactLower(sparse, T);
    EXPECT_GE(upper->value(), lower.value() - 1e-12 * std::abs(lower.value()));
    EXPECT_EQ(tilted->untilted().value(), upper->value());
    tight += upper->value() - lower.value() < 0.1 * T * static_cast<double>(model.num_variables())
                 ? 1
                 : 0;
    CheckAll(*tilted, lower, sparse, T, &random);
  }
  EXPECT_GE(bounded, 900);
  EXPECT_GE(tight, 300);
  ExpectSays(300, 50);
}

RoutedProof RandomRoutes(const DenseCrf& model, int bandwidth, RandomModels* random) {
  const std::size_t n = model.num_variables();
  RoutedProof proof;
  Routing& routing = proof.routing;
  routing.paths.bandwidth = bandwidth;
  routing.paths.order.resize(n);
  std::iota(routing.paths.order.begin(), routing.paths.order.end(), 0U);
  for (std::size_t p = n; p-- > 1;) {
    const auto other = static_cast<std::size_t>(random->Integer(0, static_cast<int>(p)));
    std::swap(routing.paths.order[p], routing.paths.order[other]);
  }
  routing.paths.begin = {0};
  if (n > 2 && random->Integer(0, 2) == 0) routing.paths.begin.push_back(2);
  routing.share = random->Integer(0, 1) == 0 ? 1.0 : random->Real(0.0, 1.0);
  routing.by_square = random->Integer(0, 3) == 0;
  if (random->Integer(0, 1) == 0) {
    routing.z = Matrix<float>(n, static_cast<std::size_t>(model.num_cuts()));
    for (std::size_t k = 0; k < routing.z.size(); ++k)
      routing.z.data()[k] = static_cast<float>(random->Real(0.0, 1.0));
    routing.threshold = Matrix<float>(n, static_cast<std::size_t>(bandwidth),
                                      static_cast<float>(random->Real(0.0, 3.0)));
  }
  if (random->Integer(0, 1) == 0)
    proof.flows.push_back({1.0, FlowShape::kClip, RandomPotential(model, random)});
  return proof;
}

// Paths of every bandwidth with routes and flows; 600 models.
TEST_F(Expectations, OfRoutedModelsContainTheExactOnes) {
  RandomModels random(3203);
  for (int trial = 0; trial < 600 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 4);
    const DenseCrf model = random.Dense(FewVariables(labels, &random), random.Labels(labels));
    const double T = RandomTemperature(&random);
    const int bandwidth = random.Integer(1, labels == 2 ? 5 : 3);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description()
                                      << ", T = " << T << ", bandwidth " << bandwidth);
    Tilted tilted;
    const PairOptions options{.temperature = T, .cutoff = 0.0};
    const RoutedProof proof = RandomRoutes(model, bandwidth, &random);
    const Bound upper = VerifiedRoutedUpper(model, proof, options, &tilted);
    EXPECT_EQ(tilted->untilted().value(), upper.value());
    const SolveResult exact = Solve(model, {.method = Method::kExact, .temperature = T});
    CheckAll(*tilted, *exact.certificate.lower, ToSparseCrf(model), T, &random);
  }
  ExpectSays(300, 60);
}

// From the solve to the functions that people call, with the lower bounds that it finds; 400 models.
TEST_F(Expectations, OfSolvesContainTheExactOnes) {
  RandomModels random(3204);
  constexpr Method kSparse[] = {Method::kAuto, Method::kPdhg, Method::kTrw, Method::kExact,
                                Method::kMeanField};
  constexpr Method kDense[] = {Method::kAuto, Method::kPdhg, Method::kRouted, Method::kExact};
  for (int trial = 0; trial < 400 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 4);
    const int variables = FewVariables(labels, &random);
    const double T = RandomTemperature(&random);
    SolveOptions options{.temperature = T, .limits = {.max_iterations = 30}};
    options.expectations = true;
    SolveResult result;
    std::unique_ptr<SparseCrf> model;
    if (trial % 2 == 0) {
      model = std::make_unique<SparseCrf>(random.Model(variables, labels));
      options.method = kSparse[random.Integer(0, 4)];
      result =
          trial % 4 == 0 || options.method == Method::kPdhg || options.method == Method::kMeanField
              ? Solve(*model, options)
              : Solve(ToFactorGraph(*model), options);
    } else {
      const DenseCrf dense = random.Dense(variables, random.Labels(labels));
      options.method = kDense[random.Integer(0, 3)];
      options.dense.certify = Certify::kExact;
      model = std::make_unique<SparseCrf>(ToSparseCrf(dense));
      result = Solve(dense, options);
    }
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << ToString(options.method)
                                      << ", " << model->Description() << ", T = " << T);
    Enumerated exact(*model, T);
    const Matrix<double> values = RandomValues(model->num_variables(), labels, &random);
    const Expectation found = ExpectationOf(result, values);
    exact.Check(found, values);
    EXPECT_TRUE(found.claimed.has_value());
    if (options.method == Method::kExact) {
      EXPECT_LE(found.lower, *found.claimed + 1e-4 * (1.0 + std::abs(*found.claimed)));
      EXPECT_GE(found.upper, *found.claimed - 1e-4 * (1.0 + std::abs(*found.claimed)));
    }

    std::vector<char> mask(model->num_variables());
    for (char& in : mask) in = static_cast<char>(random.Integer(0, 1));
    const std::vector<Expectation> areas = AreasOf(result, mask);
    ASSERT_EQ(areas.size(), static_cast<std::size_t>(labels));
    for (std::size_t i = 0; i < areas.size(); ++i) {
      Matrix<double> area(model->num_variables(), static_cast<std::size_t>(labels));
      for (std::size_t a = 0; a < mask.size(); ++a) area(a, i) = mask[a];
      exact.Check(areas[i], area);
    }
    Matrix<double> same(model->num_variables(), static_cast<std::size_t>(labels));
    for (std::size_t a = 0; a < mask.size(); ++a)
      same(a, static_cast<std::size_t>(result.labels[a])) = 1.0;
    exact.Check(AgreementOf(result, result.labels), same);
    const Expectation p = ProbabilityOf(result, 0, 0);
    EXPECT_LE(p.lower, exact.Probability(0, 0) + 1e-10);
    EXPECT_GE(p.upper, exact.Probability(0, 0) - 1e-10);
  }
  ExpectSays(800, 200);
}

// Tilting is not only valid: it is the verified bound of the other unaries, up to the rounding of q.
TEST(TiltedBounds, AreThoseOfTheOtherUnaries) {
  RandomModels random(3209);
  const auto near = [](double value) { return 1e-5 * (1.0 + std::abs(value)); };
  for (int trial = 0; trial < 300 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 4);
    const double T = RandomTemperature(&random);
    const DenseCrf dense = random.Dense(FewVariables(labels, &random), random.Labels(labels));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << dense.Description());
    Matrix<float> other = dense.unary();
    Matrix<double> values(other.rows(), other.cols());
    for (std::size_t k = 0; k < values.size(); ++k) {
      other.data()[k] = static_cast<float>(random.Real(-5.0, 5.0));
      values.data()[k] = static_cast<double>(dense.unary().data()[k]) - other.data()[k];
    }
    const DenseCrf shifted(other, dense.kernels(), dense.labels(), dense.counting(),
                           dense.constant());
    Tilted tilted;
    const PairOptions options{.temperature = T, .cutoff = 0.0};
    const FlowProof flows = {{1.0, FlowShape::kClip, RandomPotential(dense, &random)}};
    const double of_flows = VerifiedUpper(shifted, flows, options);
    VerifiedUpper(dense, flows, options, &tilted);
    EXPECT_NEAR(tilted->LogZ(values, 1.0), of_flows, near(of_flows));
    const RoutedProof routes = RandomRoutes(dense, random.Integer(1, 3), &random);
    const double of_routes = VerifiedRoutedUpper(shifted, routes, options);
    VerifiedRoutedUpper(dense, routes, options, &tilted);
    EXPECT_NEAR(tilted->LogZ(values, 1.0), of_routes, near(of_routes));

    const SparseCrf sparse = ToSparseCrf(dense);
    const SparseCrf sparse_shifted = ToSparseCrf(shifted);
    PdhgOptions pdhg;
    pdhg.temperature = T;
    pdhg.max_iterations = 20;
    const Flow flow = SolvePdhg(sparse, pdhg).flow;
    const double of_sparse = VerifiedUpper(sparse_shifted, ExtensionKind::kOptimal, flow, T);
    VerifiedUpper(sparse, ExtensionKind::kOptimal, flow, T, &tilted);
    EXPECT_NEAR(tilted->LogZ(values, 1.0), of_sparse, near(of_sparse));
    // Half of the way, and back.
    EXPECT_LE(tilted->LogZ(values, 0.5), 0.5 * (of_sparse + tilted->untilted()) + near(of_sparse));
    EXPECT_NEAR(tilted->LogZ(values, 0.0), tilted->untilted(), near(of_sparse));

    TrwOptions trw;
    trw.temperature = T;
    trw.max_iterations = 5;
    TrwEvidence evidence = SolveTrw(sparse, trw).evidence;
    VerifiedTrwUpper(sparse, evidence, T, &tilted);
    for (Matrix<double>& unary : evidence.unary) {
      for (std::size_t k = 0; k < values.size(); ++k) unary.data()[k] -= values.data()[k];
    }
    const double of_forests = VerifiedTrwUpper(sparse_shifted, evidence, T);
    EXPECT_NEAR(tilted->LogZ(values, 1.0), of_forests, near(of_forests));

    const SolveResult exact =
        Solve(dense, {.method = Method::kExact, .temperature = T, .expectations = true});
    const SolveResult exact_shifted = Solve(shifted, {.method = Method::kExact, .temperature = T});
    const double log_z = *exact_shifted.certificate.upper;
    EXPECT_NEAR(exact.tilted->LogZ(values, 1.0), log_z, near(log_z));
  }
}

// Tilts that overflow say nothing, and never too much.
TEST(TiltedBounds, AreInfiniteWhereNothingIsKnown) {
  RandomModels random(3210);
  const DenseCrf dense = random.Dense(4, PottsLabels(2));
  Tilted flows;
  Tilted routes;
  VerifiedUpper(dense, {}, {}, &flows);
  VerifiedRoutedUpper(dense, RandomRoutes(dense, 1, &random), {}, &routes);
  const Tilted exact = Solve(dense, {.method = Method::kExact, .expectations = true}).tilted;
  for (const Tilted& tilted : {flows, routes, exact}) {
    for (const double value : {1e200, -1e200}) {
      Matrix<double> values(4, 2, value);
      EXPECT_EQ(tilted->LogZ(values, 1e200).value(), HUGE_VAL);
      values(0, 0) = 0.0;
      EXPECT_EQ(tilted->LogZ(values, 1e200).value(), HUGE_VAL);
    }
  }
}

TEST(ExpectationEnds, AreThoseOfAllLabelingsWhereNothingIsProven) {
  RandomModels random(3205);
  const SparseCrf model = random.Model(6, 3);
  Tilted tilted;
  VerifiedUnaryUpper(model, 1.0, &tilted);
  const Matrix<double> values = RandomValues(6, 3, &random);
  double least = 0.0;
  double largest = 0.0;
  for (std::size_t a = 0; a < 6; ++a) {
    const auto row = values.row(a);
    least += *std::min_element(row.begin(), row.end());
    largest += *std::max_element(row.begin(), row.end());
  }
  // No lower bound, and one that is far too low.
  const Bound low = Lowered(ExactLower(model, 1.0), 1e9);
  for (const std::optional<Bound>& lower : {std::optional<Bound>(), std::optional<Bound>(low)}) {
    const Expectation found = CertifiedExpectation(*tilted, lower, values);
    EXPECT_NEAR(found.lower, least, 1e-9 * (1.0 + std::abs(least)));
    EXPECT_NEAR(found.upper, largest, 1e-9 * (1.0 + std::abs(largest)));
    EXPECT_EQ(found.credible_lower.value(), found.lower.value());
    EXPECT_EQ(found.credible_upper.value(), found.upper.value());
    const Expectation p = CertifiedProbability(*tilted, lower, 0, 0);
    EXPECT_EQ(p.lower.value(), 0.0);
    EXPECT_EQ(p.upper.value(), 1.0);
  }
}

TEST(ExpectationEnds, AreTightWhereTheBoundsAre) {
  RandomModels random(3206);
  const SparseCrf model(random.Points(200, 3, 0.0, 3.0), {}, PottsLabels(3));
  SolveOptions options{.method = Method::kPdhg, .expectations = true};
  const SolveResult result = Solve(model, options);
  const Expectation area = AreasOf(result).front();
  EXPECT_NEAR(area.lower, *area.claimed, 0.05);
  EXPECT_NEAR(area.upper, *area.claimed, 0.05);
  // Chernoff's bound of 200 independent variables: about four standard deviations each way.
  EXPECT_LT(area.credible_upper - area.credible_lower, 60.0);
  EXPECT_GT(area.credible_upper - area.credible_lower, 20.0);
}

TEST(ExpectationErrors, SayWhatIsWrong) {
  RandomModels random(3207);
  const SparseCrf model = random.Model(3, 2);
  EXPECT_THROW(AreasOf(Solve(model)), InvalidInput);
  SolveOptions options;
  options.expectations = true;
  const SolveResult result = Solve(model, options);
  EXPECT_THROW(ExpectationOf(result, Matrix<double>(2, 2)), InvalidInput);
  EXPECT_THROW(ExpectationOf(result, Matrix<double>(3, 1)), InvalidInput);
  EXPECT_THROW(ExpectationOf(result, Matrix<double>(3, 2, HUGE_VAL)), InvalidInput);
  EXPECT_THROW(AreasOf(result, std::vector<char>(2, 1)), InvalidInput);
  EXPECT_THROW(AgreementOf(result, std::vector<int>{0, 1}), InvalidInput);
  EXPECT_THROW(AgreementOf(result, std::vector<int>{0, 1, 2}), InvalidInput);
  EXPECT_THROW(ProbabilityOf(result, 3, 0), InvalidInput);
  EXPECT_THROW(ProbabilityOf(result, 0, 2), InvalidInput);
  options.temperature = 0.0;
  EXPECT_THROW(Solve(model, options), InvalidInput);
  options.temperature = 1.0;
  options.dense.certify = Certify::kNone;
  EXPECT_THROW(Solve(random.Dense(3, PottsLabels(2)), options), InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
