#include "submarine/extension/dense_extension.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "submarine/base/argmax.h"
#include "submarine/base/error_test_util.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/filter/kernel/brute_force.h"
#include "submarine/filter/list/neighbour_list.h"
#include "submarine/labels/label_tree.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::RandomModels;

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
constexpr double kTemperatures[] = {1.0, 0.0, 1e-12, 0.3, 5.0, 1e12};

// Every kind of label metric, with what each has of its own: length 0 among the leaves (linear), a
// cut of all labels (truncated), unequal lengths on leaves alone (star), nested cuts (tree).
std::vector<LabelSpace> LabelSpaces(RandomModels* random) {
  const LabelTree star(
      std::vector<TreeNode>{{}, {0, 0.25, 2}, {0, 1.5, 0}, {0, 0.75, 1}, {0, 0.5, 3}});
  return {PottsLabels(2),
          PottsLabels(5),
          LinearLabels(5),
          TruncatedLinearLabels(6, 2),
          TruncatedLinearLabels(4, 4),
          LabelTree::Regular({3, 2}, {1.0, 0.5}).ToLabels(),
          star.ToLabels(),
          random->Tree(7).ToLabels(),
          random->Tree(2).ToLabels()};
}

std::vector<WeightedKernel> Weights(const DenseCrf& model) {
  std::vector<WeightedKernel> kernels;
  for (const GaussianKernel& kernel : model.kernels())
    kernels.push_back({&kernel, model.pair_factor() * kernel.weight});
  return kernels;
}

Matrix<float> RandomMarginals(const DenseCrf& model, RandomModels* random) {
  Matrix<float> y(model.num_variables(), static_cast<std::size_t>(model.num_labels()));
  for (std::size_t a = 0; a < y.rows(); ++a) {
    double sum = 0.0;
    for (float& p : y.row(a)) {
      p = random->Integer(0, 3) == 0 ? 0.0F : static_cast<float>(random->Real(0.0, 1.0));
      sum += p;
    }
    if (sum == 0.0) y(a, 0) = 1.0F;
    for (float& p : y.row(a)) p = static_cast<float>(p / std::max(sum, 1e-30));
    if (sum == 0.0) y(a, 0) = 1.0F;
  }
  return y;
}

std::vector<int> ActiveCuts(const DenseCrf& model) {
  std::vector<int> active;
  for (int c = 0; c < model.num_cuts(); ++c) {
    if (model.metric().length[static_cast<std::size_t>(c)] > 0.0) active.push_back(c);
  }
  return active;
}

double Psi(FlowShape shape, double difference) {
  if (shape == FlowShape::kClip) return std::clamp(difference, -1.0, 1.0);
  return difference > 0.0 ? 1.0 : difference < 0.0 ? -1.0 : 0.0;
}

// One model, its pairs, and all formulas over all pairs in double.
class Definition {
 public:
  explicit Definition(const DenseCrf& model) : model_(model), active_(ActiveCuts(model)) {}

  std::size_t n() const { return model_.num_variables(); }
  std::size_t labels() const { return model_.unary().cols(); }
  double Length(int c) const { return model_.metric().length[static_cast<std::size_t>(c)]; }
  double CutSum(const Matrix<float>& y, std::size_t a, int c) const {
    double z = 0.0;
    for (int i : model_.labels().cuts->set(c)) z += y(a, static_cast<std::size_t>(i));
    return z;
  }
  double Degree(std::size_t a) const {
    double sum = 0.0;
    for (std::size_t b = 0; b < n(); ++b) sum += a == b ? 0.0 : model_.PairWeight(a, b);
    return sum;
  }
  // The most that flows can move any label, plus the unary: what roundings are relative to.
  double Size(std::size_t a) const {
    double length = 0.0;
    for (int c : active_) length += Length(c);
    double unary = 0.0;
    for (float phi : model_.unary().row(a))
      unary = std::max(unary, std::abs(static_cast<double>(phi)));
    return unary + length * Degree(a);
  }
  double TotalSize(double temperature = 1.0) const {
    double sum = std::abs(model_.constant());
    for (std::size_t a = 0; a < n(); ++a)
      sum += Size(a) + temperature * std::log(static_cast<double>(labels()));
    return sum;
  }

  // flow(a, b, c) of unordered pairs and active cuts to s'.
  template <class Flow>
  Matrix<double> Modular(const Flow& flow) const {
    Matrix<double> s(n(), labels());
    for (std::size_t a = 0; a < n(); ++a) {
      for (std::size_t i = 0; i < labels(); ++i) s(a, i) = model_.unary()(a, i);
      for (std::size_t b = 0; b < n(); ++b) {
        if (a == b) continue;
        for (std::size_t k = 0; k < active_.size(); ++k) {
          const double f = Length(active_[k]) * model_.PairWeight(a, b) * flow(a, b, k);
          for (int i : model_.labels().cuts->set(active_[k]))
            s(a, static_cast<std::size_t>(i)) += f;
        }
      }
    }
    return s;
  }

  double Dual(const Matrix<float>& y, double temperature) const {
    double value = -model_.constant();
    for (std::size_t a = 0; a < n(); ++a) {
      for (std::size_t i = 0; i < labels(); ++i) {
        const double p = y(a, i);
        if (p > 0.0) value -= p * (temperature * std::log(p) + model_.unary()(a, i));
      }
      for (std::size_t b = 0; b < a; ++b) {
        for (int c : active_) {
          value -=
              model_.PairWeight(a, b) * Length(c) * std::abs(CutSum(y, a, c) - CutSum(y, b, c));
        }
      }
    }
    return value;
  }

 private:
  const DenseCrf& model_;
  std::vector<int> active_;
};

// Runs body(model, extension, definition, random) on models of every metric.
template <class Body>
void ForModels(std::uint64_t seed, const Body& body) {
  RandomModels random(seed);
  for (int trial = 0; trial < 15; ++trial) {
    for (LabelSpace& labels : LabelSpaces(&random)) {
      const DenseCrf model = random.Dense(random.Integer(1, 14), std::move(labels));
      SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
      const BruteForceOperator pairs(Weights(model));
      const DenseExtension extension(model, pairs);
      body(model, extension, Definition(model), &random);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

void ExpectNear(const Matrix<float>& actual, const Matrix<double>& expected,
                const Definition& definition) {
  ASSERT_EQ(actual.rows(), expected.rows());
  ASSERT_EQ(actual.cols(), expected.cols());
  for (std::size_t a = 0; a < expected.rows(); ++a) {
    for (std::size_t i = 0; i < expected.cols(); ++i)
      ASSERT_NEAR(actual(a, i), expected(a, i), 16.0 * kEpsilon * definition.Size(a))
          << "variable " << a << ", label " << i;
  }
}

TEST(DenseExtensionTest, Shapes) {
  ForModels(1, [](const DenseCrf& model, const DenseExtension& extension,
                  const Definition& definition, RandomModels*) {
    EXPECT_EQ(extension.num_variables(), model.num_variables());
    EXPECT_EQ(extension.num_labels(), static_cast<std::size_t>(model.num_labels()));
    EXPECT_EQ(extension.num_active(), ActiveCuts(model).size());
    for (std::size_t a = 0; a < model.num_variables(); ++a)
      EXPECT_NEAR(extension.degrees()[a], definition.Degree(a),
                  4.0 * kEpsilon * definition.Degree(a) + 1e-37);
  });
}

TEST(DenseExtensionTest, LabelModularIsTheFlowOfThePotentials) {
  ForModels(2, [](const DenseCrf& model, const DenseExtension& extension,
                  const Definition& definition, RandomModels* random) {
    Matrix<float> v(model.num_variables(), extension.num_active());
    for (std::size_t k = 0; k < v.size(); ++k)
      v.data()[k] = random->Integer(0, 2) == 0 ? 0.5F : static_cast<float>(random->Real(-2.0, 2.0));
    for (FlowShape shape : {FlowShape::kClip, FlowShape::kSign}) {
      Matrix<float> s(model.num_variables(), extension.num_labels(), 99.0F);
      extension.LabelModular(v, shape, &s);
      ExpectNear(s, definition.Modular([&](std::size_t a, std::size_t b, std::size_t c) {
        return Psi(shape, static_cast<double>(v(a, c)) - v(b, c));
      }),
                 definition);
      // The verifier finds the same bound from the evidence.
      FlowProof proof(1);
      extension.StoreEvidence(v, shape, 1.0, &proof.front());
      ASSERT_EQ(proof[0].v.cols(), static_cast<std::size_t>(model.num_cuts()));
      for (const double T : kTemperatures) {
        EXPECT_NEAR(extension.Upper(s, T),
                    VerifiedUpper(model, proof, {.temperature = T, .cutoff = 0.0}),
                    16.0 * kEpsilon * definition.TotalSize(T));
      }
    }
  });
}

TEST(DenseExtensionTest, QuadraticModularIsTheFlowOfTheCutSums) {
  ForModels(3, [](const DenseCrf& model, const DenseExtension& extension,
                  const Definition& definition, RandomModels* random) {
    const Matrix<float> y = RandomMarginals(model, random);
    const std::vector<int> active = ActiveCuts(model);
    const Matrix<float> z = extension.CutSums(y);
    ASSERT_EQ(z.cols(), active.size());
    for (std::size_t a = 0; a < z.rows(); ++a) {
      for (std::size_t c = 0; c < active.size(); ++c)
        ASSERT_NEAR(z(a, c), definition.CutSum(y, a, active[c]), 4.0 * kEpsilon);
    }
    Matrix<float> s(model.num_variables(), extension.num_labels(), 99.0F);
    extension.QuadraticModular(y, &s);
    ExpectNear(s, definition.Modular([&](std::size_t a, std::size_t b, std::size_t c) {
      return definition.CutSum(y, a, active[c]) - definition.CutSum(y, b, active[c]);
    }),
               definition);
  });
}

TEST(DenseExtensionTest, StepPotentialsMovesByTheMeanOverTheSmallerSide) {
  ForModels(4, [](const DenseCrf& model, const DenseExtension& extension,
                  const Definition& definition, RandomModels* random) {
    const Matrix<float> y = RandomMarginals(model, random);
    const std::vector<int> active = ActiveCuts(model);
    std::vector<float> v(active.size(), 3.0F);
    extension.StepPotentials(y.row(0), 0.5F, v);
    double largest = 0.0;
    for (std::size_t c = 0; c < active.size(); ++c) {
      const std::size_t inside = model.labels().cuts->set(active[c]).size();
      const std::size_t smaller =
          std::max<std::size_t>(1, std::min(inside, extension.num_labels() - inside));
      EXPECT_NEAR(v[c],
                  3.0 + 0.5 * definition.CutSum(y, 0, active[c]) / static_cast<double>(smaller),
                  8.0 * kEpsilon);
      largest += definition.Length(active[c]);
    }
    EXPECT_GT(extension.reach(), 0.0);
    EXPECT_LE(extension.reach(), largest * (1.0 + 1e-12));
    EXPECT_GE(extension.quadratic_reach(), extension.reach() * (1.0 - 1e-12));
  });
}

// z^T (sum_c l_c 1_c 1_c^T) z <= reach |z|^2 for differences of distributions, cuts by either side.
TEST(DenseExtensionTest, QuadraticReachBoundsTheCutForm) {
  ForModels(5, [](const DenseCrf& model, const DenseExtension& extension,
                  const Definition& definition, RandomModels* random) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Matrix<float> y = RandomMarginals(model, random);
      const Matrix<float> other = RandomMarginals(model, random);
      double form = 0.0;
      double squared = 0.0;
      for (int c : ActiveCuts(model)) {
        const double z = definition.CutSum(y, 0, c) - definition.CutSum(other, 0, c);
        form += definition.Length(c) * z * z;
      }
      for (std::size_t i = 0; i < y.cols(); ++i)
        squared += std::pow(static_cast<double>(y(0, i)) - other(0, i), 2);
      ASSERT_LE(form, extension.quadratic_reach() * squared * (1.0 + 1e-5) + 1e-12);
    }
  });
}

TEST(DenseExtensionTest, MeanFieldCostsAreExpectedCosts) {
  ForModels(6, [](const DenseCrf& model, const DenseExtension& extension,
                  const Definition& definition, RandomModels* random) {
    const Matrix<float> y = RandomMarginals(model, random);
    Matrix<float> costs(y.rows(), y.cols(), 99.0F);
    extension.MeanFieldCosts(y, &costs);
    for (std::size_t a = 0; a < y.rows(); ++a) {
      for (std::size_t i = 0; i < y.cols(); ++i) {
        double sum = model.unary()(a, i) - extension.MeanFieldConstant(a);
        for (std::size_t b = 0; b < y.rows(); ++b) {
          for (std::size_t j = 0; a != b && j < y.cols(); ++j)
            sum += model.PairWeight(a, b) * model.metric().distance(i, j) * y(b, j);
        }
        ASSERT_NEAR(costs(a, i), sum, 16.0 * kEpsilon * definition.Size(a));
      }
    }
  });
}

TEST(DenseExtensionTest, UpperAndDual) {
  ForModels(7, [](const DenseCrf& model, const DenseExtension& extension,
                  const Definition& definition, RandomModels* random) {
    const Matrix<float> y = RandomMarginals(model, random);
    for (const double T : kTemperatures) {
      const double tolerance = 16.0 * kEpsilon * definition.TotalSize(T);
      EXPECT_NEAR(extension.Dual(y, T), definition.Dual(y, T), tolerance);
      double upper = -model.constant();
      for (std::size_t a = 0; a < y.rows(); ++a) {
        const auto phi = model.unary().row(a);
        const double least = *std::min_element(phi.begin(), phi.end());
        double sum = 0.0;
        for (const float cost : phi) sum += T > 0.0 ? std::exp((least - cost) / T) : 1.0;
        upper += T * std::log(sum) - least;
      }
      EXPECT_NEAR(extension.Upper(model.unary(), T), upper, tolerance);
      EXPECT_LE(extension.Dual(y, T), extension.Upper(model.unary(), T) + tolerance)
          << "weak duality";
    }
  });
}

TEST(DenseExtensionTest, EnergyIsThatOfTheModel) {
  ForModels(8, [](const DenseCrf& model, const DenseExtension& extension,
                  const Definition& definition, RandomModels* random) {
    std::vector<int> labeling(model.num_variables());
    for (int& label : labeling) label = random->Integer(0, model.num_labels() - 1);
    EXPECT_NEAR(extension.Energy(labeling), model.Energy(labeling),
                16.0 * kEpsilon * definition.TotalSize());
  });
}

// A metric that cuts express only from below: the energy is that of the cuts.
TEST(DenseExtensionTest, EnergyOfAContractedMetricIsBelow) {
  RandomModels random(9);
  Matrix<double> distance(4, 4, 1.0);
  for (std::size_t i = 0; i < 4; ++i) distance(i, i) = 0.0;
  distance(0, 3) = distance(3, 0) = 0.5;
  LabelSpace labels = PottsLabels(4);
  labels.metrics[0].distance = distance;
  labels.metrics[0].length.assign(4, 0.25);  // d' = 1/2 everywhere
  labels.metrics[0].distortion = 2.0;
  const DenseCrf model = random.Dense(8, labels);
  LabelSpace contracted = labels;
  contracted.metrics[0].distance = Matrix<double>(4, 4, 0.5);
  for (std::size_t i = 0; i < 4; ++i) contracted.metrics[0].distance(i, i) = 0.0;
  const DenseCrf below(model.unary(), model.kernels(), contracted, model.counting(),
                       model.constant());
  const BruteForceOperator all(Weights(model));
  const NeighbourList list(Weights(model), {.cutoff = 1e-30});  // has a faster form of energies
  const GaussianOperator* const operators[] = {&all, &list};
  for (const GaussianOperator* pairs : operators) {
    const DenseExtension extension(model, *pairs);
    std::vector<int> labeling(8);
    for (int trial = 0; trial < 20; ++trial) {
      for (int& label : labeling) label = random.Integer(0, 3);
      const double energy = extension.Energy(labeling);
      EXPECT_NEAR(energy, below.Energy(labeling), 1e-4 * (1.0 + std::abs(energy)));
      EXPECT_LE(energy, model.Energy(labeling) + 1e-4);
    }
  }
}

// x^T (K + diag(self weights)) x >= 0: what the step of PDHG and the damping of mean field rely on.
TEST(DenseExtensionTest, SelfWeightsMakePairsPositiveSemidefinite) {
  ForModels(10, [](const DenseCrf& model, const DenseExtension& extension, const Definition&,
                   RandomModels* random) {
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<double> x(extension.num_variables());
      for (double& value : x) value = random->Real(-1.0, 1.0);
      double form = 0.0;
      double size = 0.0;
      for (std::size_t a = 0; a < x.size(); ++a) {
        form += extension.self_weights()[a] * x[a] * x[a];
        for (std::size_t b = 0; b < x.size(); ++b) {
          if (a != b) form += model.PairWeight(a, b) * x[a] * x[b];
        }
        size += extension.self_weights()[a] * x[a] * x[a];
      }
      ASSERT_GE(form, -1e-5 * size);
    }
  });
}

TEST(DenseExtensionTest, ArgmaxAndIndicator) {
  const std::vector<int> labels{2, 0, 1};
  const Matrix<float> y = Indicator(labels, 3);
  EXPECT_EQ(y(0, 2), 1.0F);
  EXPECT_EQ(y(0, 0), 0.0F);
  EXPECT_EQ(ArgmaxLabels(y), labels);
  EXPECT_EQ(ArgmaxLabels(Matrix<float>(2, 4, 0.25F)), (std::vector<int>{0, 0})) << "ties";
}

TEST(DenseExtensionTest, RefusesPairsOfAnotherSize) {
  const DenseCrf model(Matrix<float>(3, 2), {}, PottsLabels(2));
  const GaussianKernel kernel{"four", Matrix<double>(4, 1)};
  const BruteForceOperator pairs(std::vector<WeightedKernel>{{&kernel, 1.0}});
  ExpectInvalid([&] { DenseExtension(model, pairs); },
                "the operator has 4 variables, but the model has 3");
}

}  // namespace
}  // namespace submarine::internal
