#pragma once

#include <vector>

namespace submarine::internal {

// Returns freed memory to the operating system, where the C library offers that. The phases of a
// solve hold different arrays; memory freed by one phase in pieces too small for the next would
// otherwise add to the peak. Takes milliseconds.
void ReturnFreedMemory();

// Empties a vector and frees its memory, which `= {}` keeps.
template <class T, class Allocator>
void Free(std::vector<T, Allocator>* values) {
  std::vector<T, Allocator>().swap(*values);
}

}  // namespace submarine::internal
