// A dense model from kernels to certificate:
//
//   normalisation -> operator -> chain of solvers -> verified bounds,
//
// all within the limits. Not public; solve.h is the door.
#pragma once

#include "submarine/base/stopwatch.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {

SolveResult SolveDense(const DenseCrf& model, const SolveOptions& options, const Stopwatch& clock,
                       const Watch& watch);

}  // namespace submarine::internal
