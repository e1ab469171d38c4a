// The claims the product stands on, each over thousands of random models with 2-9 variables and 2-5
// labels.
#include <gtest/gtest.h>

#include <cmath>

#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/extension/set_function_test_util.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/frank_wolfe.h"
#include "submarine/solver/flow/pdhg.h"
#include "submarine/solver/flow/rounding.h"
#include "submarine/solver/mean_field/mean_field.h"

namespace submarine::internal {
namespace {

using testing::NextLabeling;
using testing::RandomModels;

// What certificates are compared with may be off by rounding in the exact solver alone.
double Rounding(double value) { return 1e-10 * (1.0 + std::abs(value)); }

void ExpectProves(const SparseCrf& model, ExtensionKind kind, const BoundResult& result,
                  double temperature, double exact, const char* solver) {
  const double upper = VerifiedUpper(model, kind, result.flow, temperature);
  const double dual = VerifiedDual(model, kind, result.marginals, temperature);
  EXPECT_GE(upper, exact - Rounding(exact)) << solver;
  EXPECT_LE(dual, upper) << solver;
  EXPECT_NEAR(upper, result.upper, 1e-9 * (1.0 + std::abs(upper)))
      << solver << " misreports its upper bound";
  EXPECT_NEAR(dual, result.dual, 1e-9 * (1.0 + std::abs(dual)))
      << solver << " misreports its dual value";
}

// mean field <= exact <= upper for every solver, T of all sizes; all optima agree; 6000 models.
TEST(Bounds, BracketTheExactPartitionFunction) {
  RandomModels random(20260);
  for (int trial = 0; trial < 6000 && !HasFailure(); ++trial) {
    const SparseCrf model = random.Model(random.Integer(2, 9), random.Integer(2, 5));
    const double T = trial % 3 == 0 ? random.Real(0.3, 3.0) : 1.0;
    SCOPED_TRACE(::testing::Message()
                 << "trial " << trial << ": " << model.Description() << ", T = " << T);
    const double exact = SolveExact(ToFactorGraph(model), {T}).log_partition;

    PdhgOptions pdhg;
    pdhg.temperature = T;
    pdhg.relative_gap = 1e-5;
    pdhg.max_iterations = 20000;
    const BoundResult best = SolvePdhg(model, pdhg);
    ExpectProves(model, ExtensionKind::kOptimal, best, T, exact, "pdhg");
    EXPECT_EQ(best.termination, Termination::kGapReached)
        << "gap " << RelativeGap(best.upper, best.dual) << " after " << best.iterations;

    FrankWolfeOptions fw;
    fw.temperature = T;
    fw.max_iterations = 50;
    fw.step = trial % 2 == 0 ? FrankWolfeStep::kLineSearch : FrankWolfeStep::kHarmonic;
    const BoundResult frank_wolfe = SolveFrankWolfe(model, fw);
    ExpectProves(model, ExtensionKind::kOptimal, frank_wolfe, T, exact, "fw");
    // Weak duality between solvers that share nothing but the extension.
    EXPECT_GE(frank_wolfe.upper, best.dual - 1e-9 * (1.0 + std::abs(best.dual)));
    EXPECT_LE(frank_wolfe.dual, best.upper + 1e-9 * (1.0 + std::abs(best.upper)));

    fw.extension = ExtensionKind::kAlternate;
    const BoundResult alternate = SolveFrankWolfe(model, fw);
    ExpectProves(model, ExtensionKind::kAlternate, alternate, T, exact, "alternate");
    // The optimal extension is never worse than the alternate one.
    EXPECT_GE(alternate.upper, best.dual - 1e-9 * (1.0 + std::abs(best.dual)));

    MeanFieldOptions mean_field;
    mean_field.temperature = T;
    mean_field.extra_starts = {best.marginals};
    const MeanFieldResult lower = SolveMeanField(model, mean_field);
    EXPECT_LE(VerifiedLower(model, lower.marginals, T), exact + Rounding(exact));
    EXPECT_NEAR(VerifiedLower(model, lower.marginals, T), lower.lower,
                1e-9 * (1.0 + std::abs(lower.lower)));
  }
}

// s in EP(F): all subsets of the ground set, for the flows that solvers return; 1500 models.
TEST(Bounds, SolversStayInsideTheExtendedPolymatroid) {
  RandomModels random(77);
  int checked = 0;
  while (checked < 1500 && !HasFailure()) {
    const SparseCrf model = random.Model(random.Integer(2, 5), random.Integer(2, 4));
    if (model.num_variables() * model.num_cuts() > 13) continue;
    ++checked;
    SCOPED_TRACE(::testing::Message() << "model " << checked << ": " << model.Description());
    FrankWolfeOptions fw;
    fw.max_iterations = 10;
    PdhgOptions pdhg;
    pdhg.max_iterations = random.Integer(0, 60);
    pdhg.relative_gap = 0.0;
    for (ExtensionKind kind : {ExtensionKind::kOptimal, ExtensionKind::kAlternate}) {
      const SparseExtension extension(model, kind);
      const SetFunction f = [&](std::span<const char> in_set) { return extension.Value(in_set); };
      fw.extension = kind;
      std::vector<BoundResult> results{SolveFrankWolfe(model, fw)};
      if (kind == ExtensionKind::kOptimal) results.push_back(SolvePdhg(model, pdhg));
      for (const BoundResult& result : results) {
        const Matrix<double> s = extension.Modular(result.flow);
        EXPECT_LE(WorstViolation(f, {s.data(), s.size()}), 1e-9);
      }
    }
  }
}

// F(A_x) + offset = E(x) for all labelings, and the greedy vertex attains the Lovasz extension;
// 1000 models.
TEST(Bounds, ExtensionsExtendTheEnergy) {
  RandomModels random(4);
  for (int trial = 0; trial < 1000 && !HasFailure(); ++trial) {
    const SparseCrf model = random.Model(random.Integer(2, 5), random.Integer(2, 4));
    const LabelCuts& cuts = *model.labels().cuts;
    const auto num_cuts = static_cast<std::size_t>(cuts.num_cuts());
    for (ExtensionKind kind : {ExtensionKind::kOptimal, ExtensionKind::kAlternate}) {
      const SparseExtension extension(model, kind);
      std::vector<int> labeling(model.unary().rows(), 0);
      do {
        std::vector<char> in_set(labeling.size() * num_cuts);
        for (std::size_t a = 0; a < labeling.size(); ++a) {
          for (int c = 0; c < cuts.num_cuts(); ++c) {
            in_set[a * num_cuts + static_cast<std::size_t>(c)] = cuts.contains(c, labeling[a]);
          }
        }
        ASSERT_NEAR(extension.Value(in_set) + extension.offset(), model.Energy(labeling), 1e-9);
      } while (NextLabeling(&labeling, model.num_labels()));

      const Matrix<double> z = random.Points(model.unary().rows(), num_cuts, -1.0, 1.0);
      const SetFunction f = [&](std::span<const char> in_set) { return extension.Value(in_set); };
      const Matrix<double> s = extension.Modular(extension.GreedyFlow(z));
      double attained = 0.0;
      for (std::size_t k = 0; k < z.size(); ++k) attained += s.data()[k] * z.data()[k];
      EXPECT_NEAR(attained, extension.Lovasz(z), 1e-9);
      EXPECT_NEAR(LovaszValue(f, {z.data(), z.size()}), extension.Lovasz(z), 1e-9);
    }
  }
}

// Every cut family adds up to its metric.
TEST(Bounds, CutsSumToTheMetric) {
  RandomModels random(5);
  for (int trial = 0; trial < 2000 && !HasFailure(); ++trial) {
    const LabelSpace labels = random.Labels(random.Integer(2, 12));
    const LabelMetric& metric = labels.metrics.front();
    const Matrix<double> cut = CutDistance(*labels.cuts, metric.length);
    for (std::size_t i = 0; i < cut.rows(); ++i) {
      for (std::size_t j = 0; j < cut.cols(); ++j)
        EXPECT_NEAR(cut(i, j), metric.distance(i, j), 1e-12);
    }
  }
}

// Potts is the star tree: the same bound from differently built families.
TEST(Bounds, StarTreeIsPotts) {
  RandomModels random(6);
  for (int trial = 0; trial < 300 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 5);
    const SparseCrf potts = random.Model(random.Integer(2, 8), PottsLabels(labels), -5.0, 5.0);
    // A star whose centre hangs below a further node, so that its families differ before they are
    // merged.
    std::vector<TreeNode> nodes{TreeNode{}, TreeNode{0, 1.0, -1}};
    for (int i = 0; i < labels; ++i) nodes.push_back({1, 0.5, i});
    const SparseCrf star(potts.unary(), potts.edges(), LabelTree(nodes).ToLabels(),
                         potts.constant());
    PdhgOptions options;
    options.relative_gap = 1e-7;
    options.max_iterations = 300;
    EXPECT_NEAR(SolvePdhg(potts, options).upper, SolvePdhg(star, options).upper, 1e-9);
    const Matrix<double> y =
        random.Points(potts.unary().rows(), static_cast<std::size_t>(labels), 0.0, 1.0);
    EXPECT_NEAR(VerifiedDual(potts, ExtensionKind::kOptimal, y, 1.0),
                VerifiedDual(star, ExtensionKind::kOptimal, y, 1.0), 1e-9);
  }
}

// phi >= 0: the alternate extension's optimum is N log L, whatever the model says. Its two sides
// are known in closed form (uniform marginals; a circulation that cancels every s'), and the solver
// has to approach it.
TEST(Bounds, AlternateOptimumIsUninformative) {
  RandomModels random(8);
  for (int trial = 0; trial < 500 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 5);
    const SparseCrf drawn = random.Model(random.Integer(2, 7), random.Labels(labels), 0.5, 10.0);
    const SparseCrf model(drawn.unary(), drawn.edges(), drawn.labels());
    const double optimum = static_cast<double>(model.num_variables()) * std::log(labels);
    const SparseExtension extension(model, ExtensionKind::kAlternate);
    Flow flow = extension.NeutralFlow();
    for (std::size_t a = 0; a < flow.cycle.rows(); ++a) {
      const auto phi = model.unary().row(a);
      const double least = *std::min_element(phi.begin(), phi.end());
      for (std::size_t i = 0; i < phi.size(); ++i) flow.cycle(a, i) = least / phi[i];
    }
    EXPECT_NEAR(VerifiedUpper(model, ExtensionKind::kAlternate, flow, 1.0), optimum, 1e-9);
    EXPECT_NEAR(VerifiedDual(model, ExtensionKind::kAlternate,
                             Matrix<double>(flow.cycle.rows(), flow.cycle.cols(), 1.0), 1.0),
                optimum, 1e-9);
    FrankWolfeOptions options;
    options.extension = ExtensionKind::kAlternate;
    options.max_iterations = 2000;
    options.relative_gap = 1e-3;
    const BoundResult result = SolveFrankWolfe(model, options);
    EXPECT_GE(result.upper, optimum - 1e-9);
    EXPECT_LE(result.upper, optimum + 0.02 * (1.0 + optimum));
  }
}

}  // namespace
}  // namespace submarine::internal
