// Frank-Wolfe on a dense model: the published algorithm (Pansari, Russell, Kumar 2018, section 5),
// kept as the baseline. Each iteration is one ordered application of the operator
// (FlowShape::kSign).
#pragma once

#include "submarine/solver/common/dense_result.h"
#include "submarine/solver/flow/frank_wolfe.h"

namespace submarine::internal {

struct DenseFrankWolfeOptions : BoundOptions {
  FrankWolfeStep step = FrankWolfeStep::kLineSearch;
  // The proof of Frank-Wolfe's bound is the list of all orders it used, one matrix per iteration.
  std::size_t max_proof_bytes = std::size_t{4} << 30;
};

// Throws InvalidInput for T <= 0, where the bound is not smooth, and TooLarge when the proof would
// not fit.
DenseResult SolveFrankWolfe(const DenseExtension& extension, const DenseFrankWolfeOptions& options);

}  // namespace submarine::internal
