// Memory for large arrays of numbers.
#pragma once

#include <cstddef>
#include <new>

namespace submarine {

// 64-byte alignment: one cache line, the widest SIMD register in use. As many bytes are allocated
// beyond the end, so that kernels may load (not store) a whole register at the end of the last row.
// Large arrays ask for huge pages: rows met out of order would otherwise wait for address translation
// more than for their values, and fresh pages come one fault per 2 MiB instead of one per 4 KiB.
// Throws std::bad_alloc. `bytes` is the same in both calls.
void* AllocateAligned(std::size_t bytes);
void FreeAligned(void* memory, std::size_t bytes);

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

// Leaves what is allocated as it is: an array that several threads are about to fill need not be filled
// with zeros by one of them first, page by fresh page.
template <class T>
struct UninitialisedAllocator : AlignedAllocator<T> {
  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
};

}  // namespace submarine
