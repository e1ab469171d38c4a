// What is known of a sparse solve before it starts, and what is refused then. Not public.
#pragma once

#include "submarine/solve/method/policy.h"

namespace submarine::internal {

// With what every method would take.
SparseView ViewOf(const SolveOptions& options, const SparseSize& size, double max_bytes);

// Throws TooLarge, stating what is needed, what is left and what would fit, unless the first bound of the method asked for
// fits; `auto` only needs memory for the bound of the unaries.
void RequireRoom(const SparseView& view);

}  // namespace submarine::internal
