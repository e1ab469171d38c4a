#include "submarine/bound/verify/dense/operator_verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/bound/verify/dense/operator_verifier_test_util.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/extension/sparse_extension.h"
#include "submarine/filter/lattice/lattice_levels.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::InDouble;
using testing::OperatorModel;
using testing::OperatorWeights;
using testing::RandomMarginals;
using testing::RandomModels;
using testing::RandomPotential;

constexpr OperatorKind kChoices[] = {OperatorKind::kBruteForce, OperatorKind::kNeighbourList,
                                     OperatorKind::kLattice};

double Rounding(double value) { return 1e-9 * (1.0 + std::abs(value)); }

double SoftLevel(const std::vector<float>& nodes, double v) {
  double level = 0.0;
  for (std::size_t k = 0; k + 1 < nodes.size(); ++k) {
    level += std::clamp((v - nodes[k]) / (static_cast<double>(nodes[k + 1]) - nodes[k]), 0.0, 1.0);
  }
  return level;
}

// A random model with a random operator for each of its kernels.
struct Instance {
  Instance(int variables, int num_labels, RandomModels* random)
      : model(random->Dense(variables, random->Labels(num_labels))) {
    for (std::size_t m = 0; m < model.kernels().size(); ++m) {
      kinds.push_back(kChoices[random->Integer(0, 2)]);
    }
    options.cutoff = std::pow(10.0, random->Real(-4.0, -0.1));
    options.lattice.levels = random->Integer(2, 12);
    weights = OperatorWeights(model, kinds, options);
  }

  // Of a lattice, by definition.
  std::vector<double> Levels(const FlowTerm& term, std::size_t column) const {
    const LatticeOptions& lattice = options.lattice;
    const ColumnLevels levels = ColumnLevels::Soft(
        term.v, term.shape == FlowShape::kClip ? NodeRule::kUnitCells : NodeRule::kQuantiles,
        lattice.levels, column, column + 1);
    std::vector<double> result;
    for (std::size_t a = 0; a < term.v.rows(); ++a) {
      result.push_back(SoftLevel(levels.nodes(0), term.v(a, column)));
    }
    return result;
  }

  // What the proof claims, as a flow on the edges of the sparse model.
  Flow ExplicitFlow(const FlowProof& proof, const SparseCrf& sparse) const {
    const std::size_t n = model.num_variables();
    const auto cuts = static_cast<std::size_t>(model.num_cuts());
    Flow flow{Matrix<double>(n * (n - 1) / 2, cuts, 0.0), {}};
    for (const FlowTerm& term : proof) {
      for (std::size_t c = 0; c < cuts; ++c) {
        if (model.metric().length[c] == 0.0) continue;
        const std::vector<double> level = Levels(term, c);
        for (std::size_t e = 0; e < flow.edge.rows(); ++e) {
          const Edge& edge = sparse.edges()[e];
          const auto a = static_cast<std::size_t>(edge.a);
          const auto b = static_cast<std::size_t>(edge.b);
          const double difference = static_cast<double>(term.v(a, c)) - term.v(b, c);
          const double sign = difference > 0.0 ? 1.0 : (difference < 0.0 ? -1.0 : 0.0);
          for (std::size_t m = 0; m < weights.size() && edge.weight > 0.0; ++m) {
            const double psi = kinds[m] == OperatorKind::kLattice ? PsiOfLevels(level[a], level[b])
                               : term.shape == FlowShape::kClip ? std::clamp(difference, -1.0, 1.0)
                                                                : sign;
            flow.edge(e, c) += term.share * psi * weights[m](a, b) / edge.weight;
          }
        }
      }
    }
    // Shares of weights add up to 1 with a rounding.
    for (std::size_t k = 0; k < flow.edge.size(); ++k)
      flow.edge.data()[k] = std::clamp(flow.edge.data()[k], -1.0, 1.0);
    return flow;
  }

  OperatorVerifier Verifier(double temperature = 1.0) const {
    return {model, kinds, options, temperature};
  }

  DenseCrf model;
  std::vector<OperatorKind> kinds;
  OperatorOptions options;
  std::vector<Matrix<double>> weights;
};

TEST(OperatorVerifierTest, AgreesWithTheModelPairByPair) {
  RandomModels random(404);
  for (int trial = 0; trial < 400 && !HasFailure(); ++trial) {
    const Instance instance(random.Integer(1, 40), random.Integer(2, 5), &random);
    SCOPED_TRACE(::testing::Message() << "trial " << trial);
    const SparseCrf sparse = OperatorModel(instance.model, instance.weights);
    constexpr double kTemperatures[] = {1.0, 0.0, 1e-12, 0.3, 5.0, 1e12};
    const double T = kTemperatures[trial % 6];
    const OperatorVerifier verifier = instance.Verifier(T);
    // The verifier of sparse models rounds the entropy of labelings, too, which have none.
    const double entropy = 1e-13 * T * static_cast<double>(instance.model.num_variables());

    const FlowProof proof = {{0.3, FlowShape::kClip, RandomPotential(instance.model, &random)},
                             {0.7, FlowShape::kSign, RandomPotential(instance.model, &random)}};
    const double expected =
        VerifiedUpper(sparse, ExtensionKind::kOptimal, instance.ExplicitFlow(proof, sparse), T);
    EXPECT_NEAR(verifier.Upper(proof), expected, Rounding(expected) + entropy);

    const Matrix<float> y = RandomMarginals(instance.model, &random);
    const double lower = VerifiedLower(sparse, InDouble(y), T);
    EXPECT_NEAR(verifier.Lower(y), lower, Rounding(lower) + entropy);
    const double dual = VerifiedDual(sparse, ExtensionKind::kOptimal, InDouble(y), T);
    EXPECT_LE(verifier.Dual(y), dual + Rounding(dual) + entropy);

    std::vector<int> labels;
    Matrix<float> certain(y.rows(), y.cols());
    for (std::size_t a = 0; a < y.rows(); ++a) {
      labels.push_back(random.Integer(0, instance.model.num_labels() - 1));
      certain(a, static_cast<std::size_t>(labels.back())) = 1.0F;
    }
    const double energy = sparse.Energy(labels);
    EXPECT_NEAR(verifier.Energy(labels), energy, Rounding(energy));
    EXPECT_GE(verifier.Energy(labels), energy - 1e-12 * (1.0 + std::abs(energy)));
    // Labelings are nodes of their levels: nothing is over-estimated.
    const double certain_dual = verifier.Dual(certain);
    EXPECT_NEAR(certain_dual, -energy, Rounding(energy));
  }
}

// A changed potential gives a different flow, but still a valid one.
TEST(OperatorVerifierTest, TamperedProofsProveWhatTheyAre) {
  RandomModels random(405);
  for (int trial = 0; trial < 60; ++trial) {
    const Instance instance(random.Integer(2, 30), random.Integer(2, 4), &random);
    const SparseCrf sparse = OperatorModel(instance.model, instance.weights);
    const OperatorVerifier verifier = instance.Verifier();
    FlowProof proof = {{1.0, FlowShape::kClip, RandomPotential(instance.model, &random)}};
    proof[0].v(1, 0) = -2.5F * proof[0].v(0, 0) + 1e3F;
    const double expected =
        VerifiedUpper(sparse, ExtensionKind::kOptimal, instance.ExplicitFlow(proof, sparse), 1.0);
    EXPECT_NEAR(verifier.Upper(proof), expected, Rounding(expected));
    const Matrix<float> y = RandomMarginals(instance.model, &random);
    EXPECT_LE(verifier.Dual(y), verifier.Upper(proof)) << "weak duality";
    EXPECT_LE(verifier.Lower(y), verifier.Upper(proof));
  }
}

TEST(OperatorVerifierTest, NoProofIsTheBoundWithoutFlow) {
  RandomModels random(406);
  const Instance instance(9, 3, &random);
  const SparseCrf sparse = OperatorModel(instance.model, instance.weights);
  const Flow none{Matrix<double>(36, static_cast<std::size_t>(instance.model.num_cuts()), 0.0), {}};
  const double expected = VerifiedUpper(sparse, ExtensionKind::kOptimal, none, 1.0);
  EXPECT_NEAR(instance.Verifier().Upper({}), expected, Rounding(expected));
}

// Values of 0 and 1 with something in between that single precision takes for 1.
TEST(OperatorVerifierTest, NodesEncloseWhatSinglePrecisionRounds) {
  Matrix<float> unary(3, 2, 0.0F);
  const DenseCrf model(unary, {{"line", Matrix<double>(3, 1), 1.0}}, PottsLabels(2));
  const OperatorKind kinds[] = {OperatorKind::kLattice};
  const OperatorVerifier verifier(model, kinds, {});
  Matrix<float> y(3, 2, 1.0F);
  y(0, 1) = 1e-9F;
  y(1, 1) = 0.0F;
  y(2, 1) = 1e-10F;
  const SparseCrf sparse = OperatorModel(model, OperatorWeights(model, kinds, {}));
  const double dual = VerifiedDual(sparse, ExtensionKind::kOptimal, InDouble(y), 1.0);
  EXPECT_LE(verifier.Dual(y), dual + 1e-14);
  EXPECT_NEAR(verifier.Dual(y), dual, 1e-8);
}

TEST(OperatorVerifierTest, DoesNotDependOnTheNumberOfThreads) {
  RandomModels random(407);
  const Instance instance(3000, 3, &random);
  const FlowProof proof = {{1.0, FlowShape::kClip, RandomPotential(instance.model, &random)}};
  const Matrix<float> y = RandomMarginals(instance.model, &random);
  const OperatorKind choices[][2] = {{OperatorKind::kLattice, OperatorKind::kLattice},
                                     {OperatorKind::kNeighbourList, OperatorKind::kLattice}};
  for (const auto& kinds : choices) {
    const auto all = [&] {
      const OperatorVerifier verifier(instance.model,
                                      std::span(kinds).first(instance.model.kernels().size()), {});
      return std::vector<double>{verifier.Upper(proof), verifier.Lower(y), verifier.Dual(y)};
    };
    testing::SetThreadCount(1);
    const std::vector<double> one = all();
    testing::SetThreadCount(2);
    EXPECT_EQ(all(), one);
    testing::SetThreadCount(0);
  }
}

TEST(OperatorVerifierTest, ReportsProgressAndStops) {
  RandomModels random(408);
  const Instance instance(50, 3, &random);
  const FlowProof proof = {{1.0, FlowShape::kClip, RandomPotential(instance.model, &random)}};
  const Matrix<float> y(50, 3, 1.0F);
  for (const OperatorKind kind : kChoices) {
    const std::vector<OperatorKind> kinds(instance.model.kernels().size(), kind);
    const OperatorVerifier verifier(instance.model, kinds, {});
    double last = 0.0;
    const OperatorVerifier::OnProgress watch = [&](double done) {
      EXPECT_GE(done, last);
      EXPECT_LE(done, 1.0);
      last = done;
      return true;
    };
    verifier.Upper(proof, watch);
    EXPECT_EQ(last, 1.0);
    last = 0.0;
    verifier.Lower(y, watch);
    EXPECT_EQ(last, 1.0);
    last = 0.0;
    verifier.Dual(y, watch);
    EXPECT_EQ(last, 1.0);
    const OperatorVerifier::OnProgress stop = [](double) { return false; };
    EXPECT_THROW(verifier.Upper(proof, stop), Interrupted);
    EXPECT_THROW(verifier.Lower(y, stop), Interrupted);
    EXPECT_THROW(verifier.Dual(y, stop), Interrupted);
  }
}

// Between blocks of labels, too: a deadline ends the verifier of a large picture in time.
TEST(OperatorVerifierTest, ReportsProgressBetweenLabels) {
  RandomModels random(409);
  const DenseCrf model = random.Dense(50, PottsLabels(20));
  const std::vector<OperatorKind> kinds(model.kernels().size(), OperatorKind::kLattice);
  const OperatorVerifier verifier(model, kinds, {});
  std::size_t reports = 0;
  verifier.Lower(Matrix<float>(50, 20, 1.0F), [&](double) {
    ++reports;
    return true;
  });
  EXPECT_GE(reports, 4U) << "20 labels are three blocks";
}

TEST(OperatorVerifierTest, RefusesWhatIsNoEvidence) {
  RandomModels random(409);
  const Instance instance(5, 3, &random);
  const DenseCrf& model = instance.model;
  std::vector<OperatorKind> kinds(model.kernels().size() + 1, OperatorKind::kLattice);
  ExpectInvalid([&] { OperatorVerifier(model, kinds, {}); }, "kernels, but the model has");
  const DenseCrf one(Matrix<float>(2, 2), {{"one", Matrix<double>(2, 1), 1.0}}, PottsLabels(2));
  const OperatorKind chosen_later[] = {OperatorKind::kAuto};
  ExpectInvalid([&] { OperatorVerifier(one, chosen_later, {}); },
                "the operator of kernel \"one\" is auto");
  const OperatorVerifier verifier = instance.Verifier();
  const auto cuts = static_cast<std::size_t>(model.num_cuts());
  ExpectInvalid(
      [&] {
        verifier.Upper({{1.0, FlowShape::kClip, Matrix<float>(4, cuts)}});
      },
      "potential 0 of the proof is 4 x");
  ExpectInvalid(
      [&] {
        verifier.Upper({{1.5, FlowShape::kClip, Matrix<float>(5, cuts)}});
      },
      "the shares of the proof sum to 1.5");
  ExpectInvalid(
      [&] {
        verifier.Upper({{1.0, FlowShape::kClip, Matrix<float>(5, cuts, std::nanf(""))}});
      },
      "expected a finite number");
  ExpectInvalid([&] { verifier.Lower(Matrix<float>(5, 3)); }, "are not a distribution");
  ExpectInvalid([&] { verifier.Dual(Matrix<float>(5, 2, 1.0F)); }, "the marginals are 5 x 2");
  ExpectInvalid([&] { verifier.Energy({0, 1, 2, 3, 0}); }, "the label of variable 3 is 3");
  ExpectInvalid([&] { verifier.Energy({0}); }, "the labeling has 1 variables, expected 5");
}

}  // namespace
}  // namespace submarine::internal
