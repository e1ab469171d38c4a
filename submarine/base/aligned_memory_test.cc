#include "submarine/base/aligned_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <utility>
#include <vector>

namespace submarine::internal {
namespace {

#ifdef __linux__
std::size_t ResidentBytes() {
  std::size_t pages = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;  // of pages that are at least as large
}
#endif

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

TEST(AlignedMemoryTest, DiscardingPagesLeavesWhatIsAround) {
  std::mt19937 rng(3);
  for (const std::size_t bytes : {std::size_t{100'000}, std::size_t{5'000'000}}) {
    auto* memory = static_cast<unsigned char*>(AllocateAligned(bytes));
    std::uniform_int_distribution<std::size_t> place(0, bytes);
    for (int k = 0; k < 20; ++k) {
      std::memset(memory, 0x5a, bytes);
      const auto [begin, end] = std::minmax({place(rng), place(rng)});
      DiscardPages(memory + begin, end - begin);
      EXPECT_EQ(std::count(memory, memory + begin, 0x5a), static_cast<std::ptrdiff_t>(begin));
      EXPECT_EQ(std::count(memory + end, memory + bytes, 0x5a),
                static_cast<std::ptrdiff_t>(bytes - end));
    }
    FreeAligned(memory, bytes);
  }
}

#ifdef __linux__
TEST(AlignedMemoryTest, DiscardedPagesAreNoLongerHeld) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  constexpr std::size_t kMegabyte = std::size_t{1} << 20;
  auto* memory = static_cast<unsigned char*>(AllocateAligned(kBytes));
  std::memset(memory, 0x5a, kBytes);
  const std::size_t before = ResidentBytes();
  // As solvers do, a piece at a time.
  for (std::size_t k = 0; k < kBytes; k += kMegabyte) DiscardPages(memory + k, kMegabyte);
  EXPECT_LT(ResidentBytes() + kBytes / 2, before);
  FreeAligned(memory, kBytes);
}
#endif

TEST(AlignedMemoryTest, ServesVectorsThatGrow) {
  std::vector<int, AlignedAllocator<int>> values;
  constexpr int kCount = 6'000'000;  // large enough for huge pages
  for (int k = 0; k < kCount; ++k) values.push_back(k);
  for (int k = 0; k < kCount; k += 1009) ASSERT_EQ(values[static_cast<std::size_t>(k)], k);
}

}  // namespace
}  // namespace submarine::internal
