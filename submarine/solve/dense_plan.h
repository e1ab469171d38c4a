// How a dense solve keeps its limits, decided before it starts and before its unaries are known.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "submarine/filter/operator_choice.h"
#include "submarine/solve/solve.h"
#include "submarine/solve/times.h"

namespace submarine::internal {

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

struct DensePlan {
  OperatorOptions pairs;  // with a cutoff that the time limit has room for
  double estimated_bytes = 0.0;
  // Numbers of pairs at rising cutoffs, the first that of the list; empty where there is none.
  std::vector<std::pair<double, double>> known_pairs = {};
  std::vector<std::string> notes = {};
};

// Whether lists can hold all pairs of so few variables, and are built in no time.
bool HoldsAllPairs(const DenseSize& size);

// Throws TooLarge, with the number, what there is and what would do, for what does not fit into the memory
// of the options or into the time that is left. `size.pairs` is found here.
DensePlan PlanDense(DenseSize size, std::span<const WeightedKernel> kernels,
                    const SolveOptions& options, double seconds_left);

}  // namespace submarine::internal
