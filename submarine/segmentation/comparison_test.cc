#include "submarine/segmentation/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "submarine/base/error_test_util.h"

namespace submarine::internal {
namespace {

using testing::ExpectInvalid;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kNames = {"sky", "cow", "bicycle"};

LabelCounts Counts(const std::vector<std::int64_t>& truth, const std::vector<std::int64_t>& given,
                   const std::vector<std::int64_t>& right) {
  return {truth, given, right};
}

// `right` of 100 pixels of "sky", the others are given as "cow"; 10 pixels of "cow" are right.
LabelCounts Sky(int right) { return Counts({100, 10, 0}, {right, 110 - right, 0}, {right, 10, 0}); }

TEST(Compare, CountsByHand) {
  const std::vector<ComparedPicture> pictures = {
      {Sky(80), Sky(90), {}, {}}, {Sky(70), Sky(60), {}, {}}, {Sky(50), Sky(80), {}, {}}};
  const Comparison found = Compare(pictures);
  EXPECT_EQ(found.pictures, 3);
  EXPECT_EQ(found.better, 2);
  EXPECT_EQ(found.worse, 1);
  EXPECT_DOUBLE_EQ(found.accuracy.before, 230.0 / 330.0);
  EXPECT_DOUBLE_EQ(found.accuracy.after, 260.0 / 330.0);
  EXPECT_DOUBLE_EQ(found.mean_iou.before, 0.5 * (200.0 / 300.0 + 30.0 / 130.0));
  EXPECT_DOUBLE_EQ(found.mean_iou.after, 0.5 * (230.0 / 300.0 + 30.0 / 100.0));
  ASSERT_EQ(found.iou.size(), 3u);
  EXPECT_NEAR(found.iou[0]->by(), 0.1, 1e-12);
  EXPECT_FALSE(found.iou[2].has_value());
  EXPECT_FALSE(found.thin.has_value());
  // Changes of 10, -10 and 30 of 110 pixels: a standard deviation of 20, a standard error of
  // 20 / sqrt(3), and 4.303 of those for three pictures.
  ASSERT_TRUE(found.accuracy.interval.has_value());
  const auto [low, high] = *found.accuracy.interval;
  EXPECT_NEAR(low, 10.0 / 110.0 - 4.303 * 20.0 / std::sqrt(3.0) / 110.0, 0.03);
  EXPECT_DOUBLE_EQ(high, 1.0 - 230.0 / 330.0);  // more than all cannot be right
  EXPECT_FALSE(found.accuracy.helps());
  EXPECT_FALSE(found.accuracy.hurts());
  EXPECT_THAT(
      ComparisonText(found, kNames),
      HasSubstr(
          "Helps on 2 of 3 pictures, hurts on 1; on the whole no clear difference: mean IoU 44.9% "
          "before, 53.3% after, +8.5 points (95% interval"));
}

TEST(Compare, NamesWhatIsHurt) {
  const LabelCounts before = Counts({1000, 100, 50}, {1010, 100, 40}, {900, 80, 40});
  const LabelCounts after = Counts({1000, 100, 50}, {1030, 100, 20}, {980, 95, 20});
  const std::vector<ComparedPicture> pictures(
      6, {before, after, Counts({20, 0, 20}, {20, 0, 20}, {18, 0, 18}),
          Counts({20, 0, 20}, {35, 0, 5}, {20, 0, 5})});
  const std::string text = ComparisonText(Compare(pictures), kNames);
  EXPECT_THAT(text, HasSubstr("Helps on 0 of 6 pictures, hurts on 6; on the whole it hurts"));
  EXPECT_THAT(text, HasSubstr("Hurts bicycle (-40.0) and thin parts (-27.5)."));
  EXPECT_THAT(ComparisonText(Compare(std::span(pictures).first(1)), kNames),
              ::testing::StartsWith("Hurts: mean IoU"));
  EXPECT_THAT(ComparisonText(Compare(std::span(pictures).first(1)), kNames),
              Not(HasSubstr("interval")));
}

// Changes of random pictures whose mean is known: 95% intervals contain it in about 95% of the cases, also with
// few pictures.
TEST(Compare, IntervalsContainTheTruthAboutAsOftenAsTheySay) {
  std::mt19937_64 random(5);
  for (const std::size_t pictures : {4U, 8U, 20U}) {
    int inside = 0;
    constexpr int kTrials = 150;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> changes(pictures);
      std::normal_distribution<double> normal(0.02, 0.03);
      for (double& change : changes) change = normal(random);
      const Change found = ChangeOver(pictures, [&](const std::vector<std::size_t>& drawn) {
        double sum = 0.0;
        for (const std::size_t p : drawn) sum += changes[p] / static_cast<double>(drawn.size());
        return std::array{0.5, 0.5 + sum};
      });
      inside += (*found.interval)[0] <= 0.02 && 0.02 <= (*found.interval)[1] ? 1 : 0;
    }
    EXPECT_GE(inside, 0.9 * kTrials) << pictures;
    EXPECT_LT(inside, kTrials) << pictures;
  }
}

TEST(ComparePicture, LooksAtThinParts) {
  // A line of label 1, one pixel wide, through a picture of 40 x 30 that is otherwise label 0.
  std::vector<int> truth(1200, 0);
  for (std::size_t x = 0; x < 40; ++x) truth[15 * 40 + x] = 1;
  const ComparedPicture found = ComparePicture(truth, truth, std::vector<int>(1200, 0), 40, 30, 2);
  EXPECT_EQ(found.thin_before, Counts({0, 40}, {0, 40}, {0, 40}));
  EXPECT_EQ(found.thin_after, Counts({0, 40}, {40, 0}, {0, 0}));
  const std::vector<ComparedPicture> one = {found};
  EXPECT_THAT(ComparisonText(Compare(one), {"wall", "wire"}),
              HasSubstr("Hurts wall (-3.3), wire (-100.0) and thin parts (-100.0)."));
}

TEST(Compare, RefusesNothing) {
  ExpectInvalid([] { Compare({}); }, "no pictures");
  const std::vector<ComparedPicture> unknown(
      2, {Counts({0}, {0}, {0}), Counts({0}, {0}, {0}), {}, {}});
  ExpectInvalid([&] { Compare(unknown); }, "known true label");
}

}  // namespace
}  // namespace submarine::internal
