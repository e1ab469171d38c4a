#include "submarine/io/model/metric_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/io/file/npy.h"
#include "submarine/io/model/metric_spec.h"

namespace submarine::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Matrix<double> Square(const std::vector<double>& values) {
  const auto size = static_cast<std::size_t>(std::lround(std::sqrt(values.size())));
  Matrix<double> matrix(size, size);
  std::copy(values.begin(), values.end(), matrix.data());
  return matrix;
}

class MetricFileTest : public ::testing::Test {
 protected:
  LabelSpace Labels(const std::string& name, const std::string& text) const {
    dir_.WriteText(name, text);
    return ReadSizedMetric(name, dir_.path())->labels;
  }
  std::string Refusal(const std::string& name, const std::string& text,
                      const std::string& spec = "") const {
    dir_.WriteText(name, text);
    return MessageOf<Error>([&] { ReadSizedMetric(spec.empty() ? name : spec, dir_.path()); });
  }

  TempDir dir_;
};

TEST_F(MetricFileTest, MatricesInEveryForm) {
  const Matrix<double> d = Square({0, 1, 2.5, 1, 0, 2, 2.5, 2, 0});
  WriteNpy(dir_ / "m.npy", d);
  EXPECT_EQ(ReadSizedMetric("m.npy", dir_.path())->labels.metrics[0].distance, d);
  const char* texts[] = {
      "0,1,2.5\n1,0,2\n2.5,2,0\n",
      "0\t1\t2.5\r\n1\t0\t2\r\n\r\n2.5\t2\t0",
      "0 1 +2.5\n  1 0 2\n2.5   2e0 0\n",
      "\xEF\xBB\xBF\"0\",1,2.5\n1,0,2\n2.5,2,0\n",
  };
  for (const char* text : texts) {
    const LabelSpace labels = Labels("m.csv", text);
    EXPECT_EQ(labels.metrics[0].distance, d) << text;
    EXPECT_EQ(labels.metrics[0].name, "m.csv");
    EXPECT_THAT(labels.names, IsEmpty()) << text;
  }
  const char* named[] = {
      "cat,dog,car\n0,1,2.5\n1,0,2\n2.5,2,0\n",
      ",cat,dog,car\ncat,0,1,2.5\ndog,1,0,2\ncar,2.5,2,0\n",
      "cat\t0\t1\t2.5\ndog\t1\t0\t2\ncar\t2.5\t2\t0\n",
      "label cat dog car\ncat 0 1 2.5\ndog 1 0 2\ncar 2.5 2 0\n",
  };
  for (const char* text : named) {
    const LabelSpace labels = Labels("m.txt", text);
    EXPECT_EQ(labels.metrics[0].distance, d) << text;
    EXPECT_THAT(labels.names, ElementsAre("cat", "dog", "car")) << text;
  }
  EXPECT_EQ(Labels("m.json", "[[0,1,2.5],[1,0,2],[2.5,2,0]]").metrics[0].distance, d);
  const LabelSpace json =
      Labels("m.json", R"({"labels": ["a","b","c"], "distance": [[0,1,2.5],[1,0,2],[2.5,2,0]]})");
  EXPECT_EQ(json.metrics[0].distance, d);
  EXPECT_THAT(json.names, ElementsAre("a", "b", "c"));
}

TEST_F(MetricFileTest, BadMatricesAreRefused) {
  const struct {
    const char* text;
    const char* reason;
  } cases[] = {
      {"0,1\n1,0\n1,1\n", "3 x 2, expected as many rows as columns"},
      {"0,1,2\n1,0\n2,1,0\n", "line 2 has 2 numbers, expected 3"},
      {"0,1,1\n1,0,x\n1,1,0\n", "line 2, column 3: \"x\" is not a number"},
      {"0,1,1\n1,0,nan\n1,1,0\n", "d(1,2) = nan"},
      {"0,1,1\n1,0,-1\n1,-1,0\n", "d(1,2) = -1"},
      {"0,1,1\n1,0,2\n1,1,0\n", "not symmetric: d(1,2) = 2 but d(2,1) = 1"},
      {"0,1,1\n1,3,1\n1,1,0\n", "d(1,1) = 3 on the diagonal"},
      {"0,1,5\n1,0,1\n5,1,0\n", "d(0,2) = 5 exceeds d(0,1) + d(1,2) = 2; repair:FILE"},
      {"a,b\n0,1,1\n1,0,1\n1,1,0\n", "2 names for 3 labels"},
      {",a,b\na,0,1\nc,1,0\n", "line 3 is about \"c\", but column 2 about \"b\""},
  };
  for (const auto& [text, reason] : cases)
    EXPECT_THAT(Refusal("m.csv", text), HasSubstr(reason)) << text;
  EXPECT_THAT(Refusal("m.json", "[[0,1],[1]]"), HasSubstr("row 1 of the matrix"));
  EXPECT_THAT(Refusal("m.json", "[[0,\"x\"],[1,0]]"), HasSubstr("row 0, column 1"));
  EXPECT_THAT(Refusal("m.json", "[]"), HasSubstr("m.json"));
  EXPECT_THAT(Refusal("m.json", R"({"distance": 3})"), HasSubstr("must be a list of rows"));
  EXPECT_THAT(Refusal("m.csv", "0,1\n1,0\n", "m.csv:1,0.5"), HasSubstr("expected a label tree"));
  EXPECT_THAT(Refusal("m.csv", "a,b\nc,b\n", "repair:m.csv"), HasSubstr("has a label tree"));
  EXPECT_THAT(
      MessageOf<InvalidInput>([&] { ParseMetricSpec("m.csv", 5, false, nullptr, dir_.path()); }),
      HasSubstr("the tree has 2 labels, but the model has 5"));
}

TEST_F(MetricFileTest, RepairAndCompatibilityOfAMatrix) {
  dir_.WriteText("m.csv", "0,1,5\n1,0,1\n5,1,0\n");
  EXPECT_EQ(ReadSizedMetric("repair:m.csv", dir_.path())->labels.metrics[0].distance(0, 2), 2.0);
  const LabelSpace kept = ReadSizedMetric("compatibility:m.csv", dir_.path())->labels;
  EXPECT_EQ(kept.metrics[0].distance(0, 2), 5.0);
  EXPECT_EQ(CutDistance(*kept.cuts, kept.metrics[0].length)(0, 2), 2.0);
  EXPECT_EQ(MetricFileOf("compatibility:m.csv"), "m.csv");
  EXPECT_EQ(MetricFileOf("tree:m.tsv:1,0.5"), "m.tsv");
  EXPECT_EQ(MetricFileOf("truncated:3"), std::nullopt);
}

// d = 1 inside a group, 3 across; c is alone in its group.
TEST_F(MetricFileTest, TreesInEveryForm) {
  const Matrix<double> d = Square({0, 1, 3, 3, 1, 0, 3, 3, 3, 3, 0, 3, 3, 3, 3, 0});
  const char* texts[] = {
      "label\tparent\na\tx\nb\tx\nc\tc\nd\ty\n",
      "label\tid\tgroup\na\t7\tx\nb\t8\tx\nc\t9\tc\nd\t-1\ty\n",
      "a,x\nb,x\nc,c\nd,y\n",
      "x\troot\na\tx\nb\tx\nroot\t\nc\tc\nd\ty\nc\troot\t1\ny\troot\n",
      "x\n  a\n  b\nc\n  c\ny: 1\n  d\n",
      "all\n\tx\n\t\ta: 0.5\n\t\tb\n\tc\n\t\tc\n\ty\n\t\td\n",
  };
  for (const char* text : texts) {
    const LabelSpace labels = Labels("t.tsv", text);
    EXPECT_EQ(labels.metrics[0].distance, d) << text;
    EXPECT_THAT(labels.names, ElementsAre("a", "b", "c", "d")) << text;
    ASSERT_EQ(labels.groups.size(), 3u) << text;
    EXPECT_EQ(labels.groups[0].name, "x");
    EXPECT_THAT(labels.groups[0].labels, ElementsAre(0, 1));
    EXPECT_EQ(labels.groups[0].parent, -1);
  }
  const LabelSpace lengths = [&] {
    dir_.WriteText("t.tsv", texts[0]);
    return ReadSizedMetric("t.tsv:2,0.25", dir_.path())->labels;
  }();
  EXPECT_EQ(lengths.metrics[0].distance(0, 1), 0.5);
  EXPECT_EQ(lengths.metrics[0].distance(0, 3), 4.5);
  const LabelSpace nested = Labels("t.txt", "x\n  a: 2\n  z: 3\n    b\n    c\ny\n  d\n  e\n");
  EXPECT_EQ(nested.metrics[0].distance(0, 1), 2 + 3 + 0.5);
  ASSERT_EQ(nested.groups.size(), 3u);
  EXPECT_EQ(nested.groups[1].name + nested.groups[2].name, "yz");
  EXPECT_EQ(nested.groups[2].parent, 0);
  // JSON without numbers: leaves in their order.
  const LabelSpace json =
      Labels("t.json",
             R"({"children": [{"id": "x", "children": [{"id": "a"}, {"id": "b"}]}, {"id": "c"}]})");
  EXPECT_THAT(json.names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(json.groups.at(0).name, "x");
}

TEST_F(MetricFileTest, BadTreesAreRefused) {
  const struct {
    const char* text;
    const char* reason;
  } cases[] = {
      {"", "empty"},
      {"a\tx\nx\ty\ny\tx\n", "is its own ancestor: the parents run in a cycle"},
      {"a\tx\nb\ty\nx\t\ny\t\n", "line 3 (\"x\"), and line 4 (\"y\")"},
      {"a\tx\nb\ty\nx\t\n", "two roots: line 3 (\"x\"), and \"y\", the parent in line 2"},
      {"a\tx\nb\tx\na\ty\n", "lines 1 and 3 both define \"a\""},
      {"x\n  a\n  b\ny\n  a\n", "lines 2 and 5 both define \"a\""},
      {"x\n  a\n b\n", "line 3 is indented by 1"},
      {"x\n  a: long\n  b\n", "line 2: the length \"long\""},
      {"x\n  a: -1\n  b\n", "line 2: the length \"-1\""},
      {"a\tx\t1\nb\tx\tnan\n", "line 2: the length \"nan\""},
      {"a\tx\n\tx\n", "line 2 has no label"},
      {"only\n", "between 2 and"},
  };
  for (const auto& [text, reason] : cases)
    EXPECT_THAT(Refusal("t.tsv", text), HasSubstr(reason)) << text;
  EXPECT_THAT(Refusal("t.tsv", "a\tx\nb\tx\n", "t.tsv:1"), HasSubstr("only 1 lengths are given"));
  EXPECT_THAT(Refusal("t.tsv", "a\tx\nb\tx\n", "tree:no.tsv"), HasSubstr("no.tsv"));
  std::string deep;
  for (int k = 0; k < 2000; ++k) deep += std::string(k, ' ') + fmt::format("n{}\n", k);
  EXPECT_THAT(Refusal("t.txt", deep), HasSubstr("levels"));
}

}  // namespace
}  // namespace submarine::internal
