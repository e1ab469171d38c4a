// What the dense solvers prove, over random models small enough to enumerate and all operators.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/filter/kernel/brute_force.h"
#include "submarine/filter/lattice/lattice.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/dense_frank_wolfe.h"
#include "submarine/solver/flow/dense_pdhg.h"
#include "submarine/solver/flow/dense_test_util.h"
#include "submarine/solver/flow/quadratic.h"
#include "submarine/solver/mean_field/dense_mean_field.h"

namespace submarine::internal {
namespace {

using testing::KernelsOf;
using testing::RandomModels;
using testing::SingleRounding;

// What certificates are compared with may be off by rounding in the exact solver alone.
double Rounding(double value) { return 1e-10 * (1.0 + std::abs(value)); }

struct NamedOperator {
  std::string name;
  std::unique_ptr<GaussianOperator> op;
};

std::vector<NamedOperator> Operators(const DenseCrf& model, RandomModels* random) {
  std::vector<NamedOperator> operators;
  operators.push_back({"brute force", std::make_unique<BruteForceOperator>(KernelsOf(model))});
  const NeighbourListOptions options{.cutoff = std::pow(10.0, random->Real(-6.0, -0.01))};
  operators.push_back(
      {"neighbour list", std::make_unique<NeighbourList>(KernelsOf(model), options)});
  std::vector<SumOperator::Part> lattices;
  for (const WeightedKernel& weighted : KernelsOf(model))
    lattices.push_back({weighted.factor, std::make_unique<LatticeOperator>(*weighted.kernel)});
  operators.push_back(
      {"lattice", std::make_unique<SumOperator>(model.num_variables(), std::move(lattices))});
  return operators;
}

DenseResult Solve(const DenseExtension& extension, int method, int iterations) {
  if (method == 0) {
    DensePdhgOptions options;
    options.max_iterations = iterations;
    return SolvePdhg(extension, options);
  }
  if (method == 1) {
    QuadraticOptions options;
    options.max_iterations = iterations;
    return SolveQuadratic(extension, options);
  }
  DenseFrankWolfeOptions options;
  options.max_iterations = iterations;
  options.step = method == 2 ? FrankWolfeStep::kLineSearch : FrankWolfeStep::kHarmonic;
  return SolveFrankWolfe(extension, options);
}

void ExpectDistributions(const Matrix<float>& y) {
  for (std::size_t a = 0; a < y.rows(); ++a) {
    double sum = 0.0;
    for (const float p : y.row(a)) {
      ASSERT_GE(p, 0.0F);
      sum += p;
    }
    ASSERT_NEAR(sum, 1.0, 1e-5);
  }
}

// N <= 12, L <= 4, at most 20000 labelings; kernels of dimension 1 to 6, narrow and wide, with
// repeated points, zero weights and scale factors.
TEST(DenseSolvers, ProofsHoldForTheExactModelWhateverTheOperator) {
  RandomModels random(4711);
  for (int trial = 0; trial < 2000 && !HasFailure(); ++trial) {
    const int labels = random.Integer(2, 4);
    const int variables = random.Integer(1, labels == 2 ? 12 : labels == 3 ? 9 : 7);
    const DenseCrf model = random.Dense(variables, random.Labels(labels));
    const double exact = SolveExact(ToFactorGraph(ToSparseCrf(model)), {}).log_partition;
    const PairOptions pairs =
        random.Integer(0, 1) == 0
            ? PairOptions{.cutoff = 0.0, .far_tolerance = 0.0}
            : PairOptions{.cutoff = std::pow(10.0, random.Real(-5.0, 0.0)),
                          .far_tolerance = std::pow(10.0, random.Real(-5.0, 0.0))};
    const int method = random.Integer(0, 3);
    const int iterations = random.Integer(1, 25);
    for (const NamedOperator& named : Operators(model, &random)) {
      SCOPED_TRACE(::testing::Message()
                   << "trial " << trial << ": " << model.Description() << ", " << named.name
                   << ", method " << method << ", " << iterations << " iterations");
      const DenseExtension extension(model, *named.op);
      const DenseResult result = Solve(extension, method, iterations);
      ExpectDistributions(result.marginals);
      // In the operator's own model, whose weights are at most about those of the exact one.
      EXPECT_LE(result.dual, result.upper + 2.0 * SingleRounding(model));
      const double upper = VerifiedUpper(model, result.proof, pairs);
      EXPECT_GE(upper, exact - Rounding(exact));
      EXPECT_LE(VerifiedAt(model, result.dual_point, pairs).dual, upper) << "weak duality";
      EXPECT_GE(VerifiedEnergy(model, result.labels, pairs),
                model.Energy(result.labels) - Rounding(exact));

      DenseMeanFieldOptions options;
      options.max_iterations = iterations;
      options.damped = random.Integer(0, 1) == 0;
      const DenseMeanFieldResult mean_field = SolveMeanField(extension, options);
      ExpectDistributions(mean_field.marginals);
      EXPECT_TRUE(std::isfinite(mean_field.lower));
      EXPECT_LE(VerifiedAt(model, mean_field.marginals, pairs).lower, exact + Rounding(exact));
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace submarine::internal
