#include "submarine/base/aligned_memory.h"

#include <cstdint>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace submarine {
namespace {

constexpr std::align_val_t kCacheLine{64};
constexpr std::align_val_t kHugePage{std::size_t{2} << 20};
constexpr std::size_t kSlack = 64;

// One huge page. The tail of an array beyond its last whole huge page uses small pages, so only
// address space is wasted.
constexpr std::size_t kLarge = std::size_t{2} << 20;

std::align_val_t Alignment(std::size_t bytes) { return bytes >= kLarge ? kHugePage : kCacheLine; }

#ifdef __linux__
// Of the whole pages.
void AdvisePages(void* begin, std::size_t bytes, int advice) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t skipped = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  if (bytes < skipped + page) return;
  madvise(static_cast<char*>(begin) + skipped, (bytes - skipped) / page * page, advice);
}
#endif

}  // namespace

void* AllocateAligned(std::size_t bytes) {
  void* memory = ::operator new(bytes + kSlack, Alignment(bytes));
#ifdef __linux__
  // Only advice: a system without huge pages uses small ones.
  if (bytes >= kLarge) madvise(memory, bytes + kSlack, MADV_HUGEPAGE);
#endif
  return memory;
}

void FreeAligned(void* memory, std::size_t bytes) { ::operator delete(memory, Alignment(bytes)); }

void DiscardPages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef __linux__
  AdvisePages(begin, bytes, MADV_DONTNEED);
#endif
}

void UseSmallPages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef __linux__
  AdvisePages(begin, bytes, MADV_NOHUGEPAGE);
#endif
}

}  // namespace submarine
