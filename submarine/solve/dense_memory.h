// What a dense solve will hold at most, before it starts.
#pragma once

#include <span>

#include "submarine/filter/gaussian_kernel.h"
#include "submarine/solve/method.h"
#include "submarine/solve/times.h"

namespace submarine {

struct DenseMemory {
  double model = 0.0;     // unaries and features, which the caller holds
  double pairs = 0.0;     // lists, their sample, lattices
  double matrices = 0.0;  // marginals, potentials, costs and evidence of the solvers
  double verifier = 0.0;  // what certifying adds to model, pairs and evidence

  double Peak() const;
};

// `pair_bytes` is what the operator takes (NeighbourList::EstimateBytes, or a lattice's).
DenseMemory EstimateDenseMemory(const DenseSize& size, std::span<const WeightedKernel> kernels,
                                Method method, double pair_bytes, bool lists);

// Throws TooLarge, with the number, the limit and what would fit, unless the estimate fits.
void RequireMemory(const DenseMemory& memory, double max_bytes);

}  // namespace submarine
