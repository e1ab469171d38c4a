#pragma once

namespace submarine::internal {

// Gives memory that was freed back to the system, where that can be asked for. The phases of a solve hold different
// arrays; what one leaves in pieces too small for the next would otherwise add to its peak. Takes milliseconds.
void ReturnFreedMemory();

}  // namespace submarine::internal
