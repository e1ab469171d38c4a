// Properties of this machine.
#pragma once

#include <cstddef>

namespace submarine::internal {

// Physical memory in bytes; 0 where the system does not say. A container may be allowed less.
std::size_t PhysicalMemoryBytes();

// How long it takes at present to allocate this much memory and write to all of it: many times
// longer than usual where others use the machine, or where a virtual machine must be given the
// memory first.
double MeasuredNewMemorySeconds(std::size_t bytes);

}  // namespace submarine::internal
