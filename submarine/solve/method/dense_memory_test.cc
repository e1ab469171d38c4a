#include "submarine/solve/method/dense_memory.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/filter/lattice/lattice.h"
#include "submarine/filter/lattice_memory.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/solve/candidate/dense_plan.h"
#include "submarine/solve/registry.h"

namespace submarine::internal {
namespace {

// A position kernel and one of positions and grey levels of a noisy picture.
std::vector<GaussianKernel> PictureKernels(int width, int height, double sigma) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0.0, 0.3);
  const std::size_t n = static_cast<std::size_t>(width) * height;
  std::vector<GaussianKernel> kernels = {{"position", Matrix<double>(n, 2)},
                                         {"bilateral", Matrix<double>(n, 3)}};
  for (std::size_t a = 0; a < n; ++a) {
    const auto x = static_cast<double>(a % static_cast<std::size_t>(width));
    const auto y = static_cast<double>(a / static_cast<std::size_t>(width));
    kernels[0].features(a, 0) = x / 3.0;
    kernels[0].features(a, 1) = y / 3.0;
    kernels[1].features(a, 0) = x / sigma;
    kernels[1].features(a, 1) = y / sigma;
    kernels[1].features(a, 2) = (x < y ? 0.0 : 4.0) + normal(random);
  }
  return kernels;
}

std::vector<WeightedKernel> Weighted(const std::vector<GaussianKernel>& kernels) {
  std::vector<WeightedKernel> weighted;
  for (const GaussianKernel& kernel : kernels) weighted.push_back({&kernel, 1.0});
  return weighted;
}

DenseSize SizeFor(const std::vector<GaussianKernel>& kernels, double labels) {
  return {static_cast<double>(kernels.front().size()), labels, labels, 0.0};
}

SolveOptions OptionsFor(Method method) {
  SolveOptions options;
  options.method = method;
  options.limits.max_bytes = std::size_t{8} << 30;
  return options;
}

// Wide kernels get lattices though their lists would fit: what is estimated must be what is made.
TEST(PlanDense, KnowsWhatEachKernelGets) {
  for (const double sigma : {2.0, 60.0}) {
    const std::vector<GaussianKernel> kernels = PictureKernels(90, 60, sigma);
    const std::vector<WeightedKernel> weighted = Weighted(kernels);
    for (const Method method : {Method::kMeanField, Method::kRouted, Method::kFrankWolfe}) {
      SCOPED_TRACE(::testing::Message() << sigma << " " << ToString(method));
      const SolveOptions options = OptionsFor(method);
      const DensePlan plan = PlanDense(SizeFor(kernels, 6.0), weighted, options,
                                       {.method = EntryOf(method).dense.traits});
      const bool flows = method == Method::kFrankWolfe;
      EXPECT_EQ(plan.kinds,
                MakeOperator(kernels[0].size(), weighted, {6, flows}, options.dense.pairs).kinds);
      if (sigma == 60.0 && !flows) {
        EXPECT_EQ(plan.kinds[1], OperatorKind::kLattice);
      }
    }
  }
}

TEST(EstimateDenseMemory, HoldsTheOperatorWhileItSolves) {
  const std::vector<GaussianKernel> kernels = PictureKernels(320, 200, 30.0);
  const std::vector<WeightedKernel> weighted = Weighted(kernels);
  const DenseSize size = SizeFor(kernels, 8.0);
  const double matrix = 4.0 * size.labels * size.variables;
  PairMemory pairs;
  std::size_t held = 0;
  for (const GaussianKernel& kernel : kernels) {
    pairs.lattices.push_back(CountLattice(kernel, {}));
    const LatticeOperator op(kernel);
    Matrix<float> x(kernel.size(), 8, 0.5F);
    Matrix<float> out(kernel.size(), 8);
    op.AddProduct(x, 1.0F, &out);
    held += op.bytes();
  }
  const DenseDemand demand{
      .size = size, .method = EntryOf(Method::kMeanField).dense.traits.memory, .by_pairs = false};
  const DenseMemory memory = EstimateDenseMemory(demand, weighted, pairs);
  // Three matrices and a few numbers per variable beside the lattices.
  const double expected = static_cast<double>(held) + 3.0 * matrix + 24.0 * size.variables;
  EXPECT_NEAR(memory.solving, expected, 0.05 * expected);
  DenseDemand verified = demand;
  verified.by_operator = true;
  EXPECT_GT(EstimateDenseMemory(verified, weighted, pairs).certifying,
            memory.certifying + 2.0 * matrix + ReferenceHeldBytes(pairs.lattices[0]) +
                ReferenceHeldBytes(pairs.lattices[1]));
  DenseDemand copied = demand;
  copied.normalises = true;
  EXPECT_GE(EstimateDenseMemory(copied, weighted, pairs).model, memory.model + matrix);
}

TEST(PlanDense, RefusesWhatDoesNotFitAndSaysWhatWould) {
  const std::vector<GaussianKernel> kernels = PictureKernels(160, 120, 30.0);
  const std::vector<WeightedKernel> weighted = Weighted(kernels);
  SolveOptions options = OptionsFor(Method::kMeanField);
  options.dense.pairs.kind = OperatorKind::kLattice;
  const double needed = PlanDense(SizeFor(kernels, 8.0), weighted, options, {}).estimated_bytes;
  options.limits.max_bytes = static_cast<std::size_t>(1.01 * needed);
  EXPECT_NO_THROW(PlanDense(SizeFor(kernels, 8.0), weighted, options, {}));
  const auto remedy = [&](double share) -> Remedy {
    options.limits.max_bytes = static_cast<std::size_t>(share * needed);
    try {
      PlanDense(SizeFor(kernels, 8.0), weighted, options, {});
    } catch (const TooLarge& error) {
      EXPECT_NE(std::string(error.what()).find("variables instead of 19200"), std::string::npos);
      EXPECT_EQ(error.refusal().find("variables"), std::string::npos);
      return error.remedy();
    }
    return {};
  };
  for (const double share : {0.5, 0.15}) {
    const Remedy found = remedy(share);
    EXPECT_EQ(found.given_variables, 160 * 120);
    EXPECT_NEAR(found.variables, share * 160 * 120, 1.0);
    EXPECT_NEAR(found.bytes, 1.05 * needed, 0.01 * needed);
    EXPECT_TRUE(found.fewer_labels);
  }
}

}  // namespace
}  // namespace submarine::internal
