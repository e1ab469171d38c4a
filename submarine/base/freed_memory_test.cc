#include "submarine/base/freed_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace submarine::internal {
namespace {

TEST(FreeTest, LeavesNoMemory) {
  std::vector<double> values(1000);
  Free(&values);
  EXPECT_TRUE(values.empty());
  EXPECT_EQ(values.capacity(), 0U);
}

}  // namespace
}  // namespace submarine::internal
