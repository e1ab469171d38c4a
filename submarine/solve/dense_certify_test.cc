#include "submarine/solve/dense_certify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "submarine/base/stopwatch.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

class VerifiedBeforeTest : public ::testing::Test {
 protected:
  VerifiedBeforeTest() {
    testing::RandomModels random(8);
    model_.emplace(random.Dense(30, PottsLabels(3)));
    for (int i = 0; i < 3; ++i) {
      labelings_.emplace_back(30, i);
      for (std::size_t a = 0; a < 30; ++a) labelings_.back()[a] = random.Integer(0, 2);
    }
    std::sort(labelings_.begin(), labelings_.end(), [&](const auto& one, const auto& other) {
      return VerifiedEnergy(*model_, one, {}) < VerifiedEnergy(*model_, other, {});
    });
  }

  // What is certified of marginals that are those of one labeling where another one was verified before.
  CertifiedDense Certify(std::size_t last, std::size_t before, double limit_seconds) {
    const VerifiedLabels verified{labelings_[before], VerifiedAt(*model_, labelings_[before], {}),
                                  1e-3};
    DenseEvidence evidence;
    evidence.mean_field = Indicator(labelings_[last], 3);
    evidence.lower = -1e9;  // says less than the labels
    DenseCertifyOptions options;
    options.verified_before = &verified;
    const Stopwatch clock;
    const Watch watch;
    Alarm alarm(clock, limit_seconds, 1.0, watch);
    return CertifyDense(*model_, {{}, "none"}, evidence, options, &alarm);
  }
  double Energy(std::size_t k) const { return VerifiedEnergy(*model_, labelings_[k], {}).value(); }

  std::optional<DenseCrf> model_;
  std::vector<std::vector<int>> labelings_;  // from the least energy to the largest
};

TEST_F(VerifiedBeforeTest, StandsInForLabelsThatThereIsNoTimeFor) {
  const CertifiedDense certified = Certify(0, 1, 0.0);
  EXPECT_EQ(certified.labels, labelings_[1]);
  EXPECT_EQ(certified.energy->value(), Energy(1));
  EXPECT_GE(certified.certificate.lower->value(), -Energy(1));
}

TEST_F(VerifiedBeforeTest, GivesWayToBetterLabelsAndToNoOthers) {
  const CertifiedDense better = Certify(0, 1, kForever);
  EXPECT_EQ(better.labels, labelings_[0]);
  EXPECT_EQ(better.energy->value(), Energy(0));
  const CertifiedDense worse = Certify(2, 1, kForever);
  EXPECT_EQ(worse.labels, labelings_[1]);
  EXPECT_EQ(worse.energy->value(), Energy(1));
}

}  // namespace
}  // namespace submarine::internal
