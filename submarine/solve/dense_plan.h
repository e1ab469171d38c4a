// How a dense solve keeps its limits, decided before it starts and before its unaries are known.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "submarine/filter/operator_choice.h"
#include "submarine/solve/method/times.h"
#include "submarine/solve/registry.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {

struct DensePlan {
  OperatorOptions pairs;                 // with a cutoff that the time limit has room for
  std::vector<OperatorKind> kinds = {};  // of the kernels
  double estimated_bytes = 0.0;
  bool routes_listed =
      false;  // there is room for routing of listed pairs, which is in the estimate then
  // Numbers of pairs at rising cutoffs, the first that of the list; empty where there is none.
  std::vector<std::pair<double, double>> known_pairs = {};
  std::vector<std::string> notes = {};
};

// Whether lists can hold all pairs of so few variables, and are built in no time.
bool HoldsAllPairs(const DenseSize& size);

// Of the simplices that a variable lies in, over all lattices that kernels of some weight would have.
double NumCorners(std::span<const WeightedKernel> kernels);

// What is known of the call beside its options.
struct DenseSituation {
  const DenseMethod* method = nullptr;  // what runs; null: the method of the options
  double seconds_left = std::numeric_limits<double>::infinity();
  bool normalises = false;  // the kernels are normalised, in a copy of the model
};

// Throws TooLarge, with the number, what there is and what would do, for what does not fit into the memory
// of the options or into the time that is left. `size.pairs` is found here. Kernels need not be normalised yet, but
// their `normalisation` must be kNone.
DensePlan PlanDense(DenseSize size, std::span<const WeightedKernel> kernels,
                    const SolveOptions& options, const DenseSituation& situation);

}  // namespace submarine::internal
