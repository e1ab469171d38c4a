// What `auto` decides about a sparse solve, and what is refused before it starts: pure functions of sizes
// and of the time that is left.
#pragma once

#include "submarine/solve/times.h"

namespace submarine {

// The method whose bound is the tightest that the time allows; kAuto where there is none, not even for the
// first bound of one, so that the unaries have to do.
Method ChooseSparse(const SparseSize& size, double temperature, double left);

// Throws TooLarge, with the number, what is left and what would do, unless the method's first bound fits.
void RequireTime(Method method, const SparseSize& size, double temperature, double left);

}  // namespace submarine
