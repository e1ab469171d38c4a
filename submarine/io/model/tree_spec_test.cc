#include "submarine/io/model/tree_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Matrix<double> Distances(const LabelTree& tree) { return tree.ToLabels().metrics.at(0).distance; }

// Two groups of two labels; d = 1 inside a group, 3 across.
Matrix<double> TwoByTwo() {
  Matrix<double> d(4, 4, 3.0);
  for (std::size_t i = 0; i < 4; ++i) {
    d(i, i) = 0.0;
    d(i, i ^ 1) = 1.0;
  }
  return d;
}

TEST(TreeSpec, RegularShape) {
  EXPECT_EQ(Distances(ParseTreeSpec("2x2:1,0.5")), TwoByTwo());
  const LabelTree tree = ParseTreeSpec(" 5x4 : 1 , .5 ");
  EXPECT_EQ(tree.num_labels(), 20);
  EXPECT_EQ(Distances(tree)(0, 19), 3.0);
  EXPECT_EQ(Distances(ParseTreeSpec("3:0.5"))(0, 2), 1.0);
}

TEST(TreeSpec, NestedWithDefaults) {
  EXPECT_EQ(Distances(ParseTreeSpec("((0,1):1,(2,3):1)")), TwoByTwo());
  EXPECT_EQ(Distances(ParseTreeSpec("((0,1),(2,3))")), TwoByTwo());
  EXPECT_EQ(Distances(ParseTreeSpec(" ( (0 , 1:0.5) , (2:5e-1,3) : 1e0 ) : 7 ")), TwoByTwo());
}

TEST(TreeSpec, NestedLengthsGoWhereTheyAreWritten) {
  const Matrix<double> d = Distances(ParseTreeSpec("(2:4,(1:1,0:2):8)"));
  EXPECT_EQ(d(0, 1), 3.0);
  EXPECT_EQ(d(0, 2), 14.0);
  EXPECT_EQ(d(1, 2), 13.0);
}

TEST(TreeSpec, BadTextsAreRefused) {
  const struct {
    std::string text;
    const char* reason;
  } cases[] = {
      {"", "expected a number of groups"},
      {"potts", "expected a number of groups"},
      {"5x4", "one length for each level"},
      {"5x4:1", "2 levels need as many lengths, but 1"},
      {"5x4:1,2,3", "but 3 are given"},
      {"5x4:1,", "expected a length"},
      {"5x:1,1", "character 3"},
      {"0x4:1,1", "must lie between 1 and"},
      {"-5x4:1,1", "must lie between 1 and"},
      {"5x4:1,-1", "not negative"},
      {"5x4:1,nan", "finite"},
      {"5x4:1,inf", "finite"},
      {"5x4:1,1e999", "range of numbers"},
      {"1000x1000:1,1", "more than 1024 labels"},
      {"99999999999x2:1,1", "range of numbers"},
      {"5x4:1,1 extra", "expected ',' or the end"},
      {"(", "expected a label or '('"},
      {"()", "expected a label or '('"},
      {"(0,1", "expected ',' or ')'"},
      {"(0,1))", "expected the end"},
      {"(0,1);", "expected the end"},
      {"(0 1)", "expected ',' or ')'"},
      {"(0,,1)", "expected a label"},
      {"(a,b)", "expected a label"},
      {"(0,0)", "leaf 0 and leaf 0 both have label 0"},
      {"(0,2)", "leaf 2 has label 2, but 2 leaves must have the labels 0 to 1"},
      {"(0,-1)", "must lie between 0"},
      {"(0,5000)", "must lie between 0"},
      {"(0:-1,1)", "not negative"},
      {"(0:nan,1)", "finite"},
      {"(0:,1)", "expected a length"},
      {std::string(100000, '('), "more than 256 levels"},
  };
  for (const auto& bad : cases) {
    EXPECT_THAT(MessageOf<InvalidInput>([&] { ParseTreeSpec(bad.text); }), HasSubstr(bad.reason))
        << bad.text;
  }
  EXPECT_THROW(ParseTreeSpec("(0)"), InvalidInput);  // a single label
}

TEST(TreeJson, FlatFormInAnyOrder) {
  const TempDir dir;
  const auto path = dir.WriteText("t.json", R"({"nodes": [
    {"id": "cat", "parent": "animals", "length": 0.5, "label": 0},
    {"id": "root"},
    {"id": "animals", "parent": "root", "length": 1},
    {"id": "dog", "parent": "animals", "length": 0.5, "label": 1},
    {"id": 17, "parent": "root", "length": 1},
    {"id": "car", "parent": 17, "length": 0.5, "label": 2},
    {"id": "bus", "parent": 17, "label": 3}]})");
  EXPECT_EQ(Distances(ReadTreeJson(path)), TwoByTwo());
}

TEST(TreeJson, NestedForm) {
  const TempDir dir;
  const auto path = dir.WriteText("t.json", R"({"id": "root", "length": 9, "children": [
    {"length": 1, "children": [{"label": 0, "length": 0.5}, {"label": 1}]},
    {"children": [{"label": 2, "length": 0.5}, {"id": "bus", "label": 3}]}]})");
  EXPECT_EQ(Distances(ReadTreeJson(path)), TwoByTwo());
}

TEST(TreeJson, BadFilesAreRefused) {
  const TempDir dir;
  const struct {
    std::string text;
    const char* reason;
  } cases[] = {
      {"", "is empty"},
      {"{\"nodes\": [\n  {\"id\": }]}", ":2:10: not valid JSON"},
      {"{\"nodes\": [", "not valid JSON"},
      {"\x01\xff\xfe", ":1:1: not valid JSON"},
      {"{} {}", "not valid JSON"},
      {"[1, 2]", "expected a JSON object"},
      {"{\"length\": 1e999, \"label\": 0}", "t.json"},
      {R"({"nodes": []})", "must be an array of nodes"},
      {R"({"nodes": 3})", "must be an array of nodes"},
      {R"({"nodes": [], "nodes": []})", "key \"nodes\" twice"},
      {R"({"nodes": [3]})", "nodes[0]"},
      {R"({"nodes": [{"label": 0}]})", "key \"id\" is missing"},
      {R"({"nodes": [{"id": 1.5}]})", "must be a string or a whole number"},
      {R"({"nodes": [{"id": "r", "lenght": 1}]})", "unknown key \"lenght\""},
      {R"({"nodes": [{"id": "r"}, {"id": "a", "parent": "q", "label": 0}]})",
       "node \"a\" has the parent \"q\", which does not exist"},
      {R"({"nodes": [{"id": "r"}, {"id": "r", "parent": "r"}]})", "two nodes have the id \"r\""},
      {R"({"nodes": [{"id": "r"}, {"id": "a", "parent": "b"}, {"id": "b", "parent": "a"}]})",
       "node \"a\" is its own ancestor"},
      {R"({"nodes": [{"id": "a", "parent": "a"}]})", "node \"a\" is its own ancestor"},
      {R"({"nodes": [{"id": "r"}, {"id": "s"}]})", "node \"r\" and node \"s\" both have no parent"},
      {R"({"nodes": [{"id": "r"}, {"id": "a", "parent": "r"}, {"id": "b", "parent": "r", "label": 0}]})",
       "node \"a\" has neither children nor a label"},
      {R"({"nodes": [{"id": "r", "label": 0}, {"id": "a", "parent": "r", "label": 1}]})",
       "node \"r\" has label 0 although it has children"},
      {R"({"nodes": [{"id": "r"}, {"id": "a", "parent": "r", "label": 0}, {"id": "b", "parent": "r", "label": 0}]})",
       "node \"a\" and node \"b\" both have label 0"},
      {R"({"nodes": [{"id": "r"}, {"id": "a", "parent": "r", "label": 0}, {"id": "b", "parent": "r", "label": 2}]})",
       "node \"b\" has label 2, but 2 leaves"},
      {R"({"nodes": [{"id": "r"}, {"id": "a", "parent": "r", "label": -1}]})",
       "key \"label\" must be a whole number"},
      {R"({"nodes": [{"id": "r"}, {"id": "a", "parent": "r", "label": 18446744073709551615}]})",
       "key \"label\" must be a whole number"},
      {R"({"nodes": [{"id": "r"}, {"id": "a", "parent": "r", "label": "0"}]})",
       "key \"label\" must be"},
      {R"({"nodes": [{"id": "r"}, {"id": "a", "parent": "r", "label": 0, "length": -1}]})",
       "must not be negative"},
      {R"({"nodes": [{"id": "r"}, {"id": "a", "parent": "r", "label": 0, "length": "1"}]})",
       "finite number"},
      {R"({"children": {"a": 1}})", "key \"children\" must be an array"},
      {R"({"children": [{"label": 0}, {"lable": 1}]})", "/children[1]: unknown key \"lable\""},
      {R"({"children": [{"label": 0}, {"length": 1}]})",
       "node /children[1] has neither children nor a label"},
      {R"({"children": []})", "between 2 and"},
  };
  for (const auto& bad : cases) {
    const auto path = dir.WriteText("t.json", bad.text);
    EXPECT_THAT(MessageOf<FileError>([&] { ReadTreeJson(path); }),
                AllOf(HasSubstr("t.json"), HasSubstr(bad.reason)))
        << bad.text;
  }
  for (const auto& [levels, reason] :
       {std::pair(270, "more than 256 levels"), std::pair(5000, "nested deeper than")}) {
    std::string deep;
    for (int k = 0; k < levels; ++k) deep += "{\"children\":[";
    deep += "{\"label\":0}";
    for (int k = 0; k < levels; ++k) deep += "]}";
    EXPECT_THAT(MessageOf<FileError>([&] { ReadTreeJson(dir.WriteText("deep.json", deep)); }),
                HasSubstr(reason));
  }
  EXPECT_THROW(ReadTreeJson(dir / "missing.json"), FileError);
  EXPECT_THROW(ReadTreeJson(dir.path()), FileError);
}

}  // namespace
}  // namespace submarine::internal
