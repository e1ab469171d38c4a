// Programs that use the library may call setlocale(), after which the C library reads and writes
// 1,5 where files have 1.5.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "submarine/io/file/io_test_util.h"
#include "submarine/io/file/json_file.h"
#include "submarine/io/model/fg.h"
#include "submarine/io/model/tree_spec.h"
#include "submarine/io/model/uai.h"
#include "submarine/io/model/uai_results_test_util.h"

namespace submarine::internal {
namespace {

using testing::ReadUaiMar;
using testing::ReadUaiPr;

// Sets a locale of decimal commas for the life of the object: an installed one, or one that
// localedef makes.
class CommaLocale {
 public:
  CommaLocale() {
    for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "fr_FR"}) {
      if (Set(name)) return;
    }
    const std::string command = fmt::format("localedef -i de_DE -f UTF-8 '{}' >/dev/null 2>&1",
                                            (directory_ / "de_DE.UTF-8").string());
    if (std::system(command.c_str()) != 0) return;
    ::setenv("LOCPATH", directory_.path().c_str(), 1);
    Set("de_DE.UTF-8");
    ::unsetenv("LOCPATH");
  }
  ~CommaLocale() { std::setlocale(LC_ALL, "C"); }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  bool works() const { return std::strtod("1,5", nullptr) == 1.5; }

 private:
  bool Set(const char* name) { return std::setlocale(LC_ALL, name) != nullptr && works(); }

  TempDir directory_;
};

class LocaleTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { comma_locale = std::make_unique<CommaLocale>(); }
  static void TearDownTestSuite() { comma_locale.reset(); }
  void SetUp() override {
    if (!comma_locale->works()) {
      GTEST_SKIP()
          << "NOT TESTED: no locale with decimal commas is installed, and localedef cannot "
             "make one";
    }
  }
  static std::unique_ptr<CommaLocale> comma_locale;
  TempDir dir_;
};

std::unique_ptr<CommaLocale> LocaleTest::comma_locale;

TEST_F(LocaleTest, UaiAndFgAreReadAsEverywhere) {
  const std::string potentials = "1.5 0.25 1.5e-400 2.5e-320";
  const FactorGraph uai = ParseUai("MARKOV 1 4 1 1 0 4 " + potentials, "t");
  const double energies[] = {-std::log(1.5), std::log(4.0), 400 * std::log(10.0) - std::log(1.5),
                             320 * std::log(10.0) - std::log(2.5)};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(uai.factors[0].energy[i], energies[i]);
  }
  const FactorGraph fg = ParseFg("1\n1\n0\n4\n4\n0 1.5\n1 0.25\n2 1.5e-400\n3 2.5e-320\n", "t");
  EXPECT_EQ(fg.factors[0].energy, uai.factors[0].energy);
}

TEST_F(LocaleTest, WhatIsWrittenIsReadBack) {
  const FactorGraph graph{{3}, {{{0}, {0.375, 750.125, 1000.0625}}}};
  WriteUai(dir_ / "a.uai", graph);
  EXPECT_EQ(dir_.Text("a.uai").find(','), std::string::npos);
  const FactorGraph back = ReadUai(dir_ / "a.uai");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(back.factors[0].energy[i], graph.factors[0].energy[i]);
  }
  WriteUaiPr(dir_ / "a.PR", -12.375);
  EXPECT_DOUBLE_EQ(ReadUaiPr(dir_ / "a.PR"), -12.375);
  WriteUaiMar(dir_ / "a.MAR", Marginals{{0.25, 0.75}});
  EXPECT_EQ(ReadUaiMar(dir_ / "a.MAR"), (Marginals{{0.25, 0.75}}));
}

TEST_F(LocaleTest, JsonAndTreesAreReadAsEverywhere) {
  const nlohmann::json json = ReadJsonFile(dir_.WriteText("a.json", "[1.5, -2.5e-3, 1e-320]"));
  EXPECT_EQ(json[0], 1.5);
  EXPECT_EQ(json[1], -2.5e-3);
  EXPECT_EQ(json[2], 1e-320);
  EXPECT_EQ(json.dump(), "[1.5,-0.0025,1e-320]");
  const LabelTree tree = ParseTreeSpec("(0:0.25,1:1.5)");
  EXPECT_EQ(tree.nodes()[1].length, 0.25);
  EXPECT_EQ(tree.nodes()[2].length, 1.5);
}

}  // namespace
}  // namespace submarine::internal
