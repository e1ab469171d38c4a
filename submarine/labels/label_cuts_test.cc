#include "submarine/labels/label_cuts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/error_test_util.h"
#include "submarine/base/stopwatch.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;

void ExpectExactMetric(const LabelSpace& space, int num_labels, int truncation) {
  SCOPED_TRACE(::testing::Message() << space.metrics[0].name << ", " << num_labels << " labels");
  ASSERT_EQ(space.num_labels(), num_labels);
  ASSERT_EQ(space.metrics.size(), 1u);
  ASSERT_EQ(space.metrics[0].length.size(), static_cast<std::size_t>(space.cuts->num_cuts()));
  EXPECT_TRUE(space.exact());
  const Matrix<double> through_cuts = CutDistance(*space.cuts, space.metrics[0].length);
  for (int i = 0; i < num_labels; ++i) {
    for (int j = 0; j < num_labels; ++j) {
      const double expected = std::min(std::abs(i - j), truncation);
      // Lengths are multiples of 1/2, so that sums of them are exact.
      ASSERT_EQ(space.metrics[0].distance(i, j), expected) << i << ", " << j;
      ASSERT_EQ(through_cuts(i, j), expected) << i << ", " << j;
    }
  }
}

void ExpectLeavesFirst(const LabelCuts& cuts) {
  ASSERT_GE(cuts.num_cuts(), cuts.num_labels());
  for (int i = 0; i < cuts.num_labels(); ++i) EXPECT_EQ(cuts.set(i), std::vector<int>{i});
}

TEST(LabelCutsTest, CutsExpressTheMetrics) {
  for (int labels = 2; labels <= 24; ++labels) {
    ExpectExactMetric(PottsLabels(labels), labels, 1);
    ExpectExactMetric(LinearLabels(labels), labels, labels);
    ExpectLeavesFirst(*PottsLabels(labels).cuts);
    ExpectLeavesFirst(*LinearLabels(labels).cuts);
    for (int truncation = 1; truncation <= labels + 1; ++truncation) {
      const LabelSpace space = TruncatedLinearLabels(labels, truncation);
      ExpectExactMetric(space, labels, truncation);
      ExpectLeavesFirst(*space.cuts);
    }
  }
}

TEST(LabelCutsTest, FamiliesHaveNoMoreCutsThanNeeded) {
  EXPECT_EQ(PottsLabels(7).cuts->num_cuts(), 7);
  EXPECT_TRUE(PottsLabels(7).cuts->leaves_only());
  EXPECT_TRUE(TruncatedLinearLabels(7, 1).cuts->leaves_only());
  // The prefixes {0}, {0,1}, ..., {0..5}; the first is a leaf.
  EXPECT_EQ(LinearLabels(7).cuts->num_cuts(), 7 + 5);
  EXPECT_EQ(TruncatedLinearLabels(7, 6).cuts->num_cuts(), 7 + 5);
  // Windows of 3 starting at -2..6, of which those at -2 and 6 are leaves.
  EXPECT_EQ(TruncatedLinearLabels(7, 3).cuts->num_cuts(), 7 + 7);
}

TEST(LabelCutsTest, MetricsAreNamedAsUsersWriteThem) {
  EXPECT_EQ(PottsLabels(5).metrics[0].name, "potts");
  EXPECT_EQ(LinearLabels(5).metrics[0].name, "linear");
  EXPECT_EQ(TruncatedLinearLabels(5, 2).metrics[0].name, "truncated:2");
  EXPECT_EQ(TruncatedLinearLabels(5, 9).metrics[0].name, "truncated:9");
}

// Families of all shapes: a laminar one, intervals, arbitrary sets, repeated sets, the whole set.
std::vector<std::vector<std::vector<int>>> RandomFamilies(int labels, std::mt19937_64* rng) {
  const auto integer = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(*rng);
  };
  std::vector<int> order(static_cast<std::size_t>(labels));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), *rng);

  std::vector<std::vector<int>> nested;
  std::vector<std::pair<int, int>> open{{0, labels}};
  while (!open.empty()) {
    const auto [begin, end] = open.back();
    open.pop_back();
    nested.emplace_back(order.begin() + begin, order.begin() + end);
    if (end - begin < 2) continue;
    const int middle = integer(begin + 1, end - 1);
    open.push_back({begin, middle});
    open.push_back({middle, end});
  }
  std::vector<std::vector<int>> intervals;
  for (int k = 0; k < 2 * labels; ++k) {
    const int first = integer(0, labels - 1);
    const int last = integer(first, labels - 1);
    intervals.emplace_back();
    for (int i = first; i <= last; ++i) intervals.back().push_back(i);
  }
  std::vector<std::vector<int>> arbitrary;
  for (int k = 0; k < 2 * labels; ++k) {
    std::shuffle(order.begin(), order.end(), *rng);
    arbitrary.emplace_back(order.begin(), order.begin() + integer(1, labels));
    if (integer(0, 3) == 0) arbitrary.push_back(arbitrary.back());
  }
  return {nested, intervals, arbitrary, {}};
}

TEST(LabelCutsTest, SumsFollowTheDefinition) {
  std::mt19937_64 rng(1);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 100; ++trial) {
    const int labels = 2 + trial % 20;
    for (const auto& family : RandomFamilies(labels, &rng)) {
      const LabelCuts cuts(labels, family);
      ASSERT_EQ(cuts.num_cuts(), labels + static_cast<int>(family.size()));
      std::vector<double> y(static_cast<std::size_t>(labels));
      std::vector<double> s(static_cast<std::size_t>(cuts.num_cuts()));
      for (double& value : y) value = normal(rng);
      for (double& value : s) value = normal(rng);

      std::vector<double> expected_z(s.size(), 0.0);
      std::vector<double> expected_s_label(y.size(), 0.0);
      for (int c = 0; c < cuts.num_cuts(); ++c) {
        const std::vector<int>& set = c < labels ? std::vector<int>{c} : family[c - labels];
        for (int i = 0; i < labels; ++i) {
          const bool member = std::find(set.begin(), set.end(), i) != set.end();
          ASSERT_EQ(cuts.contains(c, i), member);
          if (!member) continue;
          expected_z[c] += y[i];
          expected_s_label[i] += s[c];
        }
      }

      std::vector<double> z(s.size());
      cuts.SumOverCuts(y, z);
      std::vector<double> in_place(s.size());
      std::copy(y.begin(), y.end(), in_place.begin());
      cuts.SumOverCuts({in_place.data(), y.size()}, in_place);
      for (std::size_t c = 0; c < z.size(); ++c) {
        ASSERT_NEAR(z[c], expected_z[c], 1e-12);
        ASSERT_EQ(in_place[c], z[c]);
      }

      std::vector<double> scratch = s;
      std::vector<double> s_label(y.size());
      cuts.SumOverLabels(scratch, s_label);
      for (std::size_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(s_label[i], expected_s_label[i], 1e-12);
      }

      // Transposes of one another: <s, z(y)> = <s'(s), y>.
      EXPECT_NEAR(std::inner_product(s.begin(), s.end(), z.begin(), 0.0),
                  std::inner_product(s_label.begin(), s_label.end(), y.begin(), 0.0), 1e-11);
    }
  }
}

TEST(LabelCutsTest, SetsAreSortedWhateverTheirOrderWas) {
  const LabelCuts cuts(5, {{4, 0, 2}});
  EXPECT_EQ(cuts.set(5), (std::vector<int>{0, 2, 4}));
  EXPECT_TRUE(cuts.contains(5, 4));
  EXPECT_FALSE(cuts.contains(5, 3));
}

// With O(cuts) per row the 200 rows below take milliseconds; adding up the sets would take 50 times
// as long. The limit is generous because machines are slow under sanitizers.
TEST(LabelCutsTest, ManyLabelsAreQuick) {
  const Stopwatch clock;
  for (const LabelSpace& space :
       {LinearLabels(kMaxLabels), TruncatedLinearLabels(kMaxLabels, 200)}) {
    std::vector<double> y(kMaxLabels, 1.0 / kMaxLabels);
    std::vector<double> z(static_cast<std::size_t>(space.cuts->num_cuts()));
    for (int row = 0; row < 200; ++row) {
      space.cuts->SumOverCuts(y, z);
      for (std::size_t c = 0; c < z.size(); ++c) {
        ASSERT_NEAR(z[c] * kMaxLabels,
                    static_cast<double>(space.cuts->set(static_cast<int>(c)).size()), 1e-9);
      }
      std::vector<double> s(z.size(), 1.0);
      std::vector<double> s_label(y.size());
      space.cuts->SumOverLabels(s, s_label);
      // Label 0 is in all prefixes but the complete one, and in 200 of the windows, one of them a leaf.
      ASSERT_EQ(s_label[0], space.metrics[0].name == "linear" ? 1023.0 : 200.0);
    }
  }
  EXPECT_LT(clock.Seconds(), 5.0);
}

TEST(LabelCutsTest, RefusesBadInput) {
  for (int labels : {-3, 0, 1, 1025}) {
    const std::string complaint = std::to_string(labels) + " labels";
    ExpectInvalid([&] { PottsLabels(labels); }, complaint);
    ExpectInvalid([&] { LinearLabels(labels); }, complaint);
    ExpectInvalid([&] { TruncatedLinearLabels(labels, 2); }, complaint);
    ExpectInvalid([&] { LabelCuts(labels, {}); }, complaint);
  }
  EXPECT_NO_THROW(CheckLabelCount(2));
  EXPECT_NO_THROW(CheckLabelCount(1024));
  ExpectInvalid([] { TruncatedLinearLabels(5, 0); }, "truncation 0");
  ExpectInvalid([] { TruncatedLinearLabels(5, -2); }, "truncation -2");
  ExpectInvalid([] { LabelCuts(4, {{0, 1}, {}}); }, "label cut 5");
  ExpectInvalid([] { LabelCuts(4, {{0, 4}}); }, "label cut 4");
  ExpectInvalid([] { LabelCuts(4, {{-1, 2}}); }, "label cut 4");
  ExpectInvalid([] { LabelCuts(4, {{0, 1}, {2, 3}, {2, 1, 2}}); }, "label cut 6");
}

TEST(LabelSpaceTest, IsExactOnlyIfEveryMetricIs) {
  LabelSpace space = PottsLabels(3);
  space.metrics.push_back(space.metrics[0]);
  EXPECT_TRUE(space.exact());
  space.metrics[1].distortion = 1.5;
  EXPECT_FALSE(space.exact());
}

}  // namespace
}  // namespace submarine::internal
