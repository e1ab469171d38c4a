// Memory for large arrays of numbers.
#pragma once

#include <cstddef>
#include <new>

namespace submarine {

// Aligned to 64 bytes: a cache line, and the widest SIMD register in use. 64 more bytes are
// allocated beyond the end, so that kernels may load (not store) a whole register at the end of the
// last row. Large arrays ask for huge pages: with small ones, access to rows out of order spends
// more time on address translation than on the values, and new memory costs one page fault per 4
// KiB instead of one per 2 MiB. Throws std::bad_alloc. Pass the same `bytes` to both functions.
void* AllocateAligned(std::size_t bytes);
void FreeAligned(void* memory, std::size_t bytes);

// Gives the whole pages among the bytes from `begin` on back to the system, where that is possible.
// They stay allocated, but what they held is lost.
void DiscardPages(void* begin, std::size_t bytes);

// Has the whole pages among the bytes from `begin` on, not yet written to, come one by one as they are
// written, where that is possible, instead of 2 MiB at a time.
void UseSmallPages(void* begin, std::size_t bytes);

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  // NOLINTNEXTLINE(google-explicit-constructor): allocators convert
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(AllocateAligned(n * sizeof(T))); }
  void deallocate(T* p, std::size_t n) { FreeAligned(p, n * sizeof(T)); }
  bool operator==(const AlignedAllocator&) const = default;
};

// Leaves new elements uninitialised: an array that several threads are about to fill need not first
// be zeroed, one page fault after the other, by a single thread.
template <class T>
struct UninitialisedAllocator : AlignedAllocator<T> {
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
};

}  // namespace submarine
