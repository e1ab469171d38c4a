// Dense models from kernels to certificate, through the public API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/error_test_util.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/normalisation_test_util.h"
#include "submarine/filter/list/neighbour_list.h"
#include "submarine/model/image_features.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/candidate/dense_flows.h"
#include "submarine/solve/registry.h"
#include "submarine/solve/solve.h"
#include "submarine/solver/flow/dense_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExactValue;
using testing::ExpectInvalid;
using ::testing::HasSubstr;
using testing::ModelOf;
using testing::NextLabeling;
using ::testing::Not;
using testing::RandomModels;
using testing::RowSum;
using testing::SingleRounding;
using testing::Square;

// Whoever applies the pairs: certificates about the exact Gaussians hold the one value that there is.
TEST(DenseSolveTest, CertificatesOfAllOperatorsHoldTheSameValue) {
  RandomModels random(6);
  for (int trial = 0; trial < 10; ++trial) {
    GaussianKernel kernel = Square(8, 4.0, &random);
    kernel.weight = 3.0;
    Matrix<float> unary(8, 2);
    for (std::size_t k = 0; k < unary.size(); ++k)
      unary.data()[k] = static_cast<float>(random.Real(-2.0, 2.0));
    const DenseCrf model(unary, {kernel}, PottsLabels(2));
    long double z = 0.0L;
    std::vector<int> x(8, 0);
    do {
      long double energy = 0.0L;
      for (std::size_t a = 0; a < 8; ++a) {
        energy += unary(a, static_cast<std::size_t>(x[a]));
        for (std::size_t b = 0; b < a; ++b) {
          if (x[a] == x[b]) continue;
          energy += 2.0L * 3.0L * KernelValue(kernel, a, b) /
                    std::sqrt(RowSum(kernel, a) * RowSum(kernel, b));
        }
      }
      z += std::exp(-energy);
    } while (NextLabeling(&x, 2));
    const auto log_z = static_cast<double>(std::log(z));
    for (const OperatorKind kind : {OperatorKind::kAuto, OperatorKind::kNeighbourList,
                                    OperatorKind::kLattice, OperatorKind::kBruteForce}) {
      for (const Method method : {Method::kAuto, Method::kMeanField}) {
        SolveOptions options;
        options.method = method;
        options.dense.pairs.kind = kind;
        options.dense.pairs.cutoff = 0.3;
        options.dense.certify = Certify::kExact;
        const SolveResult outcome = Solve(model, options);
        EXPECT_LE(*outcome.certificate.lower, log_z);
        EXPECT_GE(*outcome.certificate.lower, log_z - 3.0);
        if (outcome.certificate.upper) {
          EXPECT_GE(*outcome.certificate.upper, log_z);
        }
        EXPECT_EQ(outcome.certificate.upper.has_value(), method == Method::kAuto);
        EXPECT_THAT(outcome.certificate.model, HasSubstr("(weight 3, normalised)"));
        EXPECT_THAT(outcome.certificate.model, HasSubstr("exact Gaussians"));
      }
    }
  }
}

// Mean field on a picture is quick because its kernels are normalised by the lattice, too.
TEST(DenseSolveTest, OfMeanFieldIsTheOperators) {
  RandomModels random(7);
  const DenseCrf model = ModelOf(Square(5000, 30.0, &random));
  SolveOptions options;
  options.method = Method::kMeanField;
  options.dense.pairs.kind = OperatorKind::kLattice;
  options.limits.max_iterations = 2;
  std::vector<std::string> phases;
  const auto watch = [&](std::string_view phase, const SolveRecord&) {
    phases.emplace_back(phase);
    return true;
  };
  EXPECT_THAT(Solve(model, options, watch).certificate.model,
              HasSubstr("normalised by the row sums of lattice of"));
  EXPECT_THAT(phases.front(), Not(HasSubstr("normalising")));
  options.dense.certify = Certify::kExact;
  phases.clear();
  const SolveResult outcome = Solve(model, options, watch);
  EXPECT_THAT(outcome.certificate.model, Not(HasSubstr("row sums")));
  EXPECT_THAT(phases.front(), HasSubstr("normalising kernels"));
  // Stopped at once: what is left is quick, and named.
  const auto stop = [](std::string_view, const SolveRecord&) { return false; };
  EXPECT_THAT(Solve(model, options, stop).certificate.model,
              HasSubstr("normalised by the row sums of lattice of"));
}

// Two labels leave nothing to the relaxation, a minimum cut: the interval closes around the least
// energy, and the labels have it.
TEST(DenseSolveTest, TwoLabelsFindTheLeastEnergy) {
  RandomModels random(6);
  for (int trial = 0; trial < 40; ++trial) {
    const DenseCrf model = random.Dense(random.Integer(2, 12), PottsLabels(2));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const SolveResult outcome =
        Solve(model,
              {.temperature = 0.0, .limits = {.gap = 1e-4}, .dense = {.certify = Certify::kExact}});
    const double least = -ExactValue(model, 0.0);
    const double rounding = SingleRounding(model, 0.0);
    EXPECT_EQ(outcome.certificate.temperature, 0.0);
    EXPECT_EQ(outcome.termination, Termination::kGapReached);
    EXPECT_NEAR(*outcome.energy, least, 1e-4 * std::max(1.0, std::abs(least)) + rounding);
    EXPECT_GE(*outcome.energy, least - rounding);
    EXPECT_EQ(*outcome.certificate.lower, -*outcome.energy);
    EXPECT_GE(*outcome.certificate.upper, -least - 1e-9 * (1.0 + std::abs(least)));
  }
}

TEST(DenseSolveTest, SolveRefusesWhatItCannotDo) {
  RandomModels random(7);
  const DenseCrf model = random.Dense(5, PottsLabels(3));
  for (const double bad : {-1.0, 1e-31, 1e31, HUGE_VAL, std::nan("")}) {
    ExpectInvalid([&] { Solve(model, {.temperature = bad}); }, "the temperature is");
  }
  ExpectInvalid([&] { Solve(model, {.method = Method::kFrankWolfe, .temperature = 0.0}); },
                "this method needs a finite temperature");
}

// Whenever it is stopped, before the first pair or after the last: an interval, and soon.
TEST(DenseSolveTest, StoppedAnywhereItHasAnInterval) {
  RandomModels random(8);
  GaussianKernel kernel = Square(6000, 20.0, &random);
  kernel.normalisation = KernelNormalisation::kNone;
  const DenseCrf model = ModelOf(std::move(kernel));
  std::vector<std::string> seen;
  Solve(model, {.limits = {.max_iterations = 20}}, [&](std::string_view phase, const SolveRecord&) {
    if (seen.empty() || seen.back() != phase) seen.emplace_back(phase);
    return true;
  });
  EXPECT_THAT(seen, ::testing::Contains("preparing pairs"));
  EXPECT_THAT(seen, ::testing::Contains("certify upper bound"));
  for (const std::string& stop : seen) {
    SCOPED_TRACE(stop);
    const SolveResult result =
        Solve(model, {.limits = {.max_iterations = 20}},
              [&](std::string_view phase, const SolveRecord&) { return phase != stop; });
    ASSERT_TRUE(result.certificate.lower && result.certificate.upper);
    // N log 2 of entropy, and all labels equal at no cost.
    EXPECT_LE(*result.certificate.upper, 6000.0 * std::log(2.0) + 1e-6);
    EXPECT_GE(*result.certificate.lower, -1e-6);
    EXPECT_EQ(result.labels.size(), 6000U);
  }
}

// Interrupted in its first pass over the pairs, whoever does it and how often it is asked to go on: every
// chain ends, with nothing or with what it has.
TEST(DenseSolveTest, ChainsEndWhenPassesAreInterrupted) {
  // Only this thread asks whether to end: how often would depend on what others have left it.
  const ThreadLimit one(1);
  RandomModels random(11);
  const DenseCrf model = random.Dense(1500, PottsLabels(3));
  const NeighbourList pairs(testing::KernelsOf(model), {.cutoff = 1e-3});
  for (const MethodInfo& info : Methods()) {
    const DenseChain chain = EntryOf(info.method).dense.chain;
    if (chain == nullptr) continue;
    SCOPED_TRACE(info.name);
    for (const double deadline : {0.0, std::numeric_limits<double>::infinity()}) {
      for (const int limit : {1, 40}) {
        int asked = 0;
        const DenseExtension extension(model, pairs, [&] { return ++asked >= limit; });
        const Stopwatch clock;
        const DenseEvidence evidence =
            chain({info.name,
                   extension,
                   true,
                   {.deadline = deadline},
                   clock,
                   [](std::string_view, const SolveRecord&) { return true; }});
        EXPECT_NE(evidence.termination, Termination::kGapReached);
        if (!evidence.empty() && std::isfinite(evidence.bound.upper)) {
          EXPECT_EQ(evidence.bound.marginals.rows(), model.num_variables());
        }
      }
    }
  }
}

// No time at all: still an interval, or a refusal that says what would do.
TEST(DenseSolveTest, NoTimeIsNoExcuse) {
  RandomModels random(9);
  for (int trial = 0; trial < 20; ++trial) {
    const DenseCrf model = random.Dense(random.Integer(2, 10), PottsLabels(3));
    const SolveResult result = Solve(
        model, {.limits = {.time_limit_seconds = 0.0}, .dense = {.certify = Certify::kExact}});
    const double exact = ExactValue(model, 1.0);
    ASSERT_TRUE(result.certificate.lower && result.certificate.upper && result.energy);
    EXPECT_LE(*result.certificate.lower, exact + 1e-9 * (1.0 + std::abs(exact)));
    EXPECT_GE(*result.certificate.upper, exact - 1e-9 * (1.0 + std::abs(exact)));
  }
}

TEST(DenseSolveTest, MemoryIsCheckedBeforeTheWork) {
  RandomModels random(10);
  GaussianKernel kernel = Square(20000, 30.0, &random);
  kernel.normalisation = KernelNormalisation::kNone;
  const DenseCrf model = ModelOf(std::move(kernel));
  int told = 0;
  try {
    Solve(model, {.limits = {.max_bytes = 1000000}}, [&](std::string_view, const SolveRecord&) {
      ++told;
      return true;
    });
    FAIL() << "a megabyte is not enough";
  } catch (const TooLarge& error) {
    EXPECT_THAT(error.what(), HasSubstr("more than the limit of 1 MB"));
    EXPECT_THAT(error.what(), HasSubstr("a memory limit of"));
  }
  EXPECT_LE(told, 1);
}

// Before anyone computes the unaries.
TEST(DenseSolveTest, LimitsAreCheckedWithoutUnaries) {
  const std::vector<GaussianKernel> kernels = {PositionKernel(300, 200, 2.0, 2.0, 1.0)};
  const LabelSpace labels = PottsLabels(60);
  const auto refusal = [&](const SolveOptions& options) -> std::string {
    try {
      RequireFits(kernels, 60000, labels, options);
    } catch (const TooLarge& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({.limits = {.max_bytes = std::size_t{4} << 30}}), "");
  EXPECT_THAT(refusal({.limits = {.max_bytes = std::size_t{64} << 20}}), HasSubstr("of memory"));
  const std::vector<GaussianKernel> wide = {PositionKernel(300, 200, 40.0, 40.0, 1.0)};
  SolveOptions hurry{.limits = {.time_limit_seconds = 0.1, .max_bytes = std::size_t{4} << 30}};
  hurry.dense.pairs.kind = OperatorKind::kNeighbourList;
  EXPECT_THROW(RequireFits(wide, 60000, labels, hurry), TooLarge);
  // The same as with unaries.
  const DenseCrf model(Matrix<float>(60000, 60, 0.0F), wide, labels);
  EXPECT_THROW(Solve(model, hurry), TooLarge);
}

TEST(DenseSolveTest, IndependentVariablesAreExact) {
  RandomModels random(23);
  Matrix<float> unary(100, 2);
  long double log_z = 0.0L;
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    long double z = 0.0L;
    for (float& cost : unary.row(a)) {
      cost = static_cast<float>(random.Real(-3.0, 3.0));
      z += std::exp(-static_cast<long double>(cost));
    }
    log_z += std::log(z);
  }
  GaussianKernel without_weight = PositionKernel(10, 10, 2.0, 2.0, 0.0);
  for (const std::vector<GaussianKernel>& kernels :
       {std::vector<GaussianKernel>{}, std::vector<GaussianKernel>{without_weight}}) {
    const SolveResult result =
        Solve(DenseCrf(unary, kernels, PottsLabels(2)), {.method = Method::kExact});
    EXPECT_EQ(result.termination, Termination::kExact);
    EXPECT_LE(*result.certificate.lower, log_z);
    EXPECT_GE(*result.certificate.upper, log_z);
    EXPECT_LT(*result.certificate.upper - *result.certificate.lower, 1e-9);
  }
}

constexpr double kForever = std::numeric_limits<double>::infinity();

class VerifiedBeforeTest : public ::testing::Test {
 protected:
  VerifiedBeforeTest() {
    RandomModels random(8);
    model_.emplace(random.Dense(30, PottsLabels(3)));
    for (int i = 0; i < 3; ++i) {
      labelings_.emplace_back(30, i);
      for (std::size_t a = 0; a < 30; ++a) labelings_.back()[a] = random.Integer(0, 2);
    }
    std::sort(labelings_.begin(), labelings_.end(), [&](const auto& one, const auto& other) {
      return VerifiedEnergy(*model_, one, {}) < VerifiedEnergy(*model_, other, {});
    });
  }

  // What is certified of marginals that are those of one labeling where another one was verified before.
  DenseCertificate Certify(std::size_t last, std::size_t before, double limit_seconds) {
    const VerifiedLabels verified{labelings_[before], VerifiedAt(*model_, labelings_[before], {}),
                                  1e-3};
    DenseEvidence evidence;
    evidence.mean_field = Indicator(labelings_[last], 3);
    evidence.lower = -1e9;  // says less than the labels
    DenseCertifyOptions options;
    options.verified_before = &verified;
    const Stopwatch clock;
    const Watch watch;
    const SolveOptions limits{.limits = {.time_limit_seconds = limit_seconds}};
    Budget budget(clock, limits, watch);
    return CertifyDense(*model_, {{}, "none"}, evidence, options, &budget);
  }
  double Energy(std::size_t k) const { return VerifiedEnergy(*model_, labelings_[k], {}).value(); }

  std::optional<DenseCrf> model_;
  std::vector<std::vector<int>> labelings_;  // from the least energy to the largest
};

TEST_F(VerifiedBeforeTest, StandsInForLabelsThatThereIsNoTimeFor) {
  const DenseCertificate certified = Certify(0, 1, 0.0);
  EXPECT_EQ(certified.labels, labelings_[1]);
  EXPECT_EQ(certified.energy->value(), Energy(1));
  EXPECT_GE(certified.certificate.lower->value(), -Energy(1));
}

TEST_F(VerifiedBeforeTest, IsReplacedByBetterLabelsAndToNoOthers) {
  const DenseCertificate better = Certify(0, 1, kForever);
  EXPECT_EQ(better.labels, labelings_[0]);
  EXPECT_EQ(better.energy->value(), Energy(0));
  const DenseCertificate worse = Certify(2, 1, kForever);
  EXPECT_EQ(worse.labels, labelings_[1]);
  EXPECT_EQ(worse.energy->value(), Energy(1));
}

}  // namespace
}  // namespace submarine::internal
