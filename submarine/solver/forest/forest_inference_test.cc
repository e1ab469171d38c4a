#include "submarine/solver/forest/forest_inference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "submarine/model/random_models_test_util.h"
#include "submarine/solver/exact/exact.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

struct Problem {
  SparseCrf model;
  std::vector<std::size_t> forest;
};

Problem RandomForest(RandomModels* random) {
  const int variables = random->Integer(1, 8);
  LabelSpace labels = random->Labels(random->Integer(2, 5));
  Matrix<double> unary = random->Points(static_cast<std::size_t>(variables),
                                        static_cast<std::size_t>(labels.num_labels()), -4.0, 4.0);
  std::vector<Edge> edges;
  std::vector<std::size_t> forest;
  for (int b = 1; b < variables; ++b) {
    if (random->Integer(0, 4) == 0) continue;
    forest.push_back(edges.size());
    edges.push_back({b, random->Integer(0, b - 1), random->Real(0.0, 4.0)});
  }
  return {SparseCrf(std::move(unary), std::move(edges), std::move(labels)), std::move(forest)};
}

Matrix<double> Negative(Matrix<double> m) {
  for (std::size_t n = 0; n < m.size(); ++n) m.data()[n] = -m.data()[n];
  return m;
}

TEST(ForestInference, AgreesWithElimination) {
  RandomModels random(21);
  for (int trial = 0; trial < 200; ++trial) {
    const Problem problem = RandomForest(&random);
    const PairwiseModel pairwise = ToPairwise(problem.model);
    const EdgeKernels kernels =
        KernelsOf(pairwise, std::vector<double>(problem.model.num_edges(), 1.0));
    const ForestInference inference(pairwise.labels, pairwise.links, problem.forest);
    const ExactResult exact = SolveExact(ToFactorGraph(problem.model));
    ForestWorkspace workspace;
    Matrix<double> y;
    const Matrix<double> theta = Negative(problem.model.unary());
    const double log_partition = inference.Run(kernels, theta, &workspace, &y);
    EXPECT_NEAR(log_partition, exact.log_partition, 1e-11 * (1.0 + std::abs(log_partition)));
    EXPECT_EQ(inference.Run(kernels, theta, &workspace), log_partition);
    for (std::size_t a = 0; a < y.rows(); ++a) {
      for (std::size_t i = 0; i < y.cols(); ++i) EXPECT_NEAR(y(a, i), exact.marginals[a][i], 1e-11);
    }
  }
}

// On a forest H = sum_a H_a - sum_e I_e, and log Z = H - <E>.
TEST(ForestInference, MutualInformationCompletesTheEntropy) {
  RandomModels random(22);
  for (int trial = 0; trial < 100; ++trial) {
    const Problem problem = RandomForest(&random);
    const PairwiseModel pairwise = ToPairwise(problem.model);
    const auto kernels_at = [&](double scale) {
      return KernelsOf(pairwise, std::vector<double>(problem.model.num_edges(), scale));
    };
    const ForestInference inference(pairwise.labels, pairwise.links, problem.forest);
    ForestWorkspace workspace;
    Matrix<double> y;
    const Matrix<double> theta = Negative(problem.model.unary());
    // <pair energy> is minus the derivative of log Z by its scale.
    const double step = 1e-5;
    const double pair_energy = (inference.Run(kernels_at(1.0 - step), theta, &workspace) -
                                inference.Run(kernels_at(1.0 + step), theta, &workspace)) /
                               (2.0 * step);
    const EdgeKernels kernels = kernels_at(1.0);
    const double log_partition = inference.Run(kernels, theta, &workspace, &y);
    double entropy = log_partition + pair_energy;
    for (std::size_t n = 0; n < y.size(); ++n) entropy -= y.data()[n] * theta.data()[n];
    double expected = 0.0;
    for (std::size_t n = 0; n < y.size(); ++n) expected -= y.data()[n] * std::log(y.data()[n]);
    std::size_t visited = 0;
    inference.VisitMutualInformation(kernels, workspace, [&](std::size_t, double information) {
      EXPECT_GE(information, 0.0);
      expected -= information;
      ++visited;
    });
    EXPECT_EQ(visited, problem.forest.size());
    EXPECT_NEAR(entropy, expected, 1e-7);
  }
}

}  // namespace
}  // namespace submarine::internal
