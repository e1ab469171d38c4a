// Certificates about dense models at temperatures other than 1: T log Z_T by enumeration lies inside, and
// at T = 0 the bound is the linear relaxation that Clp solves.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "submarine/bound/verify/dense/operator_verifier_test_util.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solve/solve.h"
#include "submarine/solver/common/bound_solver.h"
#include "submarine/solver/exact/exact.h"
#include "tests/property/relaxation_test_util.h"

namespace submarine::internal {
namespace {

using testing::OperatorModel;
using testing::OperatorWeights;
using testing::RandomModels;
using testing::RelaxationBySimplex;

constexpr OperatorKind kOperators[] = {OperatorKind::kBruteForce, OperatorKind::kNeighbourList,
                                       OperatorKind::kLattice};

// What certificates are compared with may be off by rounding in the exact solver alone.
double Rounding(double value) { return 1e-10 * (1.0 + std::abs(value)); }

double ExactValue(const SparseCrf& model, double temperature) {
  ExactOptions options;
  options.temperature = temperature;
  return SolveExact(ToFactorGraph(model), options).log_partition;
}

// The model that a certificate of these options is about.
SparseCrf CertifiedModel(const DenseCrf& model, const SolveOptions& options) {
  if (options.dense.certify == Certify::kExact) return ToSparseCrf(model);
  const std::vector<OperatorKind> kinds(model.kernels().size(), options.dense.pairs.kind);
  return OperatorModel(model, OperatorWeights(model, kinds, options.dense.pairs));
}

TEST(DenseTemperature, CertificatesHoldTheExactValue) {
  RandomModels random(20280);
  constexpr Method kMethods[] = {Method::kAuto, Method::kPdhg, Method::kFrankWolfe,
                                 Method::kMeanField, Method::kRouted};
  for (int trial = 0; trial < 60 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 4);
    const DenseCrf model =
        random.Dense(random.Integer(2, labels == 4 ? 6 : 8), random.Labels(labels));
    for (const double T : {0.0, 0.1, 0.5, 2.0, 10.0}) {
      for (const Method method : kMethods) {
        if ((method == Method::kFrankWolfe || method == Method::kRouted) && T == 0.0) continue;
        for (const Certify certify : {Certify::kExact, Certify::kOperator}) {
          if (method == Method::kRouted && certify == Certify::kOperator) continue;
          SolveOptions options{.method = method,
                               .temperature = T,
                               .limits = {.gap = 1e-3, .max_iterations = 20},
                               .dense = {.certify = certify}};
          options.dense.pairs.kind = kOperators[random.Integer(0, 2)];
          SCOPED_TRACE(::testing::Message()
                       << "trial " << trial << ", T " << T << ", " << ToString(method) << ", "
                       << ToString(certify) << ", " << ToString(options.dense.pairs.kind) << ": "
                       << model.Description());
          const SparseCrf certified = CertifiedModel(model, options);
          const double exact = ExactValue(certified, T);
          const SolveResult outcome = Solve(model, options);
          const Certificate& certificate = outcome.certificate;
          EXPECT_EQ(certificate.temperature, T);
          EXPECT_LE(*certificate.lower, exact + Rounding(exact));
          // No labeling has less energy than it says, and each is a lower bound.
          const double energy = certified.Energy(outcome.labels);
          EXPECT_NEAR(*outcome.energy, energy, 1e-4 * (1.0 + std::abs(energy)));
          EXPECT_GE(*outcome.energy, energy - Rounding(energy));
          EXPECT_GE(*certificate.lower, -*outcome.energy);
          if (method == Method::kMeanField) continue;
          EXPECT_GE(*certificate.upper, exact - Rounding(exact));
          EXPECT_LE(*certificate.dual, *certificate.upper);
        }
      }
    }
  }
}

TEST(DenseTemperature, ZeroIsTheLinearRelaxation) {
  RandomModels random(20281);
  int reached = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials && !HasFailure(); ++trial) {
    const DenseCrf model = random.Dense(random.Integer(2, 8), random.Labels(random.Integer(2, 5)));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    SolveOptions options{.method = trial % 2 == 0 ? Method::kAuto : Method::kPdhg,
                         .temperature = 0.0,
                         .limits = {.gap = 1e-3, .max_iterations = 3000},
                         .dense = {.certify = Certify::kExact}};
    options.dense.pairs.kind = OperatorKind::kBruteForce;
    const SolveResult outcome = Solve(model, options);
    const SparseCrf sparse = ToSparseCrf(model);
    const double relaxation = RelaxationBySimplex(sparse);
    const double tolerance = 1e-6 * (1.0 + std::abs(relaxation));  // of Clp
    const double upper = *outcome.certificate.upper;
    const double dual = *outcome.certificate.dual;
    EXPECT_LE(-upper, relaxation + tolerance);
    EXPECT_GE(-dual, relaxation - tolerance);
    EXPECT_NEAR(-upper, relaxation, upper - dual + tolerance);
    if (RelativeGap(upper, dual) <= 2e-3) ++reached;
    const double least = -ExactValue(sparse, 0.0);
    EXPECT_LE(-upper, least + tolerance);
    EXPECT_GE(*outcome.energy, least - tolerance);
    EXPECT_EQ(*outcome.certificate.lower, -*outcome.energy);
  }
  EXPECT_GE(reached, 95 * kTrials / 100);
}

// value(T; E) = T value(1; E / T), from the solver to the certificate.
TEST(DenseTemperature, CertificatesScaleWithTheEnergy) {
  RandomModels random(20282);
  for (int trial = 0; trial < 40 && !HasFailure(); ++trial) {
    const DenseCrf model = random.Dense(random.Integer(2, 8), random.Labels(random.Integer(2, 4)));
    for (const double T : {0.25, 8.0}) {
      SCOPED_TRACE(::testing::Message()
                   << "trial " << trial << ", T " << T << ": " << model.Description());
      Matrix<float> unary = model.unary();
      for (std::size_t k = 0; k < unary.size(); ++k) unary.data()[k] /= static_cast<float>(T);
      std::vector<GaussianKernel> kernels = model.kernels();
      for (GaussianKernel& kernel : kernels) kernel.weight /= T;
      const DenseCrf scaled(unary, kernels, model.labels(), model.counting(), model.constant() / T);
      SolveOptions options{.method = Method::kPdhg,
                           .limits = {.gap = 0.0, .max_iterations = 16},
                           .dense = {.certify = Certify::kOperator}};
      options.dense.pairs.kind = OperatorKind::kBruteForce;
      const Certificate unit = Solve(scaled, options, {}).certificate;
      options.temperature = T;
      const Certificate at = Solve(model, options).certificate;
      // Mean field stops by max(1, |F|), which does not scale, and its gains are of single precision.
      const double rounding = 1e-4 * (1.0 + T + std::abs(*at.upper));
      EXPECT_NEAR(*at.upper, T * *unit.upper, rounding);
      EXPECT_NEAR(*at.lower, T * *unit.lower, rounding);
      EXPECT_NEAR(*at.dual, T * *unit.dual, rounding);
    }
  }
}

}  // namespace
}  // namespace submarine::internal
