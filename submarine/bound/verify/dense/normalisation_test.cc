#include "submarine/bound/verify/dense/normalisation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "submarine/base/error_test_util.h"
#include "submarine/bound/verify/dense/normalisation_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using ::testing::HasSubstr;
using testing::ModelOf;
using ::testing::Not;
using testing::RandomModels;
using testing::RowSum;
using testing::Square;

double LargestError(const GaussianKernel& kernel, std::size_t stride) {
  double largest = 0.0;
  for (std::size_t a = 0; a < kernel.size(); a += stride) {
    const long double product = kernel.scale[a] * std::sqrt(RowSum(kernel, a));
    largest = std::max(largest, static_cast<double>(std::abs(product - 1.0L)));
  }
  return largest;
}

TEST(NormalisationTest, OfSmallModelsAddsUpEveryPair) {
  RandomModels random(1);
  for (const OperatorKind kind : {OperatorKind::kAuto, OperatorKind::kLattice}) {
    const DenseCrf model =
        WithNormalisation(ModelOf(Square(300, 10.0, &random)), {.pairs = {.kind = kind}});
    const GaussianKernel& kernel = model.kernels().front();
    EXPECT_LE(LargestError(kernel, 1), kernel.scale_error);
    EXPECT_LE(kernel.scale_error, 1e-12);
    EXPECT_EQ(kernel.scale_source, "");
    EXPECT_EQ(kernel.normalisation, KernelNormalisation::kSymmetric);
    EXPECT_FALSE(NeedsNormalisation(model));
  }
}

TEST(NormalisationTest, OfLargeModelsStatesItsError) {
  RandomModels random(2);
  for (const double tolerance : {1e-2, 1e-4}) {
    const DenseCrf model =
        WithNormalisation(ModelOf(Square(6000, 60.0, &random)), {.tolerance = tolerance});
    const GaussianKernel& kernel = model.kernels().front();
    EXPECT_LE(LargestError(kernel, 20), kernel.scale_error);
    EXPECT_LE(kernel.scale_error, tolerance);
    EXPECT_GT(kernel.scale_error, 1e-3 * tolerance) << "every pair was added up";
  }
}

TEST(NormalisationTest, ByTheOperatorIsNamed) {
  RandomModels random(3);
  const DenseCrf waiting = ModelOf(Square(5000, 30.0, &random));
  EXPECT_TRUE(NeedsNormalisation(waiting));
  EXPECT_THAT(waiting.Description(), HasSubstr("to be normalised"));
  const auto check = [&](const NormalisationOptions& options, const std::string& source) {
    const DenseCrf model = WithNormalisation(waiting, options);
    const GaussianKernel& kernel = model.kernels().front();
    EXPECT_THAT(kernel.scale_source, HasSubstr(source));
    EXPECT_EQ(kernel.scale_error, 0.0) << "the model is defined by these factors";
    EXPECT_THAT(model.Description(), HasSubstr("normalised by the row sums of " + source));
    EXPECT_GT(LargestError(kernel, 100), 1e-7);
  };
  const OperatorOptions lattice{.kind = OperatorKind::kLattice};
  const OperatorOptions list{.kind = OperatorKind::kNeighbourList, .cutoff = 0.1};
  check({.source = RowSumSource::kOperator, .pairs = lattice}, "lattice of ");
  check({.source = RowSumSource::kOperator, .pairs = list}, "neighbour list, cutoff 0.1");
  check({.max_seconds = 0.0, .pairs = lattice}, "lattice of ");
  int calls = 0;
  check({.source = RowSumSource::kExact,
         .pairs = lattice,
         .on_progress = [&](double) { return ++calls < 2; }},
        "lattice of ");
  EXPECT_EQ(calls, 2);
  // All pairs one by one are the exact sums, whoever adds them up.
  const DenseCrf model = WithNormalisation(
      waiting, {.source = RowSumSource::kOperator, .pairs = {.kind = OperatorKind::kBruteForce}});
  EXPECT_THAT(model.Description(), Not(HasSubstr("row sums")));
}

TEST(NormalisationTest, ReportsProgress) {
  RandomModels random(4);
  GaussianKernel first = Square(200, 5.0, &random);
  const DenseCrf model(Matrix<float>(200, 2), {first, Square(200, 9.0, &random)}, PottsLabels(2));
  double last = 0.0;
  const auto report = [&](double done) {
    EXPECT_GE(done, last);
    last = done;
    return true;
  };
  WithNormalisation(model, {.on_progress = report});
  EXPECT_DOUBLE_EQ(last, 1.0);
}

TEST(NormalisationTest, LeavesOtherKernelsAlone) {
  RandomModels random(5);
  GaussianKernel plain = Square(20, 5.0, &random);
  plain.normalisation = KernelNormalisation::kNone;
  GaussianKernel done = Square(20, 5.0, &random);
  done.scale.assign(20, 0.25);
  GaussianKernel unused = Square(20, 5.0, &random);
  unused.weight = 0.0;
  unused.normalisation = KernelNormalisation::kBefore;
  const DenseCrf model =
      WithNormalisation(DenseCrf(Matrix<float>(20, 2), {plain, done, unused}, PottsLabels(2)), {});
  EXPECT_TRUE(model.kernels()[0].scale.empty());
  EXPECT_EQ(model.kernels()[1].scale, done.scale);
  EXPECT_TRUE(model.kernels()[2].scale.empty());
  for (const KernelNormalisation one_sided :
       {KernelNormalisation::kBefore, KernelNormalisation::kAfter}) {
    plain.normalisation = one_sided;
    ExpectInvalid([&] { WithNormalisation(ModelOf(plain), {}); }, "leaves no symmetric model");
  }
}

}  // namespace
}  // namespace submarine::internal
