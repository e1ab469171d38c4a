#include "submarine/solver/routed/banded_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "submarine/labels/label_cuts.h"
#include "submarine/model/random_models_test_util.h"

namespace submarine::internal {
namespace {

TEST(BandedChainTest, SumsAndMarginalsAreThoseOfEnumeration) {
  testing::RandomModels random(3);
  for (int round = 0; round < 300; ++round) {
    const bool many = round % 4 == 0;  // most distances of a truncated metric are the same
    const int labels = many ? 7 : random.Integer(2, 3);
    const auto n = static_cast<std::size_t>(random.Integer(1, many ? 5 : labels == 2 ? 9 : 6));
    const auto count = static_cast<std::size_t>(labels);
    RoutedPaths paths;
    paths.bandwidth = random.Integer(1, many ? 3 : 4);
    const auto k = static_cast<std::size_t>(paths.bandwidth);
    for (std::size_t p = 0; p < n; ++p) {
      paths.order.push_back(static_cast<std::uint32_t>(p));
      if (p == 0 || random.Integer(0, 5) == 0) paths.begin.push_back(static_cast<std::uint32_t>(p));
    }
    const std::vector<std::uint32_t> followers = paths.Followers();
    const LabelSpace space = random.Labels(labels);
    const Matrix<double> distance = CutDistance(*space.cuts, space.metrics.front().length);
    Matrix<double> weights(n, k);
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t m = 1; m <= k; ++m) {
        if (m <= followers[p]) weights(p, m - 1) = random.Real(0.0, 2.0);
      }
    }
    Matrix<float> costs(n, count);
    for (std::size_t i = 0; i < costs.size(); ++i)
      costs.data()[i] = static_cast<float>(random.Real(-3.0, 3.0));
    const double temperature = random.Real(0.3, 2.0);
    BandedChain sums(paths, distance);
    sums.SetWeights(weights, temperature);
    Matrix<float> y;
    const double log_z = sums.LogZ(costs, temperature, &y);
    const Matrix<float> expected = sums.ExpectedDistances();

    double z = 0.0;
    Matrix<double> mass(n, count);
    Matrix<double> apart(n, k);
    std::vector<std::size_t> x(n, 0);
    for (bool more = true; more;) {
      double energy = 0.0;
      for (std::size_t p = 0; p < n; ++p) {
        energy += costs(p, x[p]);
        for (std::size_t m = 1; m <= k && m <= followers[p]; ++m)
          energy += weights(p, m - 1) * distance(x[p], x[p + m]);
      }
      const double weight = std::exp(-energy / temperature);
      z += weight;
      for (std::size_t p = 0; p < n; ++p) {
        mass(p, x[p]) += weight;
        for (std::size_t m = 1; m <= k && m <= followers[p]; ++m)
          apart(p, m - 1) += weight * distance(x[p], x[p + m]);
      }
      std::size_t a = 0;
      while (a < n && ++x[a] == count) x[a++] = 0;
      more = a < n;
    }
    ASSERT_NEAR(log_z, std::log(z), 1e-9) << round;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(y(p, i), mass(p, i) / z, 1e-6) << round;
      for (std::size_t m = 0; m < k; ++m)
        ASSERT_NEAR(expected(p, m), apart(p, m) / z, 2e-6) << round;
    }
  }
}

TEST(BandedChainTest, NothingOverflows) {
  RoutedPaths paths;
  paths.order = {0, 1, 2, 3};
  paths.begin = {0};
  paths.bandwidth = 2;
  const LabelSpace space = PottsLabels(2);
  BandedChain sums(paths, space.metrics.front().distance);
  sums.SetWeights(Matrix<double>(4, 2, 1e5), 1.0);
  Matrix<float> costs(4, 2);
  for (std::size_t p = 0; p < 4; ++p) costs(p, p % 2) = 1e6F;
  Matrix<float> y;
  EXPECT_TRUE(std::isfinite(sums.LogZ(costs, 1.0, &y)));
  for (std::size_t n = 0; n < y.size(); ++n) EXPECT_TRUE(std::isfinite(y.data()[n]));
}

}  // namespace
}  // namespace submarine::internal
