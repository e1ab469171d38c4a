#include "submarine/io/file/json_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/io/model/dense_bundle.h"
#include "submarine/io/model/grid_bundle.h"
#include "submarine/io/model/tree_spec.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Repeated(std::string_view part, int count) {
  std::string text;
  for (int k = 0; k < count; ++k) text += part;
  return text;
}

std::string NestedLists(int depth) { return Repeated("[", depth) + "1" + Repeated("]", depth); }

class JsonFileTest : public ::testing::Test {
 protected:
  nlohmann::json Read(std::string_view text) {
    return ReadJsonFile(dir_.WriteText("f.json", text));
  }
  std::string Refusal(std::string_view text) {
    return MessageOf<FileError>([&] { Read(text); });
  }
  TempDir dir_;
};

TEST_F(JsonFileTest, ReadsEveryKindOfValue) {
  const nlohmann::json json =
      Read(R"({"a": [1, -2, 2.5, 1e-3, true, false, null], "b": {"a": "x\u00e9"}, "c": []})");
  EXPECT_EQ(json["a"].size(), 7u);
  EXPECT_EQ(json["a"][3], 1e-3);
  EXPECT_EQ(json["b"]["a"], "x\u00e9");
  EXPECT_THAT(Refusal(R"({"a": 1, "b": {"c": 1, "a": 2, "c": 3}})"), HasSubstr("key \"c\" twice"));
}

TEST_F(JsonFileTest, ErrorsNameThePlaceAndDoNotRepeatTheFile) {
  EXPECT_THAT(Refusal("{\"a\": 1,\n  secret:x}"),
              AllOf(HasSubstr("f.json:2:3"), HasSubstr("not valid JSON"), Not(HasSubstr("sec"))));
  EXPECT_THAT(Refusal("root:x:0:0:root"), AllOf(HasSubstr("f.json:1:"), Not(HasSubstr("'r"))));
  EXPECT_THAT(Refusal("[1, 2"), HasSubstr("expected ']'"));
}

// Whatever walks a value recursively would run out of stack.
TEST_F(JsonFileTest, DeepNestingIsRefusedWhileParsing) {
  EXPECT_EQ(Read(NestedLists(500)).size(), 1u);
  for (const int depth : {1000, 100'000, 3'000'000}) {
    EXPECT_THAT(Refusal(NestedLists(depth)), AllOf(HasSubstr("f.json"), HasSubstr("nested")));
    EXPECT_THAT(Refusal(Repeated("[", depth)), HasSubstr("nested"));
  }
  const std::string objects = Repeated("{\"submarine\":", 50'000) + "1" + Repeated("}", 50'000);
  EXPECT_THAT(Refusal(objects), HasSubstr("nested"));
  const auto file =
      dir_.WriteText("m.json", R"({"submarine": "grid", "width": )" + NestedLists(100'000) + "}");
  EXPECT_THAT(MessageOf<FileError>([&] { ReadBundle(file); }), HasSubstr("nested"));
  EXPECT_THAT(MessageOf<FileError>([&] { ReadBundleKind(dir_.WriteText("m.json", objects)); }),
              HasSubstr("nested"));
  const std::string tree = Repeated("{\"children\":[", 100'000) + Repeated("]}", 100'000);
  EXPECT_THAT(MessageOf<FileError>([&] { ReadTreeJson(dir_.WriteText("t.json", tree)); }),
              HasSubstr("nested"));
}

TEST_F(JsonFileTest, QuotesOnlyTheBeginningOfAValue) {
  const auto refusal = [&](std::string_view value) {
    const nlohmann::json json = Read(std::string("{\"a\": ") + std::string(value) + "}");
    const JsonFields fields(json, "f", {"a"});
    return MessageOf<FileError>([&] { fields.Refuse("a", "must be b"); });
  };
  EXPECT_EQ(refusal("3.5"), "f: key \"a\" must be b, but is \"3.5\"");
  EXPECT_EQ(refusal(R"([1, {"x": null, "y": [true]}, "z"])"),
            R"(f: key "a" must be b, but is "[1,{"x":null,"y":[true]},"z"]")");
  const std::string begin = "f: key \"a\" must be b, but is \"";
  EXPECT_EQ(refusal("[" + Repeated("12345,", 1000) + "1]"),
            begin + "[12345,12345,12345,12345,12345,12345,123...\"");
  EXPECT_EQ(refusal("\"" + Repeated("long", 100'000) + "\""),
            begin + "\"longlonglonglonglonglonglonglonglonglon...\"");
  EXPECT_EQ(refusal(NestedLists(500)), begin + Repeated("[", 40) + "...\"");
  // Cut inside a letter of two bytes.
  EXPECT_EQ(refusal("\"" + Repeated("\u00e9", 100) + "\"").size(), begin.size() + 44);
}

// 240,000 objects took 22 s when the time grew as the square of their number.
TEST_F(JsonFileTest, TimeGrowsWithTheSize) {
  const std::string list = "[" + Repeated("{},", 239'999) + "{}]";
  const std::clock_t begin = std::clock();
  EXPECT_EQ(Read(list).size(), 240'000u);
  const auto file = dir_.WriteText("d.json", R"({"submarine":"dense","width":1,"height":1,)"
                                             R"("labels":2,"kernels":)" +
                                                 list + "}");
  EXPECT_EQ(ReadBundleKind(file), "dense");
  EXPECT_THAT(MessageOf<FileError>([&] { ReadDenseBundle(file); }),
              AllOf(HasSubstr("at most 64"), HasSubstr("240000")));
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 10.0);
}

TEST_F(JsonFileTest, TooMuchIsRefusedWithTheNumber) {
  EXPECT_THAT(Refusal("[" + Repeated("1,", 4'000'000) + "1]"), HasSubstr("4000000 values"));
  const std::string padding = Repeated(" ", 2 << 20);
  const auto file = dir_.WriteText("m.json", R"({"submarine": "grid"})" + padding);
  for (const auto read : {+[](const std::filesystem::path& p) { ReadBundle(p); },
                          +[](const std::filesystem::path& p) { ReadDenseBundle(p); },
                          +[](const std::filesystem::path& p) { ReadBundleKind(p); }}) {
    EXPECT_THAT(MessageOf<FileError>([&] { read(file); }),
                AllOf(HasSubstr("m.json"), HasSubstr("1048576 bytes")));
  }
  EXPECT_THAT(MessageOf<FileError>(
                  [&] { ReadTreeJson(dir_.WriteText("t.json", padding + padding + " ")); }),
              HasSubstr("4194304 bytes"));
}

}  // namespace
}  // namespace submarine::internal
