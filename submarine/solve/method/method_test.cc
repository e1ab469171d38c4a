#include "submarine/solve/method/method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "submarine/base/error.h"
#include "submarine/solve/registry.h"

namespace submarine::internal {
namespace {

TEST(MethodTest, EveryMethodHasItsRow) {
  std::set<std::string_view> names;
  for (const MethodInfo& info : Methods()) {
    EXPECT_EQ(InfoOf(info.method).name, info.name);
    EXPECT_TRUE(info.sparse || info.tables || info.dense) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
    names.insert(info.name);
  }
  EXPECT_EQ(names.size(), Methods().size());
}

// What the table of names accepts is what the table of solvers has a function for.
TEST(MethodTest, EveryMethodRunsWhatItAccepts) {
  for (const MethodInfo& info : Methods()) {
    const MethodSolvers& solvers = SolversOf(info.method);
    EXPECT_EQ(solvers.method, info.method) << info.name;
    EXPECT_EQ(solvers.sparse != nullptr, info.sparse) << info.name;
    EXPECT_EQ(solvers.tables != nullptr, info.tables) << info.name;
    EXPECT_EQ(solvers.dense != nullptr, info.dense) << info.name;
  }
}

TEST(MethodTest, RefusalsNameWhatIsAccepted) {
  EXPECT_NO_THROW(RequireAccepted(Method::kAuto, ModelKind::kDense));
  try {
    RequireAccepted(Method::kTrw, ModelKind::kDense);
    FAIL() << "trw is not for dense models";
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("trw is not for dense models"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("quadratic"));
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("bcfw")));
  }
}

TEST(MethodTest, HelpIsAboutTheKindAskedFor) {
  EXPECT_THAT(MethodHelp(), ::testing::HasSubstr("bcfw: "));
  EXPECT_THAT(MethodHelp(ModelKind::kDense), ::testing::Not(::testing::HasSubstr("bcfw")));
}

}  // namespace
}  // namespace submarine::internal
