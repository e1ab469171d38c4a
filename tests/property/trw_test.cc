// What tree-reweighted bounds promise, over 3000 random models: on the right side of the
// exact value, in the right order among themselves, monotone, and proven by their evidence.
#include "submarine/solver/forest/trw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/frank_wolfe.h"
#include "submarine/solver/flow/pdhg.h"
#include "submarine/solver/mean_field/mean_field.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

// What two computations of the same number in double precision may differ by.
double Rounding(double value) { return 1e-9 * (1.0 + std::abs(value)); }

template <class Records>
void ExpectNeverRises(const Records& records) {
  for (std::size_t k = 1; k < records.size(); ++k)
    EXPECT_LE(*records[k].upper, *records[k - 1].upper + Rounding(*records[k].upper))
        << "sweep " << k;
}

template <class Model>
void ExpectProven(const Model& model, const TrwResult& result, double temperature, double exact) {
  ASSERT_NE(result.termination, Termination::kNotRun);
  const double verified = VerifiedTrwUpper(model, result.evidence, temperature);
  EXPECT_GE(verified, exact - Rounding(exact));
  EXPECT_NEAR(verified, result.upper, Rounding(verified)) << "trw misreports its bound";
  ExpectNeverRises(result.records);
  for (std::size_t a = 0; a < result.marginals.rows(); ++a) {
    double sum = 0.0;
    for (double y : result.marginals.row(a)) {
      EXPECT_GE(y, 0.0);
      sum += y;
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
  }
}

// mean field <= exact <= TRW <= Submod-optimal <= Submod-alternate. "<=" between two solvers that
// stop early compares what is certain: the dual value of one, which is at most its optimum, with the
// bound of the other, which is at least its own; TRW, which has no dual value, is given sweeps enough
// for its tolerance. 1200 models.
TEST(Trw, BoundsAreInOrder) {
  RandomModels random(501);
  for (int trial = 0; trial < 1200 && !HasFailure(); ++trial) {
    const SparseCrf model = random.Model(random.Integer(2, 7), random.Integer(2, 4));
    const double T = trial % 3 == 0 ? random.Real(0.3, 3.0) : 1.0;
    SCOPED_TRACE(::testing::Message()
                 << "trial " << trial << ": " << model.Description() << ", T = " << T);
    const double exact = SolveExact(ToFactorGraph(model), {T}).log_partition;

    MeanFieldOptions mean_field;
    mean_field.temperature = T;
    mean_field.starts = 2;
    EXPECT_LE(SolveMeanField(model, mean_field).lower, exact + Rounding(exact));

    PdhgOptions pdhg;
    pdhg.temperature = T;
    pdhg.relative_gap = 1e-3;
    const BoundResult submod = SolvePdhg(model, pdhg);

    FrankWolfeOptions alternate_options;
    alternate_options.temperature = T;
    alternate_options.extension = ExtensionKind::kAlternate;
    alternate_options.max_iterations = 20;
    const BoundResult alternate = SolveFrankWolfe(model, alternate_options);
    EXPECT_LE(submod.dual, alternate.upper + Rounding(alternate.upper));

    TrwOptions trw_options;
    trw_options.temperature = T;
    trw_options.tolerance = 1e-5;
    trw_options.seed = static_cast<std::uint64_t>(trial);
    const TrwResult trw = SolveTrw(model, trw_options);
    ExpectProven(model, trw, T, exact);
    EXPECT_LE(trw.upper, submod.upper + 1e-3 * (1.0 + std::abs(submod.upper)));
  }
}

SparseCrf RandomTree(RandomModels* random) {
  const int variables = random->Integer(1, 9);
  LabelSpace labels = random->Labels(random->Integer(2, 5));
  Matrix<double> unary = random->Points(static_cast<std::size_t>(variables),
                                        static_cast<std::size_t>(labels.num_labels()), -5.0, 5.0);
  std::vector<Edge> edges;
  for (int b = 1; b < variables; ++b) {
    if (random->Integer(0, 9) == 0) continue;  // a forest, now and then
    const int a = random->Integer(0, b - 1);
    const double weight = random->Real(0.0, random->Integer(0, 20) == 0 ? 2000.0 : 10.0);
    edges.push_back(random->Integer(0, 1) == 0 ? Edge{a, b, weight} : Edge{b, a, weight});
  }
  return {std::move(unary), std::move(edges), std::move(labels), random->Real(-2.0, 2.0)};
}

// A graph without cycles is its own forest: rho = 1, nothing is lost; 500 models.
TEST(Trw, IsExactOnTrees) {
  RandomModels random(502);
  for (int trial = 0; trial < 500 && !HasFailure(); ++trial) {
    const SparseCrf model = RandomTree(&random);
    const double T = random.Real(0.3, 3.0);
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const ExactResult exact = SolveExact(ToFactorGraph(model), {T});
    TrwOptions options;
    options.temperature = T;
    const TrwResult trw = SolveTrw(model, options);
    ExpectProven(model, trw, T, exact.log_partition);
    EXPECT_NEAR(trw.upper, exact.log_partition, Rounding(exact.log_partition));
    for (std::size_t a = 0; a < model.unary().rows(); ++a) {
      for (std::size_t i = 0; i < model.unary().cols(); ++i) {
        EXPECT_NEAR(trw.marginals(a, i), exact.marginals[a][i], 1e-9);
      }
    }
  }
}

// Tables of any sign on graphs of any kind, variables with different numbers of labels.
FactorGraph RandomSpinGlass(RandomModels* random) {
  FactorGraph graph;
  const int variables = random->Integer(2, 7);
  const bool binary = random->Integer(0, 1) == 0;
  for (int a = 0; a < variables; ++a)
    graph.cardinality.push_back(binary ? 2 : random->Integer(1, 4));
  const auto table = [&](std::size_t size, double range) {
    std::vector<double> energy(size);
    for (double& e : energy) e = random->Real(-range, range);
    return energy;
  };
  const double strength = random->Integer(0, 9) == 0 ? 400.0 : random->Real(0.0, 6.0);
  if (random->Integer(0, 3) == 0) graph.factors.push_back({{}, {random->Real(-3.0, 3.0)}});
  for (int a = 0; a < variables; ++a) {
    const auto labels = static_cast<std::size_t>(graph.cardinality[static_cast<std::size_t>(a)]);
    graph.factors.push_back({{a}, table(labels, 2.0)});
    for (int b = 0; b < variables; ++b) {
      if (a == b || random->Integer(0, 2) == 0) continue;
      const auto others = static_cast<std::size_t>(graph.cardinality[static_cast<std::size_t>(b)]);
      if (a > b && random->Integer(0, 3) != 0) continue;  // now and then two factors on one pair
      graph.factors.push_back({{a, b}, table(labels * others, strength)});
    }
  }
  return graph;
}

// 700 models without a submodular extension.
TEST(Trw, BoundsSpinGlasses) {
  RandomModels random(503);
  for (int trial = 0; trial < 700 && !HasFailure(); ++trial) {
    const FactorGraph graph = RandomSpinGlass(&random);
    const double T = trial % 2 == 0 ? 1.0 : random.Real(0.3, 3.0);
    SCOPED_TRACE(::testing::Message() << "trial " << trial);
    const double exact = SolveExact(graph, {T}).log_partition;
    TrwOptions options;
    options.temperature = T;
    options.seed = static_cast<std::uint64_t>(trial);
    options.max_iterations = 60;
    ExpectProven(graph, SolveTrw(graph, options), T, exact);
  }
}

// Optimising rho only ever lowers the bound, and keeps it one; 200 models.
TEST(Trw, OptimisedRhoIsTighter) {
  RandomModels random(505);
  double gained = 0.0;
  for (int trial = 0; trial < 200 && !HasFailure(); ++trial) {
    const SparseCrf model = random.Model(random.Integer(3, 6), random.Integer(2, 3));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const double exact = SolveExact(ToFactorGraph(model)).log_partition;
    TrwOptions options;
    const TrwResult fixed = SolveTrw(model, options);
    options.rho_steps = 5;
    const TrwResult optimised = SolveTrw(model, options);
    ExpectProven(model, optimised, 1.0, exact);
    EXPECT_LE(optimised.upper, fixed.upper + Rounding(fixed.upper));
    gained += fixed.upper - optimised.upper;
  }
  EXPECT_GT(gained, 1.0);
}

}  // namespace
}  // namespace submarine::internal
