// The claims of certificates about dense models, over random ones small enough to enumerate.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "submarine/bound/constant_labeling.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/operator_verifier.h"
#include "submarine/bound/verify/dense/operator_verifier_test_util.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/extension/set_function_test_util.h"
#include "submarine/extension/sparse_extension.h"
#include "submarine/filter/kernel/brute_force.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solve/solve.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/dense_pdhg.h"

namespace submarine::internal {
namespace {

using testing::InDouble;
using testing::OperatorModel;
using testing::OperatorWeights;
using testing::RandomMarginals;
using testing::RandomModels;
using testing::RandomPotential;

// What certificates are compared with may be off by rounding in the exact solver alone.
double Rounding(double value) { return 1e-10 * (1.0 + std::abs(value)); }

// lower <= exact <= upper and dual <= upper, for whatever potential and marginals; 2000 models.
TEST(DenseBounds, BracketTheExactPartitionFunction) {
  RandomModels random(20270);
  for (int trial = 0; trial < 2000 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 4);
    const DenseCrf model =
        random.Dense(random.Integer(1, labels == 2 ? 12 : 7), random.Labels(labels));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const SparseCrf sparse = ToSparseCrf(model);
    const double exact = SolveExact(ToFactorGraph(sparse), {}).log_partition;

    const PairOptions all{.cutoff = 0.0, .far_tolerance = 0.0};
    const PairOptions some{.cutoff = std::pow(10.0, random.Real(-4.0, 1.0)),
                           .far_tolerance = std::pow(10.0, random.Real(-4.0, 1.0))};
    // In steps of 2^-12, so that differences have no rounding, and the sparse verifier has the same.
    Matrix<float> v = RandomPotential(model, &random);
    for (std::size_t k = 0; k < v.size(); ++k)
      v.data()[k] = std::round(v.data()[k] * 0x1p12F) * 0x1p-12F;
    const Matrix<float> y = RandomMarginals(model, &random);
    for (const PairOptions& options : {all, some}) {
      const VerifiedPoint at = VerifiedAt(model, y, options);
      EXPECT_LE(at.lower, exact + Rounding(exact));
      for (FlowShape shape : {FlowShape::kClip, FlowShape::kSign}) {
        const double upper = VerifiedUpper(model, {{1.0, shape, v}}, options);
        EXPECT_GE(upper, exact - Rounding(exact));
        EXPECT_LE(at.dual, upper) << "weak duality";
      }
      const double mixed = VerifiedUpper(
          model,
          {{0.3, FlowShape::kClip, v}, {0.7, FlowShape::kSign, RandomPotential(model, &random)}},
          options);
      EXPECT_GE(mixed, exact - Rounding(exact));
      EXPECT_LE(at.dual, mixed) << "weak duality";
    }
    // The sparse verifier, which knows no kernels, sees the same numbers.
    const SparseExtension extension(sparse, ExtensionKind::kOptimal);
    const VerifiedPoint at = VerifiedAt(model, y, all);
    const double upper = VerifiedUpper(model, {{1.0, FlowShape::kClip, v}}, all);
    EXPECT_NEAR(
        upper,
        VerifiedUpper(sparse, ExtensionKind::kOptimal, extension.PotentialFlow(InDouble(v)), 1.0),
        Rounding(upper));
    EXPECT_NEAR(at.lower, VerifiedLower(sparse, InDouble(y), 1.0), Rounding(at.lower));
    EXPECT_NEAR(at.dual, VerifiedDual(sparse, ExtensionKind::kOptimal, InDouble(y), 1.0),
                Rounding(at.dual));
  }
}

// s in EP(F): all subsets of the ground set, for the flows of the exact operator; 1000 models.
TEST(DenseBounds, FlowsStayInsideTheExtendedPolymatroid) {
  RandomModels random(78);
  int checked = 0;
  while (checked < 1000 && !HasFailure()) {
    const DenseCrf model = random.Dense(random.Integer(2, 5), random.Labels(random.Integer(2, 4)));
    if (model.num_variables() * static_cast<std::size_t>(model.num_cuts()) > 13) continue;
    ++checked;
    SCOPED_TRACE(::testing::Message() << "model " << checked << ": " << model.Description());
    std::vector<WeightedKernel> kernels;
    double total_weight = 0.0;
    for (const GaussianKernel& kernel : model.kernels()) {
      kernels.push_back({&kernel, model.pair_factor() * kernel.weight});
    }
    const BruteForceOperator op(kernels);
    for (std::size_t a = 0; a < op.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) total_weight += op.Value(a, b);
    }
    const SparseCrf sparse = ToSparseCrf(model);
    const SparseExtension extension(sparse, ExtensionKind::kOptimal);
    const SetFunction f = [&](std::span<const char> in_set) { return extension.Value(in_set); };
    const Matrix<float> v = RandomPotential(model, &random);
    for (FlowShape shape : {FlowShape::kClip, FlowShape::kSign}) {
      Matrix<float> flow(v.rows(), v.cols(), 0.0F);
      op.AddFlow(v, shape, 1.0F, &flow);
      Matrix<double> s(v.rows(), v.cols());
      double length = 0.0;
      for (std::size_t c = 0; c < v.cols(); ++c) {
        length += model.metric().length[c];
        for (std::size_t a = 0; a < v.rows(); ++a) {
          s(a, c) = model.metric().length[c] * flow(a, c);
          if (c < model.unary().cols()) s(a, c) += model.unary()(a, c);
        }
      }
      // The operator answers in single precision, each sum rounded once.
      EXPECT_LE(WorstViolation(f, {s.data(), s.size()}), 1e-9 + 2e-7 * total_weight * length);
    }
  }
}

double LogPartition(const DenseCrf& model, const std::vector<OperatorKind>& kinds,
                    const OperatorOptions& options) {
  const SparseCrf sparse = OperatorModel(model, OperatorWeights(model, kinds, options));
  return SolveExact(ToFactorGraph(sparse), {}).log_partition;
}

// The same for the models of operators, whatever they are for each kernel; 1000 models.
TEST(DenseBounds, BracketThePartitionFunctionOfTheOperator) {
  RandomModels random(20271);
  constexpr OperatorKind kChoices[] = {OperatorKind::kBruteForce, OperatorKind::kNeighbourList,
                                       OperatorKind::kLattice, OperatorKind::kLattice};
  for (int trial = 0; trial < 1000 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 4);
    const DenseCrf model =
        random.Dense(random.Integer(1, labels == 2 ? 12 : 7), random.Labels(labels));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    std::vector<OperatorKind> kinds;
    for (std::size_t m = 0; m < model.kernels().size(); ++m)
      kinds.push_back(kChoices[random.Integer(0, 3)]);
    OperatorOptions options{.cutoff = std::pow(10.0, random.Real(-4.0, -0.1))};
    options.lattice.levels = random.Integer(2, 20);
    const double exact = LogPartition(model, kinds, options);
    const OperatorVerifier verifier(model, kinds, options);
    const Matrix<float> y = RandomMarginals(model, &random);
    const double dual = verifier.Dual(y);
    EXPECT_LE(verifier.Lower(y), exact + Rounding(exact));
    for (const FlowShape shape : {FlowShape::kClip, FlowShape::kSign}) {
      const double upper = verifier.Upper({{1.0, shape, RandomPotential(model, &random)}});
      EXPECT_GE(upper, exact - Rounding(exact));
      EXPECT_LE(dual, upper) << "weak duality";
    }
  }
}

// What a solve says about the operator's model, from the solver to the certificate.
TEST(DenseBounds, CertificatesAboutTheOperatorHoldAndAgreeWithTheSolver) {
  RandomModels random(20272);
  constexpr OperatorKind kChoices[] = {OperatorKind::kLattice, OperatorKind::kLattice,
                                       OperatorKind::kNeighbourList, OperatorKind::kBruteForce};
  constexpr Method kMethods[] = {Method::kAuto, Method::kPdhg, Method::kFrankWolfe,
                                 Method::kMeanField};
  for (int trial = 0; trial < 300 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 4);
    const DenseCrf model =
        random.Dense(random.Integer(1, labels == 2 ? 12 : 7), random.Labels(labels));
    SolveOptions options{.method = kMethods[random.Integer(0, 3)],
                         .limits = {.gap = 1e-4, .max_iterations = 20},
                         .dense = {.certify = Certify::kOperator}};
    options.dense.pairs.kind = kChoices[random.Integer(0, 3)];
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << ToString(options.method)
                                      << ", " << model.Description());
    const SolveResult outcome = Solve(model, options);
    const Certificate& certificate = outcome.certificate;
    const std::vector<OperatorKind> kinds(model.kernels().size(), options.dense.pairs.kind);
    const double exact = LogPartition(model, kinds, options.dense.pairs);
    EXPECT_LE(*certificate.lower, exact + Rounding(exact));
    EXPECT_GE(*outcome.energy, -exact - Rounding(exact));

    // The solver rounds to single precision relative to the sizes of what it adds up.
    double size = 1.0 + std::abs(exact);
    for (std::size_t a = 0; a < model.num_variables(); ++a) {
      for (std::size_t b = 0; b < a; ++b) size += model.PairWeight(a, b);
    }
    const SolveRecord& last = outcome.records.back();
    // One label for all costs no pairs, whatever their weights.
    const double of_one_label = -BestConstantLabeling(model).energy.value();
    const bool may_be_worse = options.method == Method::kMeanField;
    EXPECT_TRUE(may_be_worse || *outcome.energy <= -of_one_label);
    EXPECT_NEAR(*certificate.lower,
                may_be_worse ? *last.lower : std::max(*last.lower, of_one_label), 1e-4 * size);
    if (!certificate.upper) continue;
    EXPECT_GE(*certificate.upper, exact - Rounding(exact));
    if (options.method ==
        Method::
            kAuto) {  // fluctuations about mean field may prove more, and then there are no flows
      if (last.upper) {
        EXPECT_LE(*certificate.upper, *last.upper + 1e-4 * size);
      }
      continue;
    }
    EXPECT_LE(*certificate.dual, *certificate.upper);
    EXPECT_NEAR(*certificate.upper, *last.upper, 1e-4 * size);
    // Mean field's point may have a dual value that the solver did not ask for.
    EXPECT_GE(*certificate.dual, *last.dual - 1e-4 * size);
  }
}

// `auto` begins on a sample of the pairs where variables have many; PDHG on all of them has the same
// optimum, and both certificates are about the whole model.
TEST(DenseBounds, ASampleChangesTheWayAndNotTheResult) {
  RandomModels random(20275);
  constexpr std::size_t kCount = 900;
  Matrix<float> unary(kCount, 4);
  Matrix<double> features(kCount, 2);
  for (std::size_t a = 0; a < kCount; ++a) {
    for (std::size_t d = 0; d < 2; ++d) features(a, d) = static_cast<float>(random.Real(0.0, 6.0));
    for (std::size_t i = 0; i < 4; ++i) unary(a, i) = static_cast<float>(random.Real(0.0, 10.0));
    unary(a, features(a, 0) > 3.0F ? 1 : 2) -= 4.0F;
  }
  const DenseCrf model(unary, {{"random", features, 0.1}}, PottsLabels(4));
  // At T = 0 nothing is routed, which would change the result.
  SolveOptions options{
      .temperature = 0.0, .limits = {.gap = 0.01}, .dense = {.certify = Certify::kExact}};
  int sampled = 0;
  const SolveResult with_sample =
      Solve(model, options, [&](std::string_view phase, const SolveRecord&) {
        if (phase.find("sample") != std::string_view::npos) ++sampled;
        return true;
      });
  options.method = Method::kPdhg;
  options.limits.gap = 1e-3;
  const SolveResult all_pairs = Solve(model, options);
  EXPECT_GT(sampled, 0);
  for (const SolveResult* outcome : {&with_sample, &all_pairs}) {
    EXPECT_EQ(outcome->termination, Termination::kGapReached);
    EXPECT_LE(*outcome->certificate.lower, *outcome->certificate.upper);
    EXPECT_LE(-*outcome->energy, *all_pairs.certificate.upper);
  }
  // Each upper bound is above each dual value, and so close to it.
  const auto gap = [](const SolveResult& upper, const SolveResult& dual) {
    return (*upper.certificate.upper - *dual.certificate.dual) / std::abs(*upper.certificate.upper);
  };
  for (const double g :
       {gap(with_sample, with_sample), gap(with_sample, all_pairs), gap(all_pairs, with_sample)}) {
    EXPECT_GE(g, 0.0);
    EXPECT_LE(g, 0.011);
  }
}

// However many steps Frank-Wolfe makes, all of them are its proof, and what is certified was verified.
TEST(DenseBounds, LongRunsOfFrankWolfeAreVerified) {
  RandomModels random(20274);
  for (int trial = 0; trial < 20 && !HasFailure(); ++trial) {
    const DenseCrf model = random.Dense(8, PottsLabels(3));
    SolveOptions options{.method = Method::kFrankWolfe,
                         .limits = {.gap = 0.0, .max_iterations = 50},
                         .dense = {.certify = Certify::kOperator}};
    options.dense.pairs.kind =
        trial % 2 == 0 ? OperatorKind::kLattice : OperatorKind::kNeighbourList;
    const SolveResult result = Solve(model, options);
    const std::vector<OperatorKind> kinds(model.kernels().size(), options.dense.pairs.kind);
    ASSERT_TRUE(result.certificate.upper);
    EXPECT_EQ(result.certificate.upper->provenance(), Provenance::kVerified);
    const double exact = LogPartition(model, kinds, options.dense.pairs);
    EXPECT_GE(*result.certificate.upper, exact - Rounding(exact));
    EXPECT_NEAR(*result.certificate.upper, *result.records.back().upper,
                1e-3 * (1.0 + std::abs(exact)));
  }
}

// A potential changed after the fact is another potential: its bound is worse, and still one.
TEST(DenseBounds, TamperedProofsStillProveUpperBounds) {
  RandomModels random(20273);
  for (int trial = 0; trial < 100 && !HasFailure(); ++trial) {
    const DenseCrf model = random.Dense(random.Integer(2, 7), random.Labels(random.Integer(2, 4)));
    const OperatorOptions options{.kind = OperatorKind::kLattice};
    const ChosenOperator pairs =
        MakeOperator(model.num_variables(), PairWeights(model), {}, options);
    const DenseExtension extension(model, *pairs.op);
    DensePdhgOptions steps;
    steps.max_iterations = 30;
    FlowProof proof = SolvePdhg(extension, steps).proof;
    const OperatorVerifier verifier(model, pairs.kinds, options);
    const double exact = LogPartition(model, pairs.kinds, options);
    EXPECT_GE(verifier.Upper(proof), exact - Rounding(exact));
    Matrix<float>& v = proof.front().v;
    for (int change = 0; change < 3; ++change) {
      v.data()[random.Integer(0, static_cast<int>(v.size()) - 1)] =
          static_cast<float>(random.Real(-1e3, 1e3));
      EXPECT_GE(verifier.Upper(proof), exact - Rounding(exact));
    }
  }
}

}  // namespace
}  // namespace submarine::internal
