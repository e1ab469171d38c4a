// Bounds of exact inference, which no verifier checks. tools/check_includes.py lets only solve/exact_solve.cc
// include this.
#pragma once

#include "submarine/bound/bound.h"

namespace submarine::internal {

// value - error and value + error, where `error` bounds the rounding errors.
struct BoundPair {
  Bound lower;
  Bound upper;
};
BoundPair ExactBounds(double value, double error);

}  // namespace submarine::internal
