#include "submarine/base/aligned_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace submarine::internal {
namespace {

// Sizes on both sides of where huge pages begin; all bytes and the slack behind them are ours.
TEST(AlignedMemoryTest, IsAlignedAndReadableBeyondItsEnd) {
  for (std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{1000}, (std::size_t{16} << 20) - 1,
        std::size_t{16} << 20, (std::size_t{33} << 20) + 12345}) {
    void* memory = AllocateAligned(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U) << bytes;
    std::memset(memory, 0x5a, bytes + 64);
    EXPECT_EQ(static_cast<const unsigned char*>(memory)[bytes + 63], 0x5a) << bytes;
    FreeAligned(memory, bytes);
  }
}

TEST(AlignedMemoryTest, ServesVectorsThatGrow) {
  std::vector<int, AlignedAllocator<int>> values;
  constexpr int kCount = 6'000'000;  // large enough for huge pages
  for (int k = 0; k < kCount; ++k) values.push_back(k);
  for (int k = 0; k < kCount; k += 1009) ASSERT_EQ(values[static_cast<std::size_t>(k)], k);
}

}  // namespace
}  // namespace submarine::internal
