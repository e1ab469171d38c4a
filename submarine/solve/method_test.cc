#include "submarine/solve/method.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "submarine/base/error.h"

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
