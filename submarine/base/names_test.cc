#include "submarine/base/names.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace submarine::internal {
namespace {

using namespace std::string_view_literals;

TEST(NearestName, IsTheOneThatWasMeant) {
  constexpr std::array kNames = {"--bilateral"sv, "--position"sv, "--max-memory"sv, "--gap"sv};
  EXPECT_EQ(NearestName("--bilatral", kNames), "--bilateral");
  EXPECT_EQ(NearestName("--positoin", kNames), "--position");
  EXPECT_EQ(NearestName("--max-mem", kNames), "--max-memory");
  EXPECT_EQ(NearestName("--gp", kNames), "--gap");
  EXPECT_EQ(NearestName("--colour", kNames), "");
  EXPECT_EQ(NearestName("", kNames), "");
  EXPECT_EQ(NearestName("--gap", {}), "");
}

}  // namespace
}  // namespace submarine::internal
