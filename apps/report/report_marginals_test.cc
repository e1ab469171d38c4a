#include "apps/report/report_marginals.h"

#include <gtest/gtest.h>

#include <random>

namespace submarine::apps {
namespace {

// More noise in the first third: a sample of the beginning would mislead.
QuantisedMarginals Noisy(std::size_t pixels, std::size_t labels) {
  std::mt19937 random(3);
  QuantisedMarginals marginals{labels, labels, {}, {}};
  for (std::size_t a = 0; a < pixels; ++a) {
    const unsigned most = a < pixels / 3 ? 200 : 20;
    for (std::size_t i = 0; i < labels; ++i)
      marginals.q.push_back(static_cast<std::uint8_t>(random() % most));
  }
  return marginals;
}

TEST(PackMarginals, KeepsNearlyAsManyLabelsAsFit) {
  const QuantisedMarginals marginals = Noisy(400'000, 8);
  const auto all = PackMarginals(marginals, std::size_t{1} << 30);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->kept, 8u);
  EXPECT_TRUE(all->label.empty());
  std::size_t before = 0;
  for (const double share : {0.3, 0.6, 0.9, 1.2}) {
    const auto limit = static_cast<std::size_t>(share * static_cast<double>(all->bytes()));
    const auto packed = PackMarginals(marginals, limit);
    ASSERT_TRUE(packed) << share;
    EXPECT_LE(packed->bytes(), limit);
    EXPECT_GT(packed->kept, before) << share;
    before = packed->kept;
    // One label more would not fit, or hardly: the sizes of samples are right to a few percent.
    if (packed->kept == 8) continue;
    const double per_label =
        static_cast<double>(packed->bytes()) / static_cast<double>(packed->kept);
    EXPECT_GT(static_cast<double>(packed->bytes()) + 1.2 * per_label, static_cast<double>(limit))
        << share;
  }
  EXPECT_FALSE(PackMarginals(marginals, 1000));
}

}  // namespace
}  // namespace submarine::apps
