// The claims of certificates about dense models, over random ones small enough to enumerate.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "submarine/bound/dense_verifier.h"
#include "submarine/bound/verifier.h"
#include "submarine/extension/extension.h"
#include "submarine/extension/set_function.h"
#include "submarine/filter/brute_force.h"
#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact.h"

namespace submarine {
namespace {

using testing::RandomModels;

// What certificates are compared with may be off by rounding in the exact solver alone.
double Rounding(double value) { return 1e-10 * (1.0 + std::abs(value)); }

// Any scale, ties included.
Matrix<float> RandomPotential(const DenseCrf& model, RandomModels* random) {
  Matrix<float> v(model.num_variables(), static_cast<std::size_t>(model.num_cuts()));
  const double spread = std::pow(10.0, random->Real(-3.0, 3.0));
  for (std::size_t k = 0; k < v.size(); ++k) {
    v.data()[k] =
        random->Integer(0, 4) == 0 ? 0.0F : static_cast<float>(random->Real(-spread, spread));
  }
  return v;
}

Matrix<float> RandomMarginals(const DenseCrf& model, RandomModels* random) {
  Matrix<float> y(model.num_variables(), static_cast<std::size_t>(model.num_labels()));
  const bool certain = random->Integer(0, 3) == 0;
  for (std::size_t a = 0; a < y.rows(); ++a) {
    for (float& p : y.row(a)) p = certain ? 0.0F : static_cast<float>(random->Real(0.0, 1.0));
    y(a, static_cast<std::size_t>(random->Integer(0, model.num_labels() - 1))) += 0.5F;
  }
  return y;
}

Matrix<double> InDouble(const Matrix<float>& x) {
  Matrix<double> result(x.rows(), x.cols());
  std::copy(x.data(), x.data() + x.size(), result.data());
  return result;
}

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
    const Matrix<float> v = RandomPotential(model, &random);
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
    const Extension extension(sparse, ExtensionKind::kOptimal);
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
    const Extension extension(sparse, ExtensionKind::kOptimal);
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

}  // namespace
}  // namespace submarine
