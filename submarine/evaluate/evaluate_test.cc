#include "submarine/evaluate/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/model/image_features.h"

namespace submarine {
namespace {

TEST(EvaluateTest, SparseValuesAreThoseOfTheDefinition) {
  Matrix<double> unary(3, 2);
  unary(0, 1) = 0.5;
  unary(2, 0) = 1.5;
  const SparseCrf model(unary, {{0, 1, 2.0}, {1, 2, 0.25}}, PottsLabels(2), 0.125);
  const std::vector<int> labels = {1, 0, 0};
  EXPECT_NEAR(EnergyBound(model, labels), 0.125 + 0.5 + 1.5 + 2.0, 1e-12);
  EXPECT_GE(EnergyBound(model, labels).value(), model.Energy(labels));
  EXPECT_NEAR(EnergyBound(ToFactorGraph(model), labels), model.Energy(labels), 1e-12);
  // Uniform marginals: every label costs half of what it costs, every edge half of its weight.
  const Bound lower = LowerBoundAt(model, Matrix<double>(3, 2, 0.5), 1.0);
  EXPECT_NEAR(lower, 3.0 * std::log(2.0) - 0.125 - 0.25 - 0.75 - 1.0 - 0.125, 1e-12);
  EXPECT_THROW(EnergyBound(model, {0, 1, 2}), InvalidInput);
}

TEST(EvaluateTest, DenseValuesAreAboutNormalisedGaussians) {
  Matrix<float> unary(4, 2);
  unary(1, 1) = 1.0F;
  GaussianKernel kernel = PositionKernel(2, 2, 1.5, 1.5, 0.8);
  kernel.normalisation = KernelNormalisation::kSymmetric;
  const DenseCrf model(unary, {kernel}, PottsLabels(2), PairCounting::kOnce);
  const double side = std::exp(-0.5 / 2.25);
  const double sum = 1.0 + 2.0 * side + side * side;  // of every row, as all pixels are alike
  const std::vector<int> labels = {0, 1, 0, 0};
  const double pairs = 0.8 * (2.0 * side + side * side) / sum;
  EXPECT_NEAR(EnergyBound(model, labels, 0.0), 1.0 + pairs, 1e-9);
  const DenseLowerBound bound = LowerBoundAt(model, Matrix<float>(4, 2, 0.5F), 1.0, 0.0);
  const double all = 0.8 * (4.0 * side + 2.0 * side * side) / sum;
  EXPECT_NEAR(bound.lower, 4.0 * std::log(2.0) - 0.5 - 0.5 * all, 1e-6);
  EXPECT_LE(bound.lower.value(), 4.0 * std::log(2.0) - 0.5 - 0.5 * all);
  EXPECT_EQ(bound.loss, 0.0);
}

}  // namespace
}  // namespace submarine
