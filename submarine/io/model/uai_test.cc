#include "submarine/io/model/uai.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "submarine/base/error.h"
#include "submarine/io/file/io_test_util.h"
#include "submarine/io/model/uai_results_test_util.h"

namespace submarine::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ReadUaiMar;
using testing::ReadUaiPr;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr char kSmall[] = "MARKOV\n2\n2 3\n2\n1 0\n2 0 1\n\n2\n 0.25 1\n\n6\n 1 2 0\n 4 5 6\n";

// Z and unnormalised marginals by enumeration.
struct Enumerated {
  double z = 0.0;
  Marginals marginals;
};

Enumerated Enumerate(const FactorGraph& graph) {
  Enumerated result;
  for (const int k : graph.cardinality)
    result.marginals.emplace_back(static_cast<std::size_t>(k), 0.0);
  std::vector<int> x(graph.cardinality.size(), 0);
  for (bool more = true; more;) {
    const double weight = std::exp(-Energy(graph, x));
    result.z += weight;
    for (std::size_t a = 0; a < x.size(); ++a)
      result.marginals[a][static_cast<std::size_t>(x[a])] += weight;
    more = false;
    for (std::size_t a = 0; a < x.size() && !more; ++a) {
      more = ++x[a] < graph.cardinality[a];
      if (!more) x[a] = 0;
    }
  }
  return result;
}

TEST(Uai, ReadsModelLastVariableFastest) {
  const TempDir dir;
  const FactorGraph graph = ReadUai(dir.WriteText("m.uai", kSmall));
  EXPECT_NO_THROW(Validate(graph));
  EXPECT_THAT(graph.cardinality, ElementsAre(2, 3));
  ASSERT_EQ(graph.factors.size(), 2u);
  EXPECT_THAT(graph.factors[0].scope, ElementsAre(0));
  EXPECT_THAT(graph.factors[0].energy, ElementsAre(std::log(4.0), 0.0));
  EXPECT_THAT(graph.factors[1].scope, ElementsAre(0, 1));
  EXPECT_THAT(graph.factors[1].energy, ElementsAre(0.0, -std::log(2.0), kInf, -std::log(4.0),
                                                   -std::log(5.0), -std::log(6.0)));
  // Z = .25 (1 + 2 + 0) + 1 (4 + 5 + 6)
  EXPECT_NEAR(Enumerate(graph).z, 15.75, 1e-12);
}

TEST(Uai, BayesIsTheProductOfItsTables) {
  const TempDir dir;
  // P(0) = (.2, .8), P(1|0) rows (.5, .5), (.1, .9)
  const FactorGraph graph =
      ReadUai(dir.WriteText("b.uai", "BAYES 2 2 2 2 1 0 2 0 1 2 .2 .8 4 .5 .5 .1 .9"));
  const Enumerated exact = Enumerate(graph);
  EXPECT_NEAR(exact.z, 1.0, 1e-12);
  EXPECT_NEAR(exact.marginals[1][0], 0.2 * 0.5 + 0.8 * 0.1, 1e-12);
}

TEST(Uai, EmptyScopesAndNoFactors) {
  const TempDir dir;
  const FactorGraph constant = ReadUai(dir.WriteText("c.uai", "MARKOV 1 2 1 0 1 8"));
  EXPECT_THAT(constant.factors[0].energy, ElementsAre(-std::log(8.0)));
  EXPECT_TRUE(ReadUai(dir.WriteText("n.uai", "MARKOV 1 2 0")).factors.empty());
}

struct BadModel {
  const char* text;
  const char* line;
  const char* reason;
};

TEST(Uai, BadModelsAreRefusedWithFileAndLine) {
  const TempDir dir;
  const BadModel cases[] = {
      {"", ":1:", "the file ends"},
      {"  \n\n", ":3:", "the file ends"},
      {"GARBAGE\x01\x02", ":1:", "MARKOV or BAYES"},
      {"MARKOV\n0", ":2:", "number of variables"},
      {"MARKOV\n-3", ":2:", "number of variables"},
      {"MARKOV\ntwo", ":2:", "whole number"},
      {"MARKOV\n2000000000\n2 2", ":2:", "claims 2000000000 variables"},
      {"MARKOV\n99999999999999999999", ":2:", "between"},
      {"MARKOV\n1\n0\n0", ":3:", "cardinality"},
      {"MARKOV\n1\n2000000000\n0", ":3:", "cardinality"},
      {"MARKOV\n1\n2\n2000000000", ":4:", "claims 2000000000 factors"},
      {"MARKOV\n1\n2\n1\n1 1\n2 1 1", ":5:", "variable of a scope is 1"},
      {"MARKOV\n1\n2\n1\n1 -1\n2 1 1", ":5:", "variable of a scope is -1"},
      {"MARKOV\n1\n2\n1\n2 0 0\n2 1 1", ":5:", "size of a scope is 2"},
      {"MARKOV\n2\n2 2\n1\n2 1 1\n4\n1 1 1 1",
       ":5:", "variable 1 appears twice in the scope of factor 0"},
      {"MARKOV\n1\n2\n1\n1 0\n\n3\n1 1 1", ":7:", "3 entries, but its scope has 2 joint states"},
      {"MARKOV\n1\n2\n1\n1 0\n\n2\n1", ":7:", "claims 2 entries in a table"},
      {"MARKOV\n1\n2\n1\n1 0\n\n2\n1    ", ":8:", "the file ends"},
      {"MARKOV\n1\n2\n1\n1 0\n\n2\n1 -1", ":8:", "not negative"},
      {"MARKOV\n1\n2\n1\n1 0\n\n2\n1 nan", ":8:", "finite"},
      {"MARKOV\n1\n2\n1\n1 0\n\n2\n1\ninf", ":9:", "finite"},
      {"MARKOV\n1\n2\n1\n1 0\n\n2\n1 x", ":8:", "a number, but found \"x\""},
      {"MARKOV\n1\n2\n1\n1 0\n\n2\n1 1\n7", ":9:", "where the file should end"},
      {"MARKOV\n3\n1000000 1000000 1000000\n1\n3 0 1 2\n1000000000000000000\n1 1", ":6:", "claims"},
      {"MARKOV\n4\n1000000 1000000 1000000 1000000\n1\n4 0 1 2 3\n5\n1 1 1 1 1",
       ":6:", "joint states"},
  };
  for (const BadModel& bad : cases) {
    const auto path = dir.WriteText("bad.uai", bad.text);
    EXPECT_THAT(MessageOf<FileError>([&] { ReadUai(path); }),
                AllOf(HasSubstr(std::string("bad.uai") + bad.line), HasSubstr(bad.reason)))
        << bad.text;
  }
}

TEST(Uai, EveryTruncationIsRefused) {
  const std::string_view whole = kSmall;
  for (std::size_t size = 0; size + 2 < whole.size(); ++size) {  // the last entry has one digit
    EXPECT_THROW(ParseUai(whole.substr(0, size), "cut.uai"), FileError) << size;
  }
}

TEST(Uai, DamagedFilesNeverDoMoreThanThrow) {
  std::mt19937_64 random(7);
  int accepted = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = kSmall;
    for (int k = 0; k < 3; ++k) {
      text[random() % text.size()] = "0123456789 -.\nxe"[random() % 16];
    }
    FactorGraph graph;
    try {
      graph = ParseUai(text, "fuzz");
    } catch (const FileError&) {
      continue;
    }
    ++accepted;
    EXPECT_NO_THROW(Validate(graph)) << text;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 5000);
}

TEST(Uai, WritesWhatItReads) {
  const TempDir dir;
  FactorGraph graph;
  graph.cardinality = {2, 3, 1};
  graph.factors = {
      {{1, 0}, {0.0, 1.5, -2.25, 700.0, 2000.0, -3000.0}}, {{}, {0.125}}, {{2}, {kInf}}};
  WriteUai(dir / "w.uai", graph);
  const FactorGraph back = ReadUai(dir / "w.uai");
  EXPECT_EQ(back.cardinality, graph.cardinality);
  ASSERT_EQ(back.factors.size(), 3u);
  for (std::size_t f = 0; f < 3; ++f) {
    EXPECT_EQ(back.factors[f].scope, graph.factors[f].scope);
    ASSERT_EQ(back.factors[f].energy.size(), graph.factors[f].energy.size());
    for (std::size_t k = 0; k < back.factors[f].energy.size(); ++k) {
      EXPECT_DOUBLE_EQ(back.factors[f].energy[k], graph.factors[f].energy[k]);
    }
  }
}

TEST(Uai, EnergiesComeBackToTheLastBit) {
  const TempDir dir;
  std::mt19937_64 random(11);
  FactorGraph graph;
  graph.cardinality = {4000};
  graph.factors = {{{0}, {}}};
  for (int k = 0; k < 4000; ++k) {
    const double size =
        std::exp(std::uniform_real_distribution<>(std::log(1e-3), std::log(1e4))(random));
    graph.factors[0].energy.push_back(k % 2 == 0 ? size : -size);
  }
  WriteUai(dir / "w.uai", graph);
  EXPECT_EQ(ReadUai(dir / "w.uai").factors[0].energy, graph.factors[0].energy);
}

TEST(Uai, WriterRefusesWhatTheFormatCannotHold) {
  const TempDir dir;
  FactorGraph graph;
  graph.cardinality = {2};
  graph.factors = {{{0}, {0.0, 1e6}}};
  EXPECT_THAT(MessageOf<NotExpressible>([&] { WriteUai(dir / "w.uai", graph); }),
              HasSubstr("factor 0"));
  graph.factors = {{{0}, {0.0}}};
  EXPECT_THROW(WriteUai(dir / "w.uai", graph), InvalidInput);
  EXPECT_EQ(dir.NumFiles(), 0);
  EXPECT_THROW(WriteUai(dir / "no/w.uai", FactorGraph{{2}, {}}), FileError);
}

TEST(UaiEvidence, BothForms) {
  const TempDir dir;
  const auto read = [&](const char* text) {
    std::vector<std::pair<int, int>> pairs;
    for (const auto& [variable, value] : ReadUaiEvidence(dir.WriteText("e.evid", text))) {
      pairs.emplace_back(variable, value);
    }
    return pairs;
  };
  using Pairs = std::vector<std::pair<int, int>>;
  EXPECT_EQ(read("0"), Pairs{});
  EXPECT_EQ(read("2 0 1 5 0\n"), (Pairs{{0, 1}, {5, 0}}));
  EXPECT_EQ(read("1\n2 0 1 5 0\n"), (Pairs{{0, 1}, {5, 0}}));
  EXPECT_EQ(read("1\n0\n"), Pairs{});
  EXPECT_EQ(read("1 3 2"), (Pairs{{3, 2}}));
}

TEST(UaiEvidence, BadFilesAreRefused) {
  const TempDir dir;
  for (const char* text : {"", "2 0 1", "1 0 1 1", "3\n1 0 1\n1 0 1\n1 0 1", "x", "1 0 -1",
                           "1 0 1.5", "2000000000 0 1", "1\n2000000000 0 1"}) {
    const auto path = dir.WriteText("e.evid", text);
    EXPECT_THAT(MessageOf<FileError>([&] { ReadUaiEvidence(path); }), HasSubstr("e.evid:")) << text;
  }
  EXPECT_THROW(ReadUaiEvidence(dir / "missing"), FileError);
}

TEST(UaiEvidence, ConditionsTheModel) {
  const TempDir dir;
  FactorGraph graph = ReadUai(dir.WriteText("m.uai", kSmall));
  ApplyEvidence(graph, std::vector<Observation>{{1, 2}, {1, 2}});
  const Enumerated exact = Enumerate(graph);
  EXPECT_NEAR(exact.z, 6.0, 1e-12);  // .25 * 0 + 1 * 6
  EXPECT_DOUBLE_EQ(exact.marginals[1][0], 0.0);
}

TEST(UaiEvidence, MustFitTheModel) {
  const TempDir dir;
  FactorGraph graph = ReadUai(dir.WriteText("m.uai", kSmall));
  const auto message = [&](std::vector<Observation> evidence) {
    return MessageOf<InvalidInput>([&] { ApplyEvidence(graph, evidence); });
  };
  EXPECT_THAT(message({{2, 0}}), HasSubstr("names variable 2"));
  EXPECT_THAT(message({{-1, 0}}), HasSubstr("names variable -1"));
  EXPECT_THAT(message({{1, 3}}), HasSubstr("sets variable 1 to 3"));
  EXPECT_THAT(message({{0, 0}, {0, 1}}), HasSubstr("sets variable 0 to 0 and to 1"));
  EXPECT_EQ(graph.factors.size(), 2u);  // nothing was applied
}

TEST(UaiResults, RoundTripInTheFormOfTheCompetition) {
  const TempDir dir;
  WriteUaiPr(dir / "m.PR", 2.0 * std::numbers::ln10);
  EXPECT_EQ(dir.Text("m.PR"), "PR\n2\n");
  WriteUaiPr(dir / "m.PR", -17.539040911493);
  EXPECT_DOUBLE_EQ(ReadUaiPr(dir / "m.PR"), -17.539040911493);
  const Marginals marginals = {{0.25, 0.75}, {1.0 / 3.0, 1e-9, 2.0 / 3.0 - 1e-9}};
  WriteUaiMar(dir / "m.MAR", marginals);
  EXPECT_THAT(dir.Text("m.MAR"), ::testing::StartsWith("MAR\n2 2 0.25 0.75 3 0.333"));
  EXPECT_EQ(ReadUaiMar(dir / "m.MAR"), marginals);
  WriteUaiMar(dir / "x.MAR", Matrix<double>(2, 2, 0.5));
  EXPECT_EQ(dir.Text("x.MAR"), "MAR\n2 2 0.5 0.5 2 0.5 0.5\n");
}

TEST(UaiResults, BadOnesAreRefused) {
  const TempDir dir;
  EXPECT_THROW(WriteUaiPr(dir / "w", std::nan("")), InvalidInput);
  EXPECT_THROW(WriteUaiMar(dir / "w", Marginals{{0.5, std::nan("")}}), InvalidInput);
  EXPECT_THROW(WriteUaiMar(dir / "w", Marginals{{1.5, -0.5}}), InvalidInput);
  EXPECT_FALSE(std::filesystem::exists(dir / "w"));
}

}  // namespace
}  // namespace submarine::internal
