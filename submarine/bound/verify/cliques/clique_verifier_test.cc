#include "submarine/bound/verify/cliques/clique_verifier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/labels/metric_fit.h"
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
                 const Matrix<double>& holders, double error) {
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

// Some label, none, or a mixture.
Matrix<double> RandomHolders(std::size_t cliques, int labels, RandomModels* random) {
  Matrix<double> holders(cliques, static_cast<std::size_t>(labels));
  for (std::size_t c = 0; c < cliques; ++c) {
    const int label = random->Integer(-1, labels - 1);
    if (label >= 0) holders(c, static_cast<std::size_t>(label)) = 1.0;
    if (random->Integer(0, 1) == 0) continue;
    double total = random->Real(0.1, 1.0);
    for (double& share : holders.row(c)) total += share += random->Real(0.0, 1.0);
    for (double& share : holders.row(c)) share /= total;
  }
  return holders;
}

TEST(CliqueVerifier, AnyEvidenceBoundsTheEnergies) {
  RandomModels random(11);
  for (int trial = 0; trial < 1000 && !HasFailure(); ++trial) {
    const int variables = random.Integer(1, 6);
    const int labels = random.Integer(2, 4);
    const std::vector<Clique> cliques = random.Cliques(variables);
    const Matrix<double> holders = RandomHolders(cliques.size(), labels, &random);
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
  Matrix<double> holders(1, 2);
  EXPECT_NEAR(PairsAbove(model, holders).Energy(std::vector<int>{1, 1}), 4.0, 1e-12);
  holders(0, 1) = 1.0;
  const SparseCrf above = PairsAbove(model, holders);
  EXPECT_NEAR(above.Energy(std::vector<int>{1, 1}), 0.0, 1e-12);
  EXPECT_NEAR(above.Energy(std::vector<int>{0, 1}), 4.0, 1e-12);
  holders(0, 1) = 0.25;
  EXPECT_NEAR(PairsAbove(model, holders).Energy(std::vector<int>{1, 1}), 3.0, 1e-12);
}

// For every labeling the states of the latent labels sum to no less than the model has, and one of them is the model's.
TEST(CliqueVerifier, LatentLabels) {
  RandomModels random(14);
  for (int trial = 0; trial < 300 && !HasFailure(); ++trial) {
    const int variables = random.Integer(1, 5);
    const int labels = random.Integer(2, 3);
    const CliqueCrf<SparseCrf> model(random.Model(variables, labels), random.Cliques(variables));
    const SparseCrf latent = *WithLatentLabels(model, 1.0);
    const std::size_t cliques = model.cliques().size();
    ASSERT_EQ(latent.num_labels(), labels + 1);
    std::vector<int> labeling(model.num_variables(), 0);
    do {
      const double energy = model.Energy(labeling);
      std::vector<int> all = labeling;
      all.resize(labeling.size() + cliques, 0);
      double least = std::numeric_limits<double>::infinity();
      std::vector<int> of_cliques(cliques, 0);
      do {
        std::copy(of_cliques.begin(), of_cliques.end(), all.begin() + variables);
        least = std::min(least, latent.Energy(all));
      } while (NextLabeling(&of_cliques, labels + 1));
      ASSERT_NEAR(least, energy, 1e-11 * (1.0 + std::abs(energy)));
      ASSERT_LE(least, energy + 1e-14 * (1.0 + std::abs(energy)));
      all[0] = labels;  // a state that no member takes
      ASSERT_GE(latent.Energy(all), energy + 40.0);
    } while (NextLabeling(&labeling, labels));
  }
}

TEST(CliqueVerifier, LatentLabelsKeepTheirMetrics) {
  const std::vector<LabelSpace> spaces = {PottsLabels(4), LinearLabels(4),
                                          TruncatedLinearLabels(5, 2)};
  for (const LabelSpace& labels : spaces) {
    const auto n = static_cast<std::size_t>(labels.num_labels());
    const CliqueCrf<SparseCrf> model(SparseCrf(Matrix<double>(2, n), {{0, 1}}, labels),
                                     {{.members = {0, 1}}});
    const LabelSpace wider = WithLatentLabels(model, 1.0)->labels();
    ASSERT_EQ(wider.metrics.size(), 2U);
    EXPECT_TRUE(RecogniseMetric(wider.metrics[0].distance));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j)
        EXPECT_EQ(wider.metrics[0].distance(i, j), labels.metrics[0].distance(i, j));
    }
  }
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

// E psi by its definition.
double Expected(const Clique& clique, const Matrix<double>& y) {
  std::vector<int> labeling(y.rows(), 0);
  double sum = 0.0;
  do {
    double p = 1.0;
    for (std::size_t a = 0; a < y.rows(); ++a) p *= y(a, static_cast<std::size_t>(labeling[a]));
    sum += p * clique.Energy(labeling, y.cols());
  } while (NextLabeling(&labeling, static_cast<int>(y.cols())));
  return sum;
}

TEST(CliqueVerifier, LowerBoundsOfMarginals) {
  RandomModels random(13);
  for (int trial = 0; trial < 600 && !HasFailure(); ++trial) {
    const int variables = random.Integer(1, 6);
    const int labels = random.Integer(2, 3);
    const CliqueCrf<SparseCrf> model(random.Model(variables, labels), random.Cliques(variables));
    const SparseCrf known =
        PairsAbove(model, RandomHolders(model.cliques().size(), labels, &random));
    Matrix<double> y(model.num_variables(), static_cast<std::size_t>(labels));
    for (std::size_t a = 0; a < y.rows(); ++a) {
      double total = 0.0;
      for (double& p : y.row(a)) total += p = std::pow(random.Real(0.0, 1.0), random.Integer(0, 8));
      for (double& p : y.row(a)) p /= total;
    }
    const Bound of_pairs = VerifiedLower(model.pairs(), y, 1.0);
    const Bound found = LowerFrom(model, known, VerifiedLower(known, y, 1.0), y);
    double exact = of_pairs;
    double jensen = 0.0;  // how much the bounds of uneven weights may lose
    for (const Clique& clique : model.cliques()) {
      const double expected = Expected(clique, y);
      exact -= expected;
      double linear = clique.gamma;
      for (std::size_t i = 0; i < y.cols(); ++i) {
        double others = 0.0;
        for (std::size_t k = 0; k < clique.members.size(); ++k)
          others += clique.weight(k) * (1.0 - y(static_cast<std::size_t>(clique.members[k]), i));
        linear -= clique.theta() * std::max(0.0, clique.truncation - others);
      }
      if (!clique.weights.empty()) jensen += std::min(linear - expected, 0.02 * clique.gamma);
    }
    const double slack = 1e-11 * (1.0 + std::abs(exact));
    EXPECT_LE(found, exact + slack) << trial;
    EXPECT_GE(found, exact - jensen - slack) << trial;
  }
}

TEST(CliqueVerifier, LowerBoundsOfManyVariables) {
  // Binomial: 2000 variables, of which each leaves label 0 with probability 0.1; Q is the mean.
  constexpr std::size_t kMany = 2000;
  Clique clique{.gamma = 3.0, .truncation = 200.0};
  for (std::size_t a = 0; a < kMany; ++a) clique.members.push_back(static_cast<int>(a));
  const CliqueCrf<SparseCrf> model(SparseCrf(Matrix<double>(kMany, 2), {}, PottsLabels(2)),
                                   {clique});
  Matrix<double> y(kMany, 2, 0.1);
  for (std::size_t a = 0; a < kMany; ++a) y(a, 0) = 0.9;
  const Bound of_pairs = VerifiedLower(model.pairs(), y, 1.0);
  const double expected = of_pairs - LowerFrom(model, model.pairs(), of_pairs, y);
  // E (Q - N)^+ is half the mean deviation, 2 Q (1 - p) C(n, Q) p^Q (1 - p)^(n - Q) (de Moivre).
  const double n = kMany, q = clique.truncation;
  const double half = q * 0.9 *
                      std::exp(std::lgamma(n + 1) - std::lgamma(q + 1) - std::lgamma(n - q + 1) +
                               q * std::log(0.1) + (n - q) * std::log(0.9));
  EXPECT_NEAR(expected, clique.gamma - clique.theta() * half, 1e-8);
}

TEST(CliqueVerifier, RefusesWhatIsNoEvidence) {
  const CliqueCrf<SparseCrf> model(SparseCrf(Matrix<double>(2, 2), {}, PottsLabels(2)),
                                   {{.members = {0, 1}}});
  EXPECT_THROW(PairsBelow(model, Matrix<double>(1, 2)), InvalidInput);
  EXPECT_THROW(PairsBelow(model, Matrix<double>(2, 2, std::nan(""))), InvalidInput);
  EXPECT_THROW(PairsAbove(model, Matrix<double>(0, 2)), InvalidInput);
  EXPECT_THROW(PairsAbove(model, Matrix<double>(1, 3)), InvalidInput);
  for (const double bad : {-0.1, 0.51, std::nan("")})
    EXPECT_THROW(PairsAbove(model, Matrix<double>(1, 2, bad)), InvalidInput);
  const Bound lower = VerifiedLower(model.pairs(), Matrix<double>(2, 2, 0.5), 1.0);
  for (const double bad : {-1.0, 0.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(LowerFrom(model, model.pairs(), lower, Matrix<double>(2, 2, bad)), InvalidInput);
  EXPECT_THROW(LowerFrom(model, model.pairs(), lower, Matrix<double>(2, 3, 0.5)), InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
