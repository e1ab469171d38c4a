// How a dense solve keeps its limits, decided before it starts and before its unaries are known.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "submarine/filter/operator_choice.h"
#include "submarine/solve/candidate/dense_state.h"
#include "submarine/solve/method/dense_memory.h"
#include "submarine/solve/method/options.h"
#include "submarine/solve/method/times.h"

namespace submarine::internal {

// Whether the variables are so few that lists hold all pairs, and are built in no time.
bool HoldsAllPairs(const DenseSize& size);

// Of the simplices that a variable lies in, over all lattices that kernels of some weight would have.
double NumCorners(std::span<const WeightedKernel> kernels);

// What is known of the call beside its options.
struct PlanInput {
  DenseMethodTraits method;  // what runs
  double seconds_left = std::numeric_limits<double>::infinity();
  bool normalises = false;  // the kernels are normalised, in a copy of the model
};

// Throws TooLarge, with the number, what there is and what would do, for what does not fit into the memory
// of the options or into the time that is left; `auto` is not refused for time, as unaries alone are a bound, and its plan
// says that there is none for pairs. `size.pairs` is found here. Kernels need not be normalised yet, but
// their `normalisation` must be kNone.
DensePlan PlanDense(DenseSize size, std::span<const WeightedKernel> kernels,
                    const SolveOptions& options, const PlanInput& situation);

}  // namespace submarine::internal
