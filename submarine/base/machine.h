// What this machine has.
#pragma once

#include <cstddef>

namespace submarine::internal {

// Physical memory in bytes; 0 where the system does not say. A container may be allowed less.
std::size_t PhysicalMemoryBytes();

}  // namespace submarine::internal
