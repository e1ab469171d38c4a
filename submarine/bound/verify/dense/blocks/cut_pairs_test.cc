#include "submarine/bound/verify/dense/blocks/cut_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/error_test_util.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using testing::RandomModels;

struct Given {
  Matrix<float> potentials;
  std::vector<unsigned char> own;
  std::vector<double> cutoffs;
};

Given RandomGiven(const DenseCrf& model, RandomModels* random) {
  Given given{Matrix<float>(model.num_variables(), static_cast<std::size_t>(model.num_labels())),
              std::vector<unsigned char>(model.num_variables()),
              std::vector<double>(model.kernels().size())};
  for (std::size_t k = 0; k < given.potentials.size(); ++k)
    given.potentials.data()[k] = static_cast<float>(random->Real(-0.5, 0.5));
  const Matrix<double>& features = model.kernels().front().features;
  const bool together = random->Integer(0, 1) == 0;
  for (std::size_t a = 0; a < given.own.size(); ++a)
    given.own[a] = (together ? features(a, 0) > 0.0 : random->Integer(0, 1) == 0) ? 1 : 0;
  for (double& cutoff : given.cutoffs) cutoff = std::pow(10.0, random->Real(-5.0, 0.0));
  return given;
}

long double CutWeight(const DenseCrf& model, const Given& given, std::size_t a, std::size_t b) {
  long double sum = 0.0L;
  for (std::size_t m = 0; m < given.cutoffs.size(); ++m) {
    const GaussianKernel& kernel = model.kernels()[m];
    long double squared = 0.0L;
    for (std::size_t d = 0; d < kernel.dimension(); ++d) {
      const long double apart =
          static_cast<long double>(kernel.features(a, d)) - kernel.features(b, d);
      squared += apart * apart;
    }
    const long double scales =
        kernel.scale.empty() ? 1.0L : static_cast<long double>(kernel.scale[a]) * kernel.scale[b];
    sum += static_cast<long double>(model.pair_factor()) * kernel.weight * scales *
           std::max(0.0L, std::exp(-0.5L * squared) - given.cutoffs[m]);
  }
  return sum;
}

TEST(CutPairsTest, SumsAreThoseOfTheDefinitionUpToTheirErrors) {
  RandomModels random(36);
  for (int trial = 0; trial < 60; ++trial) {
    const DenseCrf model =
        random.Dense(random.Integer(2, 150), random.Labels(random.Integer(2, 6)));
    SCOPED_TRACE(::testing::Message() << "trial " << trial << ": " << model.Description());
    const Given given = RandomGiven(model, &random);
    const CutPairSums found = SumCutPairs(model, given.potentials, given.own, given.cutoffs);
    for (std::size_t a = 0; a < model.num_variables(); ++a) {
      long double weight = 0.0L;
      std::vector<long double> sums(given.potentials.cols(), 0.0L);
      for (std::size_t b = 0; b < model.num_variables() && given.own[a] != 0; ++b) {
        if (given.own[b] != 0) continue;
        const long double w = CutWeight(model, given, a, b);
        EXPECT_LE(w, model.PairWeight(a, b) * (1.0 + 1e-12));
        weight += w;
        for (std::size_t i = 0; i < sums.size(); ++i) {
          sums[i] +=
              w * (static_cast<long double>(given.potentials(a, i)) - given.potentials(b, i));
        }
      }
      EXPECT_LE(std::abs(found.weights[a] - weight), 1e-12L * (1.0L + weight));
      EXPECT_LE(found.errors[a], 1e-11 * (1.0L + weight));
      for (std::size_t i = 0; i < sums.size(); ++i)
        EXPECT_LE(std::abs(found.sums(a, i) - sums[i]), found.errors[a]);
    }
  }
}

TEST(CutPairsTest, RefusesWhatIsNoPotentialMarkOrCutoff) {
  RandomModels random(37);
  const DenseCrf model = random.Dense(20, random.Labels(3));
  const Given right = RandomGiven(model, &random);
  const auto refused = [&](const Given& given, const char* what) {
    ExpectInvalid([&] { SumCutPairs(model, given.potentials, given.own, given.cutoffs); }, what);
  };
  Given wrong = right;
  wrong.potentials(3, 1) = std::numeric_limits<float>::quiet_NaN();
  refused(wrong, "finite");
  wrong = right;
  wrong.potentials = Matrix<float>(20, 2, 0.0F);
  refused(wrong, "expected 20 x 3");
  wrong = right;
  wrong.own.pop_back();
  refused(wrong, "expected 20");
  wrong = right;
  wrong.cutoffs.push_back(0.5);
  refused(wrong, "kernels");
  wrong = right;
  wrong.cutoffs.front() = 0.0;
  refused(wrong, "cutoff");
}

}  // namespace
}  // namespace submarine::internal
