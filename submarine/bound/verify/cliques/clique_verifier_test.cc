#include "submarine/bound/verify/cliques/clique_verifier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::NextLabeling;
using testing::RandomModels;

std::size_t Memberships(const std::vector<Clique>& cliques) {
  std::size_t memberships = 0;
  for (const Clique& clique : cliques) memberships += clique.members.size();
  return memberships;
}

// Whatever the evidence is: below stays below and above stays above, for every labeling.
template <class Pairs, class Real>
void ExpectOrder(const CliqueCrf<Pairs>& model, const Matrix<Real>& q,
                 const std::vector<int>& holders, double error) {
  const Pairs below = PairsBelow(model, q);
  const Pairs above = PairsAbove(model, holders);
  std::vector<int> labeling(model.num_variables(), 0);
  do {
    const double energy = model.Energy(labeling);
    const double slack = 1e-12 * (1.0 + std::abs(energy)) + error;
    ASSERT_LE(below.Energy(labeling), energy + slack);
    ASSERT_GE(above.Energy(labeling), energy - slack);
  } while (NextLabeling(&labeling, model.num_labels()));
}

// Evidence of the right sums and none, in and out of its bounds.
template <class Real>
Matrix<Real> RandomEvidence(const std::vector<Clique>& cliques, int labels, RandomModels* random) {
  Matrix<Real> q(Memberships(cliques), static_cast<std::size_t>(labels));
  const double low = random->Integer(0, 1) == 0 ? 0.0 : -2.0;
  const double high = random->Integer(0, 1) == 0 ? 0.3 : 5.0;
  for (std::size_t k = 0; k < q.size(); ++k)
    q.data()[k] = static_cast<Real>(random->Real(low, high));
  if (q.size() > 0 && random->Integer(0, 9) == 0)
    q.data()[0] = std::numeric_limits<Real>::infinity();
  return q;
}

TEST(CliqueVerifier, AnyEvidenceBoundsTheEnergies) {
  RandomModels random(11);
  for (int trial = 0; trial < 1000 && !HasFailure(); ++trial) {
    const int variables = random.Integer(1, 6);
    const int labels = random.Integer(2, 4);
    const std::vector<Clique> cliques = random.Cliques(variables);
    std::vector<int> holders;
    for (std::size_t c = 0; c < cliques.size(); ++c)
      holders.push_back(random.Integer(-1, labels - 1));
    const CliqueCrf<SparseCrf> sparse(random.Model(variables, labels), cliques);
    ExpectOrder(sparse, RandomEvidence<double>(cliques, labels, &random), holders, 0.0);
    const CliqueCrf<DenseCrf> dense(random.Dense(variables, PottsLabels(labels)), cliques);
    ExpectOrder(dense, RandomEvidence<float>(cliques, labels, &random), holders, 0.0);
  }
}

// P^n Potts on all variables, by hand: q = 1/2 of two variables proves gamma/2 off either.
TEST(CliqueVerifier, KnownModelsOfPairs) {
  const CliqueCrf<SparseCrf> model(SparseCrf(Matrix<double>(2, 2), {}, PottsLabels(2)),
                                   {{.members = {0, 1}, .gamma = 4.0, .truncation = 1.0}});
  Matrix<double> q(2, 2, 0.5);
  const SparseCrf below = PairsBelow(model, q);
  EXPECT_NEAR(below.unary()(0, 0), -2.0, 1e-12);
  EXPECT_NEAR(below.constant(), 4.0, 1e-12);
  q(0, 1) = 0.25;  // label 1 lacks a quarter of Q
  EXPECT_NEAR(PairsBelow(model, q).constant(), 3.0, 1e-12);
  const SparseCrf above = PairsAbove(model, std::vector<int>{1});
  EXPECT_NEAR(above.Energy(std::vector<int>{1, 1}), 0.0, 1e-12);
  EXPECT_NEAR(above.Energy(std::vector<int>{0, 1}), 4.0, 1e-12);
  EXPECT_NEAR(PairsAbove(model, std::vector<int>{kNoHolder}).Energy(std::vector<int>{1, 1}), 4.0,
              1e-12);
}

TEST(CliqueVerifier, EnergyOfLabelings) {
  RandomModels random(12);
  for (int trial = 0; trial < 300 && !HasFailure(); ++trial) {
    const int variables = random.Integer(1, 6);
    const CliqueCrf<SparseCrf> model(random.Model(variables, 3), random.Cliques(variables));
    const SparseCrf known = PairsBelow(model, RandomEvidence<double>(model.cliques(), 3, &random));
    std::vector<int> labeling(model.num_variables());
    for (int& label : labeling) label = random.Integer(0, 2);
    const Bound given = VerifiedEnergy(known, labeling);
    const double energy = model.Energy(labeling);
    const double found = EnergyFrom(model, known, given, labeling);
    EXPECT_GE(found, energy - 1e-12 * (1.0 + std::abs(energy)));
    EXPECT_NEAR(found, energy, 1e-9 * (1.0 + std::abs(energy)));
  }
}

TEST(CliqueVerifier, RefusesWhatIsNoEvidence) {
  const CliqueCrf<SparseCrf> model(SparseCrf(Matrix<double>(2, 2), {}, PottsLabels(2)),
                                   {{.members = {0, 1}}});
  EXPECT_THROW(PairsBelow(model, Matrix<double>(1, 2)), InvalidInput);
  EXPECT_THROW(PairsBelow(model, Matrix<double>(2, 2, std::nan(""))), InvalidInput);
  EXPECT_THROW(PairsAbove(model, std::vector<int>{}), InvalidInput);
  EXPECT_THROW(PairsAbove(model, std::vector<int>{2}), InvalidInput);
  EXPECT_THROW(PairsAbove(model, std::vector<int>{-2}), InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
