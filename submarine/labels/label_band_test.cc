#include "submarine/labels/label_band.h"

#include <gtest/gtest.h>

#include <vector>

#include "submarine/labels/label_tree.h"

namespace submarine::internal {
namespace {

// -diameter M x is, up to a constant, what the distances say.
void ExpectDistances(const LabelSpace& labels) {
  const LabelMetric& metric = labels.metrics.front();
  const auto band = BandOf(metric);
  ASSERT_TRUE(band);
  const std::size_t n = metric.distance.rows();
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<float> x(n, 0.0F);
    x[j] = 1.0F;
    std::vector<float> y(n);
    ApplyBand(band->neighbours, x.data(), n, y.data());
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(band->diameter * (1.0 - static_cast<double>(y[i])), metric.distance(i, j), 1e-6);
  }
}

TEST(LabelBand, IsTheMetric) {
  for (const int n : {2, 3, 7, 30}) {
    ExpectDistances(PottsLabels(n));
    EXPECT_TRUE(BandOf(PottsLabels(n).metrics.front())->neighbours.empty());
    for (const int truncation : {1, 2, 5}) ExpectDistances(TruncatedLinearLabels(n, truncation));
  }
}

TEST(LabelBand, IsOnlyThat) {
  EXPECT_FALSE(BandOf(LinearLabels(30).metrics.front()));
  EXPECT_FALSE(BandOf(LabelTree::Regular({2, 2, 2}, {1.0, 1.0, 0.5}).ToLabels().metrics.front()));
}

}  // namespace
}  // namespace submarine::internal
