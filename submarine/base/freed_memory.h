#pragma once

namespace submarine::internal {

// Returns freed memory to the operating system, where the C library offers that. The phases of a
// solve hold different arrays; memory freed by one phase in pieces too small for the next would
// otherwise add to the peak. Takes milliseconds.
void ReturnFreedMemory();

}  // namespace submarine::internal
