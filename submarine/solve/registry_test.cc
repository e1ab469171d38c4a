#include "submarine/solve/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

TEST(RegistryTest, EveryMethodHasItsEntry) {
  for (int k = 0; k <= static_cast<int>(Method::kExact); ++k) {
    const auto has_it = [&](const MethodInfo& info) { return static_cast<int>(info.method) == k; };
    EXPECT_EQ(std::count_if(Methods().begin(), Methods().end(), has_it), 1) << k;
  }
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
    if (info.method == Method::kExact) continue;  // has limits of its own
    if (info.sparse && info.method != Method::kAuto) {
      EXPECT_NE(entry.sparse.first_bound.work, SparseWork::kUnaries) << info.name;
      EXPECT_GT(entry.sparse.memory.labels, 0.0) << info.name;
    }
    if (info.dense) {
      EXPECT_TRUE(entry.dense.chain != nullptr || info.method == Method::kRouted) << info.name;
      EXPECT_GT(entry.dense.traits.memory.solving.labels, 0.0) << info.name;
      EXPECT_GT(entry.dense.traits.memory.evidence.labels, 0.0) << info.name;
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
    EXPECT_THAT(error.what(), ::testing::HasSubstr("routed"));
    EXPECT_THAT(error.what(), ::testing::Not(::testing::HasSubstr("trw,")));
  }
}

TEST(RegistryTest, HelpIsAboutTheMethodsAskedFor) {
  const std::string help = MethodHelp(std::array{Method::kPdhg, Method::kFrankWolfe});
  EXPECT_TRUE(help.starts_with("pdhg: ")) << help;
  EXPECT_THAT(help, ::testing::HasSubstr("; fw: "));
  EXPECT_THAT(help, ::testing::Not(::testing::HasSubstr("trw")));
}

}  // namespace
}  // namespace submarine::internal
