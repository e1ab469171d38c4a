// The operator that a dense solve applies its pairs with: planned for the limits, built when it is first needed, and freed
// before certificates are made.
#pragma once

#include "submarine/solve/candidate/dense_state.h"

namespace submarine::internal {

// False if it was stopped before the operator was built, or there is no time for a first bound by it. Throws TooLarge for
// what the limits have no room for.
bool UsePairs(DenseState* state);
// Room for the verifiers, which build pairs of their own.
void FreePairs(DenseState* state);

// Before kernels are normalised, which may take a minute: whether all the rest will fit. The time is planned when it is
// known what normalising has left.
void RequireMemoryFor(const DenseCrf& model, const SolveOptions& options,
                      const DenseMethodTraits& traits);

}  // namespace submarine::internal
