#include "submarine/io/model/metric_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Matrix<double> Distance(const std::string& spec, int num_labels) {
  std::vector<std::string> warnings;
  const LabelSpace space = ParseMetricSpec(spec, num_labels, true, &warnings);
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_EQ(space.metrics.size(), 1u);
  return space.metrics[0].distance;
}

TEST(MetricSpec, KnownMetrics) {
  const Matrix<double> potts = Distance("potts", 4);
  const Matrix<double> linear = Distance("linear", 4);
  const Matrix<double> truncated = Distance("truncated:2", 4);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
      EXPECT_EQ(potts(a, b), i == j ? 0 : 1);
      EXPECT_EQ(linear(a, b), std::abs(i - j));
      EXPECT_EQ(truncated(a, b), std::min(std::abs(i - j), 2));
    }
  }
  EXPECT_EQ(Distance("tree:2x2:1,0.5", 4), Distance("tree:((0,1),(2,3))", 4));
  EXPECT_EQ(Distance("tree:(0,1,2)", 3), Distance("potts", 3));
}

TEST(MetricSpec, TreeFilesAreRelativeToTheDirectory) {
  const TempDir dir;
  dir.WriteText("4x1.json", R"({"children": [{"label": 0}, {"label": 1}, {"label": 2}]})");
  const LabelSpace space = ParseMetricSpec("tree:4x1.json", 3, false, nullptr, dir.path());
  EXPECT_EQ(space.metrics[0].distance, Distance("potts", 3));
  EXPECT_EQ(space.metrics[0].name, "tree:4x1.json");
  EXPECT_THROW(ParseMetricSpec("tree:missing.json", 3, false, nullptr, dir.path()), FileError);
}

TEST(MetricSpec, HstViolationsWarnOrThrow) {
  const std::string spec = "tree:2x2:1,5";  // leaf edges longer than the edges above
  std::vector<std::string> warnings;
  EXPECT_EQ(ParseMetricSpec(spec, 4, false, &warnings).num_labels(), 4);
  EXPECT_THAT(warnings, Not(IsEmpty()));
  EXPECT_NO_THROW(ParseMetricSpec(spec, 4, false, nullptr));
  EXPECT_THAT(MessageOf<InvalidInput>([&] { ParseMetricSpec(spec, 4, true, nullptr); }),
              HasSubstr("r-HST"));
}

TEST(MetricSpec, BadSpecsAreRefused) {
  for (const char* spec : {"", "pots", "Potts", "potts ", "truncated", "truncated:", "truncated:0",
                           "truncated:-1", "truncated:2.5", "truncated:x", "truncated:99999999999",
                           "tree", "tree:", "tree:2x2", "tree:(0,1"}) {
    EXPECT_THROW(ParseMetricSpec(spec, 4, false, nullptr), InvalidInput) << spec;
  }
  EXPECT_THAT(MessageOf<InvalidInput>([] { ParseMetricSpec("pots", 4, false, nullptr); }),
              HasSubstr("known are potts, linear, truncated:T"));
  EXPECT_THAT(MessageOf<InvalidInput>([] { ParseMetricSpec("tree:5x4:1,.5", 21, false, nullptr); }),
              HasSubstr("the tree has 20 labels, but the model has 21"));
  EXPECT_THROW(ParseMetricSpec("potts", 0, false, nullptr), InvalidInput);
  EXPECT_THROW(ParseMetricSpec("linear", 1 << 20, false, nullptr), InvalidInput);
}

}  // namespace
}  // namespace submarine::internal
