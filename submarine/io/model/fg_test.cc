#include "submarine/io/model/fg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(Fg, ReordersTablesAndFillsInZeros) {
  const TempDir dir;
  // The entry of (x0, x1) has index x0 + 2 x1 in the file and 3 x0 + x1 here.
  const FactorGraph graph = ReadFg(
      dir.WriteText("a.fg", "# a comment\n1\n\n2\n0 1 # scope\n2 3\n5\n0 1\n1 2\n2 3\n3 4\n5 6\n"));
  EXPECT_NO_THROW(Validate(graph));
  EXPECT_THAT(graph.cardinality, ElementsAre(2, 3));
  ASSERT_EQ(graph.factors.size(), 1u);
  EXPECT_THAT(graph.factors[0].scope, ElementsAre(0, 1));
  EXPECT_THAT(graph.factors[0].energy,
              ElementsAre(0.0, DoubleEq(-std::log(3)), kInf, DoubleEq(-std::log(2)),
                          DoubleEq(-std::log(4)), DoubleEq(-std::log(6))));
}

TEST(Fg, ThreeVariablesInAnyOrder) {
  const TempDir dir;
  // Scope (2, 0, 1), cards (2, 3, 2): potential 1 + index.
  std::string text = "1\n\n3\n2 0 1\n2 3 2\n12\n";
  for (int k = 0; k < 12; ++k) text += std::to_string(k) + " " + std::to_string(k + 1) + "\n";
  const FactorGraph graph = ReadFg(dir.WriteText("a.fg", text));
  EXPECT_THAT(graph.cardinality, ElementsAre(3, 2, 2));
  for (int x2 = 0; x2 < 2; ++x2) {
    for (int x0 = 0; x0 < 3; ++x0) {
      for (int x1 = 0; x1 < 2; ++x1) {
        EXPECT_DOUBLE_EQ(Energy(graph, {x0, x1, x2}), -std::log(1 + x2 + 2 * x0 + 6 * x1));
      }
    }
  }
}

TEST(Fg, NumbersNobodyMentionsAreConstants) {
  const TempDir dir;
  const FactorGraph graph = ReadFg(dir.WriteText("a.fg", "1\n\n1\n3\n2\n2\n0 1\n1 2\n"));
  EXPECT_THAT(graph.cardinality, ElementsAre(1, 1, 1, 2));
}

TEST(Fg, BadFilesAreRefusedWithFileAndLine) {
  const TempDir dir;
  const struct {
    const char* text;
    const char* line;
    const char* reason;
  } cases[] = {
      {"", ":1:", "the file ends"},
      {"# only a comment", ":1:", "the file ends"},
      {"garbage", ":1:", "whole number"},
      {"0", ":1:", "number of factors is 0"},
      {"1000000000\n\n1", ":1:", "claims 1000000000 factors"},
      {"1\n\n2000000000\n0", ":3:", "claims"},
      {"1\n\n1\n2000000000\n2\n1\n0 1", ":4:", "far beyond"},
      {"1\n\n1\n-1\n2\n1\n0 1", ":4:", "number of a variable"},
      {"1\n\n2\n0 0\n2 2\n1\n0 1", ":4:", "appears twice"},
      {"1\n\n1\n0\n0\n1\n0 1", ":5:", "cardinality"},
      {"2\n\n1\n0\n2\n1\n0 1\n\n1\n0\n3\n1\n0 1", ":11:", "cardinality 3 here, but 2"},
      {"1\n\n1\n0\n2000000000\n1\n0 1", ":5:", "far larger"},
      {"1\n\n4\n0 1 2 3\n2000000000 2000000000 2000000000 2000000000\n1\n0 1", ":5:", "far larger"},
      {"1\n\n1\n0\n2\n3\n0 1 1 1 0 1", ":6:", "nonzero potentials is 3"},
      {"1\n\n1\n0\n2\n2\n0 1", ":6:", "claims"},
      {"1\n\n1\n0\n2\n1\n2 1", ":7:", "index of a potential"},
      {"1\n\n1\n0\n2\n2\n1 1\n1 1", ":8:", "twice"},
      {"1\n\n1\n0\n2\n1\n0 -1", ":7:", "not negative"},
      {"1\n\n1\n0\n2\n1\n0 nan", ":7:", "finite"},
      {"1\n\n1\n0\n2\n1\n0 1\n5", ":8:", "should end"},
      {"2\n\n1\n0\n2\n1\n0 1\n", ":8:", "the file ends"},
  };
  for (const auto& bad : cases) {
    const auto path = dir.WriteText("bad.fg", bad.text);
    EXPECT_THAT(MessageOf<FileError>([&] { ReadFg(path); }),
                AllOf(HasSubstr(std::string("bad.fg") + bad.line), HasSubstr(bad.reason)))
        << bad.text;
  }
  EXPECT_THROW(ReadFg(dir / "missing.fg"), FileError);
  EXPECT_THROW(ReadFg(dir.path()), FileError);
}

TEST(Fg, DamagedFilesNeverDoMoreThanThrow) {
  std::mt19937_64 random(7);
  int accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = "2\n\n2\n0 1\n2 3\n3\n0 .5\n3 2\n5 1.25\n\n1\n1\n3\n1\n2 4\n";
    for (int k = 0; k < 3; ++k) {
      text[random() % text.size()] = "0123456789 -.\nxe"[random() % 16];
    }
    FactorGraph graph;
    try {
      graph = ParseFg(text, "fuzz");
    } catch (const FileError&) {
      continue;
    }
    ++accepted;
    EXPECT_NO_THROW(Validate(graph)) << text;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 5000);
}

}  // namespace
}  // namespace submarine::internal
