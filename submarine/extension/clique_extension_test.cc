#include "submarine/extension/clique_extension.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/extension/set_function_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::NextLabeling;
using testing::RandomModels;

// F of all cliques by its definition, for elements (a, l) at a * labels + l.
double Value(const std::vector<Clique>& cliques, std::size_t labels, std::span<const char> in_set) {
  double value = 0.0;
  for (const Clique& clique : cliques) {
    for (std::size_t l = 0; l < labels; ++l) {
      double outside = 0.0;
      for (std::size_t k = 0; k < clique.members.size(); ++k) {
        if (!in_set[static_cast<std::size_t>(clique.members[k]) * labels + l])
          outside += clique.weight(k);
      }
      value -= std::max(0.0, clique.gamma - clique.theta() * outside);
    }
  }
  return value;
}

struct Drawn {
  explicit Drawn(RandomModels* random, int most_variables)
      : variables(random->Integer(1, most_variables)),
        labels(static_cast<std::size_t>(random->Integer(2, 4))),
        cliques(random->Cliques(variables)) {
    // As models have it: a truncation below all weights is the least of them.
    const CliqueCrf<SparseCrf> model(
        SparseCrf(Matrix<double>(static_cast<std::size_t>(variables), labels), {},
                  PottsLabels(static_cast<int>(labels))),
        cliques);
    cliques = model.cliques();
  }
  int variables;
  std::size_t labels;
  std::vector<Clique> cliques;
};

TEST(CliqueExtension, ExtendsTheEnergy) {
  RandomModels random(1);
  for (int trial = 0; trial < 300 && !HasFailure(); ++trial) {
    const Drawn of(&random, 5);
    const CliqueExtension extension(of.cliques, static_cast<std::size_t>(of.variables), of.labels);
    std::vector<int> labeling(static_cast<std::size_t>(of.variables), 0);
    do {
      Matrix<double> y(labeling.size(), of.labels);
      std::vector<char> in_set(labeling.size() * of.labels, 0);
      double energy = 0.0;
      for (std::size_t a = 0; a < labeling.size(); ++a) {
        y(a, static_cast<std::size_t>(labeling[a])) = 1.0;
        in_set[a * of.labels + static_cast<std::size_t>(labeling[a])] = 1;
      }
      for (const Clique& clique : of.cliques) energy += clique.Energy(labeling, of.labels);
      ASSERT_NEAR(Value(of.cliques, of.labels, in_set) + extension.offset(), energy, 1e-10);
      ASSERT_NEAR(extension.LovaszAt(y) + extension.offset(), energy, 1e-10);
    } while (NextLabeling(&labeling, static_cast<int>(of.labels)));
  }
}

// The sorted greedy against Edmonds' algorithm on the set function, which is submodular: its vertex is in EP(F).
TEST(CliqueExtension, GreedyVertexIsThatOfTheSetFunction) {
  RandomModels random(2);
  for (int trial = 0; trial < 300 && !HasFailure(); ++trial) {
    const Drawn of(&random, 4);
    const auto variables = static_cast<std::size_t>(of.variables);
    const CliqueExtension extension(of.cliques, variables, of.labels);
    const Matrix<double> y = random.Points(variables, of.labels, 0.0, 1.0);
    const SetFunction f = [&](std::span<const char> in_set) {
      return Value(of.cliques, of.labels, in_set) -
             Value(of.cliques, of.labels, std::vector<char>(in_set.size(), 0));
    };
    Matrix<double> q(extension.num_memberships(), of.labels);
    extension.MoveTowardsGreedy(y, 1.0, &q);
    Matrix<double> s(variables, of.labels);
    extension.AddModular(q, &s);
    const std::vector<double> vertex = GreedyVertex(f, {y.data(), y.size()});
    double attained = 0.0;
    for (std::size_t k = 0; k < s.size(); ++k) {
      attained += s.data()[k] * y.data()[k];
      EXPECT_NEAR(s.data()[k], vertex[k], 1e-9);
    }
    EXPECT_NEAR(attained, LovaszValue(f, {y.data(), y.size()}), 1e-9);
    EXPECT_NEAR(extension.LovaszAt(y), LovaszValue(f, {y.data(), y.size()}), 1e-9);
    if (variables * of.labels <= 12) {
      EXPECT_LE(WorstViolation(f, {s.data(), s.size()}), 1e-9);
    }
  }
}

// The projection, label by label, by bisection.
double Shift(const std::vector<double>& p, const std::vector<double>& r,
             const std::vector<double>& u, double truncation) {
  double low = -1e3;
  double high = 1e3;
  for (int k = 0; k < 200; ++k) {
    const double t = 0.5 * (low + high);
    double sum = 0.0;
    for (std::size_t a = 0; a < p.size(); ++a) sum += std::clamp(p[a] - r[a] * t, 0.0, u[a]);
    (sum > truncation ? low : high) = t;
  }
  return 0.5 * (low + high);
}

template <class Real>
void CompareSteps(double tolerance) {
  RandomModels random(3);
  for (int trial = 0; trial < 300 && !::testing::Test::HasFailure(); ++trial) {
    const Drawn of(&random, 30);
    const auto variables = static_cast<std::size_t>(of.variables);
    const CliqueExtension extension(of.cliques, variables, of.labels);
    Matrix<Real> y(variables, of.labels);
    for (std::size_t k = 0; k < y.size(); ++k) y.data()[k] = static_cast<Real>(random.Real(0, 1));
    Matrix<Real> q = extension.Neutral<Real>();
    for (int step = 0; step < 3; ++step) {
      const Matrix<Real> before = q;
      const double eta = std::pow(10.0, random.Real(-2, 1));
      const double moved = extension.Step(y, eta, &q);
      double expected_move = 0.0;
      std::size_t m = 0;
      for (const Clique& clique : of.cliques) {
        const std::size_t members = clique.members.size();
        for (std::size_t l = 0; l < of.labels; ++l) {
          std::vector<double> p, r, u;
          for (std::size_t k = 0; k < members; ++k) {
            r.push_back(std::min(clique.weight(k), clique.truncation));
            p.push_back(static_cast<double>(before(m + k, l)) -
                        eta * r.back() *
                            static_cast<double>(y(static_cast<std::size_t>(clique.members[k]), l)));
            u.push_back(clique.weight(k));
          }
          const double t = Shift(p, r, u, clique.truncation);
          for (std::size_t k = 0; k < members; ++k) {
            const double expected = std::clamp(p[k] - r[k] * t, 0.0, u[k]);
            EXPECT_NEAR(static_cast<double>(q(m + k, l)), expected, tolerance);
            expected_move += clique.theta() *
                             std::pow(expected - static_cast<double>(before(m + k, l)), 2.0) / r[k];
          }
        }
        m += members;
      }
      EXPECT_NEAR(moved, expected_move, tolerance * (10.0 + expected_move));
    }
  }
}
TEST(CliqueExtension, StepIsAProjection) { CompareSteps<double>(1e-9); }
TEST(CliqueExtension, StepInSinglePrecisionIsAProjection) { CompareSteps<float>(2e-5); }

// Marginals of solvers whose numbers overflowed: what comes out is evidence all the same.
TEST(CliqueExtension, KeepsEvidenceAtMarginalsThatAreNoNumbers) {
  const std::vector<Clique> cliques = {{.members = {0, 1, 2}, .gamma = 2.0, .truncation = 1.5}};
  const CliqueExtension extension(cliques, 3, 2);
  Matrix<double> y(3, 2, 0.5);
  y(0, 0) = std::nan("");
  y(1, 1) = std::numeric_limits<double>::infinity();
  Matrix<double> stepped = extension.Neutral<double>();
  extension.Step(y, 1.0, &stepped);
  Matrix<double> greedy = extension.Neutral<double>();
  extension.MoveTowardsGreedy(y, 1.0, &greedy);
  extension.LovaszAt(y);  // ends
  for (const Matrix<double>* q : {&stepped, &greedy}) {
    for (std::size_t l = 0; l < 2; ++l) {
      double sum = 0.0;
      for (std::size_t m = 0; m < 3; ++m) sum += (*q)(m, l);
      EXPECT_NEAR(sum, 1.5, 1e-9);
    }
  }
}

}  // namespace
}  // namespace submarine::internal
