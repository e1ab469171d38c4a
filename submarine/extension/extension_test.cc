// What every implementation of the Extension interface promises, whatever its precision and
// evidence.
#include "submarine/extension/extension.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "submarine/extension/dense_extension.h"
#include "submarine/extension/sparse_extension.h"
#include "submarine/filter/kernel/brute_force.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

template <class Real>
Matrix<Real> RandomMarginals(std::size_t variables, std::size_t labels, RandomModels* random) {
  Matrix<Real> y(variables, labels);
  for (std::size_t a = 0; a < variables; ++a) {
    double sum = 0.0;
    for (Real& p : y.row(a)) sum += p = static_cast<Real>(random->Real(0.01, 1.0));
    for (Real& p : y.row(a)) p /= static_cast<Real>(sum);
  }
  return y;
}

template <class Real>
double Product(const Matrix<Real>& s, const Matrix<Real>& y) {
  double sum = 0.0;
  for (std::size_t k = 0; k < s.size(); ++k) sum += static_cast<double>(s.data()[k]) * y.data()[k];
  return sum;
}

template <class Real>
double Size(const Matrix<Real>& s) {
  double sum = 1.0;
  for (std::size_t k = 0; k < s.size(); ++k) sum += std::abs(static_cast<double>(s.data()[k]));
  return sum;
}

// `energy` is that of the model by its definition.
template <class Real, class Evidence, class Energy>
void ExpectKeepsItsPromises(const Extension<Real, Evidence>& extension, const Energy& energy,
                            RandomModels* random) {
  const double epsilon = 200.0 * std::numeric_limits<Real>::epsilon();
  const std::size_t n = extension.num_variables();
  const std::size_t labels = extension.num_labels();
  Matrix<Real> point(n, labels);
  Matrix<Real> vertex(n, labels);
  Evidence evidence = extension.Start();
  extension.LabelModular(evidence, &point);
  for (int step = 0; step < 4; ++step) {
    const Matrix<Real> y = RandomMarginals<Real>(n, labels, random);
    extension.VertexAt(y, &vertex);
    const double tolerance = epsilon * (Size(vertex) + Size(point));
    EXPECT_NEAR(Product(vertex, y), extension.LovaszAt(y), tolerance)
        << "f(y) = max <s, y> over EP(F)";
    EXPECT_LE(Product(point, y), extension.LovaszAt(y) + tolerance) << "another point of EP(F)";

    const double rate = random->Real(0.1, 0.9);
    Matrix<Real> expected = point;
    for (std::size_t k = 0; k < expected.size(); ++k)
      expected.data()[k] += static_cast<Real>(rate) * (vertex.data()[k] - expected.data()[k]);
    extension.MoveTowardsVertex(y, rate, &evidence);
    extension.LabelModular(evidence, &point);
    for (std::size_t k = 0; k < expected.size(); ++k)
      ASSERT_NEAR(point.data()[k], expected.data()[k], tolerance);
  }
  std::vector<int> labeling(n);
  for (int& label : labeling) label = random->Integer(0, static_cast<int>(labels) - 1);
  EXPECT_NEAR(extension.Energy(labeling), energy(labeling),
              epsilon * (Size(vertex) + std::abs(energy(labeling))));
}

TEST(ExtensionTest, SparseKeepsItsPromises) {
  RandomModels random(21);
  for (int trial = 0; trial < 100 && !HasFailure(); ++trial) {
    const SparseCrf model = random.Model(random.Integer(1, 8), random.Integer(2, 6));
    for (const ExtensionKind kind : {ExtensionKind::kOptimal, ExtensionKind::kAlternate}) {
      SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
      ExpectKeepsItsPromises(
          SparseExtension(model, kind), [&](const std::vector<int>& x) { return model.Energy(x); },
          &random);
    }
  }
}

TEST(ExtensionTest, DenseKeepsItsPromises) {
  RandomModels random(22);
  for (int trial = 0; trial < 100 && !HasFailure(); ++trial) {
    const DenseCrf model = random.Dense(random.Integer(1, 8), random.Labels(random.Integer(2, 6)));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const std::vector<WeightedKernel> kernels = PairWeights(model);
    const BruteForceOperator pairs(kernels);
    ExpectKeepsItsPromises(
        DenseExtension(model, pairs), [&](const std::vector<int>& x) { return model.Energy(x); },
        &random);
  }
}

}  // namespace
}  // namespace submarine::internal
