#include "submarine/solve/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

TEST(RegistryTest, EveryMethodHasItsRow) {
  std::set<std::string_view> names;
  for (const MethodInfo& info : Methods()) {
    EXPECT_EQ(InfoOf(info.method).name, info.name);
    EXPECT_TRUE(info.sparse || info.tables || info.dense) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
    names.insert(info.name);
  }
  EXPECT_EQ(names.size(), Methods().size());
}

TEST(RegistryTest, WhatRunsHasWhatItsLimitsNeed) {
  for (const MethodInfo& info : Methods()) {
    const MethodEntry& entry = EntryOf(info.method);
    EXPECT_EQ(entry.method, info.method) << info.name;
    EXPECT_EQ(entry.sparse.run != nullptr, info.sparse) << info.name;
    EXPECT_EQ(entry.tables != nullptr, info.tables) << info.name;
    EXPECT_EQ(entry.dense.run != nullptr, info.dense) << info.name;
    if (info.method == Method::kExact) continue;  // has limits of its own
    if (info.sparse && info.method != Method::kAuto) {
      EXPECT_NE(entry.sparse.first_bound.work, SparseWork::kUnaries) << info.name;
    }
    if (info.dense) {
      EXPECT_NE(entry.dense.chain, nullptr) << info.name;
      EXPECT_GT(entry.dense.memory.solving.labels, 0.0) << info.name;
      EXPECT_GT(entry.dense.memory.evidence.labels, 0.0) << info.name;
    }
  }
}

TEST(RegistryTest, RefusalsNameWhatIsAccepted) {
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

TEST(RegistryTest, HelpIsAboutTheKindAskedFor) {
  EXPECT_THAT(MethodHelp(), ::testing::HasSubstr("bcfw: "));
  EXPECT_THAT(MethodHelp(ModelKind::kDense), ::testing::Not(::testing::HasSubstr("bcfw")));
}

}  // namespace
}  // namespace submarine::internal
