// Models with cliques: every method against enumeration at T > 0 and T = 0, overlaps, weights and pairs included.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "submarine/bound/verify/cliques/clique_verifier.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/extension/clique_extension.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solve/solve.h"
#include "submarine/solver/flow/frank_wolfe.h"
#include "submarine/solver/flow/pdhg.h"
#include "tests/property/relaxation_test_util.h"

namespace submarine::internal {
namespace {

using testing::NextLabeling;
using testing::RandomModels;
using testing::RelaxationBySimplex;

template <class Pairs>
double ByEnumeration(const CliqueCrf<Pairs>& model, double T) {
  std::vector<int> labeling(model.num_variables(), 0);
  std::vector<double> energies;
  do {
    energies.push_back(model.Energy(labeling));
  } while (NextLabeling(&labeling, model.num_labels()));
  const double least = *std::min_element(energies.begin(), energies.end());
  if (T == 0.0) return -least;
  double sum = 0.0;
  for (const double energy : energies) sum += std::exp((least - energy) / T);
  return T * std::log(sum) - least;
}

double Rounding(double value) { return 1e-10 * (1.0 + std::abs(value)); }

template <class Pairs>
void ExpectBrackets(const CliqueCrf<Pairs>& model, const SolveResult& solved, double exact,
                    double energy_error) {
  const Certificate& certificate = solved.certificate;
  const double slack = Rounding(exact) + energy_error;
  if (certificate.upper) {
    EXPECT_GE(*certificate.upper, exact - slack);
  }
  ASSERT_TRUE(certificate.lower.has_value());
  EXPECT_LE(*certificate.lower, exact + slack);
  if (certificate.upper && certificate.dual) {
    EXPECT_LE(*certificate.dual, *certificate.upper);
  }
  ASSERT_EQ(solved.labels.size(), model.num_variables());
  if (solved.energy) {
    EXPECT_NEAR(*solved.energy, model.Energy(solved.labels),
                1e-9 * (1.0 + std::abs(exact)) + energy_error);
  }
}

TEST(Cliques, SparseIntervalsHoldTheExactValue) {
  RandomModels random(341);
  constexpr Method kMethods[] = {Method::kAuto, Method::kPdhg, Method::kFrankWolfe, Method::kTrw,
                                 Method::kMeanField};
  for (int trial = 0; trial < 4000 && !HasFailure(); ++trial) {
    const int variables = random.Integer(1, 7);
    const CliqueCrf<SparseCrf> model(random.Model(variables, random.Integer(2, 4)),
                                     random.Cliques(variables));
    const Method method = kMethods[trial % std::size(kMethods)];
    const bool smooth = method != Method::kAuto && method != Method::kPdhg;
    const double T = trial % 3 == 0 && !smooth ? 0.0 : trial % 2 == 0 ? random.Real(0.3, 3.0) : 1.0;
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description() << ", "
                                      << ToString(method) << ", T = " << T);
    SolveOptions options;
    options.method = method;
    options.temperature = T;
    options.limits.max_iterations = random.Integer(0, 3) == 0 ? random.Integer(1, 5) : 200;
    const double exact = ByEnumeration(model, T);
    ExpectBrackets(model, Solve(model, options), exact, 0.0);
    if (trial % 10 == 0) {
      options.method = Method::kExact;
      const SolveResult found = Solve(model, options);
      ExpectBrackets(model, found, exact, 0.0);
      EXPECT_NEAR(*found.certificate.upper, *found.certificate.lower,
                  1e-8 * (1.0 + std::abs(exact)));
    }
  }
}

TEST(Cliques, DenseIntervalsHoldTheExactValue) {
  RandomModels random(344);
  constexpr Method kMethods[] = {Method::kAuto,   Method::kPdhg,      Method::kFrankWolfe,
                                 Method::kRouted, Method::kMeanField, Method::kExact};
  for (int trial = 0; trial < 1000 && !HasFailure(); ++trial) {
    const int variables = random.Integer(1, 6);
    const CliqueCrf<DenseCrf> model(random.Dense(variables, random.Labels(random.Integer(2, 4))),
                                    random.Cliques(variables));
    const Method method = kMethods[trial % std::size(kMethods)];
    const bool smooth = method == Method::kFrankWolfe || method == Method::kRouted;
    const double T = trial % 4 == 0 && !smooth ? 0.0 : trial % 2 == 0 ? random.Real(0.3, 3.0) : 1.0;
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description() << ", "
                                      << ToString(method) << ", T = " << T);
    SolveOptions options;
    options.method = method;
    options.temperature = T;
    options.limits.max_iterations = 40;
    options.dense.certify = Certify::kExact;
    if (trial % 5 == 0 && method != Method::kExact && T > 0.0) options.dense.updates = 3;
    const double exact = ByEnumeration(model, T);
    const SolveResult solved = Solve(model, options);
    ExpectBrackets(model, solved, exact, 1e-5 * (1.0 + std::abs(exact)));
  }
}

// Both solvers on the joint extension: what they report is what is verified, and they meet.
TEST(Cliques, SolversOfTheExtensionAgree) {
  RandomModels random(342);
  for (int trial = 0; trial < 300 && !HasFailure(); ++trial) {
    const int variables = random.Integer(2, 8);
    const CliqueCrf<SparseCrf> model(random.Model(variables, random.Integer(2, 5)),
                                     random.Cliques(variables));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const CliqueExtension cliques(model.cliques(), model.num_variables(),
                                  static_cast<std::size_t>(model.num_labels()));
    PdhgOptions pdhg;
    pdhg.relative_gap = 1e-5;
    pdhg.max_iterations = 30000;
    const BoundResult best = SolvePdhg(model.pairs(), cliques, pdhg);
    EXPECT_EQ(best.termination, Termination::kGapReached)
        << RelativeGap(best.upper, best.dual) << " after " << best.iterations;
    FrankWolfeOptions fw;
    fw.max_iterations = 60;
    const BoundResult frank_wolfe = SolveFrankWolfe(model.pairs(), cliques, fw);
    const auto tolerance = 1e-8 * (1.0 + std::abs(best.upper));
    EXPECT_GE(frank_wolfe.upper, best.dual - tolerance);
    EXPECT_LE(frank_wolfe.dual, best.upper + tolerance);
    for (const BoundResult* found : {&best, &frank_wolfe}) {
      const Bound upper = VerifiedUpper(PairsBelow(model, found->flow.cliques),
                                        ExtensionKind::kOptimal, found->flow, 1.0);
      EXPECT_NEAR(upper, found->upper, tolerance);
      const Bound dual = DualFrom(
          model, VerifiedDual(model.pairs(), ExtensionKind::kOptimal, found->marginals, 1.0),
          found->marginals);
      EXPECT_NEAR(dual, found->dual, tolerance);
    }
  }
}

TEST(Cliques, ZeroTemperatureIsTheLinearRelaxation) {
  RandomModels random(343);
  for (int trial = 0; trial < 100 && !HasFailure(); ++trial) {
    const int variables = random.Integer(2, 8);
    const CliqueCrf<SparseCrf> model(random.Model(variables, random.Integer(2, 5)),
                                     random.Cliques(variables));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const CliqueExtension cliques(model.cliques(), model.num_variables(),
                                  static_cast<std::size_t>(model.num_labels()));
    PdhgOptions options;
    options.temperature = 0.0;
    options.relative_gap = 1e-4;
    options.max_iterations = 100000;
    const BoundResult result = SolvePdhg(model.pairs(), cliques, options);
    EXPECT_EQ(result.termination, Termination::kGapReached)
        << RelativeGap(result.upper, result.dual);
    const double relaxation = RelaxationBySimplex(model.pairs(), model.cliques());
    const double tolerance = 1e-6 * (1.0 + std::abs(relaxation));
    EXPECT_LE(-result.upper, relaxation + tolerance);
    EXPECT_GE(-result.dual, relaxation - tolerance);
    EXPECT_NEAR(-result.upper, relaxation,
                1e-4 * std::max(1.0, std::abs(result.upper)) + tolerance);
  }
}

}  // namespace
}  // namespace submarine::internal
