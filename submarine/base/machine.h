// What this machine has.
#pragma once

#include <cstddef>

namespace submarine::internal {

// Physical memory in bytes; 0 where the system does not say. A container may be allowed less.
std::size_t PhysicalMemoryBytes();

// How long it takes now to get this much new memory and to write to all of it. Where others use the machine,
// or a virtual one has to be given the memory first, it is many times what it takes otherwise.
double SecondsToTouch(std::size_t bytes);

}  // namespace submarine::internal
