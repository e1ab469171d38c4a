// Mean field that streams rows through lattices, against the same updates by whole matrices: those
// that measure the free energy do not stream.
#include "submarine/solver/mean_field/dense_mean_field.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/base/parallel_test_util.h"
#include "submarine/filter/lattice_stream.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::RandomModels;

struct Instance {
  Instance(std::size_t n, LabelSpace labels, int kernels, bool self_terms, std::uint64_t seed)
      : model(RandomModel(n, std::move(labels), kernels, seed)) {
    OperatorOptions options;
    options.kind = OperatorKind::kLattice;
    options.lattice.self_terms = self_terms;
    const std::vector<WeightedKernel> weights = PairWeights(model);
    pairs = MakeOperator(n, weights, {model.unary().cols(), false}, options);
    extension = std::make_unique<DenseExtension>(model, *pairs.op);
  }

  // Couplings so weak that updates do not blow up differences of rounding.
  static DenseCrf RandomModel(std::size_t n, LabelSpace labels, int count, std::uint64_t seed) {
    RandomModels random(seed);
    Matrix<float> unary(n, static_cast<std::size_t>(labels.num_labels()));
    for (std::size_t k = 0; k < unary.size(); ++k)
      unary.data()[k] = static_cast<float>(random.Real(-3.0, 3.0));
    const double scale = static_cast<double>(unary.cols()) / static_cast<double>(n) / count;
    std::vector<GaussianKernel> kernels;
    for (int m = 0; m < count; ++m) {
      Matrix<double> features(n, static_cast<std::size_t>(random.Integer(1, 3)));
      for (std::size_t k = 0; k < features.size(); ++k)
        features.data()[k] = static_cast<float>(random.Real(0.0, 3.0));
      kernels.push_back({"random", std::move(features), random.Real(0.4, 0.8) * scale});
    }
    return DenseCrf(std::move(unary), std::move(kernels), std::move(labels));
  }

  DenseCrf model;
  ChosenOperator pairs;
  std::unique_ptr<DenseExtension> extension;
};

DenseMeanFieldOptions Classic(int iterations, bool measured) {
  DenseMeanFieldOptions options;
  options.max_iterations = iterations;
  options.damped = false;
  options.measured = measured;
  options.tolerance = -std::numeric_limits<double>::infinity();  // never converged
  return options;
}

void ExpectClose(const Matrix<float>& x, const Matrix<float>& y) {
  ASSERT_EQ(x.rows(), y.rows());
  ASSERT_EQ(x.cols(), y.cols());
  for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x.data()[k], y.data()[k], 5e-6) << k;
}

double LargestDifference(const Matrix<float>& x, const Matrix<float>& y) {
  double largest = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k)
    largest = std::max(largest, static_cast<double>(std::abs(x.data()[k] - y.data()[k])));
  return largest;
}

TEST(DenseMeanFieldStreamTest, GivesTheMarginalsOfWholeMatrices) {
  for (int labels = 2; labels <= 40; ++labels) {
    const int kernels = 1 + labels % 4;
    for (const bool self_terms : {false, true}) {
      SCOPED_TRACE(::testing::Message() << labels << " labels, " << kernels << " kernels, "
                                        << (self_terms ? "with" : "without") << " self terms");
      const Instance instance(1100, PottsLabels(labels), kernels, self_terms,
                              static_cast<std::uint64_t>(labels));
      ASSERT_NE(LatticeStream::Make(*instance.pairs.op, 2), nullptr);
      const Matrix<float> start = SolveMeanField(*instance.extension, Classic(0, false)).marginals;
      for (const int iterations : {0, 1, 5}) {
        const DenseMeanFieldResult whole =
            SolveMeanField(*instance.extension, Classic(iterations, true));
        testing::SetThreadCount(1);
        const DenseMeanFieldResult one =
            SolveMeanField(*instance.extension, Classic(iterations, false));
        testing::SetThreadCount(2);
        const DenseMeanFieldResult two =
            SolveMeanField(*instance.extension, Classic(iterations, false));
        testing::SetThreadCount(0);
        EXPECT_EQ(whole.iterations, iterations);
        EXPECT_EQ(one.iterations, iterations);
        EXPECT_TRUE(one.marginals == two.marginals);
        ASSERT_NO_FATAL_FAILURE(ExpectClose(one.marginals, whole.marginals));
        // The pairs matter, so that leaving them out would have been seen.
        if (iterations > 0) {
          EXPECT_GT(LargestDifference(one.marginals, start), 1e-3);
        }
      }
    }
  }
}

TEST(DenseMeanFieldStreamTest, BeginsWhereItIsTold) {
  for (const bool self_terms : {false, true}) {
    const Instance instance(900, PottsLabels(5), 2, self_terms, 3);
    DenseMeanFieldOptions options = Classic(3, false);
    options.start = Matrix<float>(900, 5, 0.2F);
    for (std::size_t a = 0; a < 900; ++a) {
      options.start(a, a % 5) = 0.4F;
      options.start(a, (a + 1) % 5) = 0.0F;
    }
    const Matrix<float> streamed = SolveMeanField(*instance.extension, options).marginals;
    options.measured = true;
    ASSERT_NO_FATAL_FAILURE(
        ExpectClose(streamed, SolveMeanField(*instance.extension, options).marginals));
    options.measured = false;
    options.max_iterations = 0;
    EXPECT_TRUE(SolveMeanField(*instance.extension, options).marginals == options.start);
  }
}

TEST(DenseMeanFieldStreamTest, StopsWithTheMarginalsOfThatMoment) {
  for (const bool self_terms : {false, true}) {
    const Instance instance(900, PottsLabels(21), 2, self_terms, 4);
    DenseMeanFieldOptions options = Classic(10, false);
    options.on_iteration = [](int k, double, double) { return k < 3; };
    const DenseMeanFieldResult stopped = SolveMeanField(*instance.extension, options);
    EXPECT_EQ(stopped.iterations, 3);
    EXPECT_TRUE(stopped.marginals ==
                SolveMeanField(*instance.extension, Classic(3, false)).marginals);
    options.on_iteration = {};
    options.time_limit_seconds = 0.0;
    const DenseMeanFieldResult late = SolveMeanField(*instance.extension, options);
    EXPECT_EQ(late.iterations, 0);
    EXPECT_TRUE(late.marginals == SolveMeanField(*instance.extension, Classic(0, false)).marginals);
  }
}

// Other metrics and kernels with many vertices go the other way, with the same outcome.
TEST(DenseMeanFieldStreamTest, IsNotNeeded) {
  const Instance linear(600, LinearLabels(4), 2, false, 5);
  ExpectClose(SolveMeanField(*linear.extension, Classic(4, false)).marginals,
              SolveMeanField(*linear.extension, Classic(4, true)).marginals);
}

}  // namespace
}  // namespace submarine::internal
