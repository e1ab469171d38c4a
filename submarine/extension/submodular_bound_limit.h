// What the plain extension leaves of a dense model at best.
#pragma once

#include "submarine/model/dense_crf.h"

namespace submarine::internal {

// No plain upper bound (bound/verify/dense/dense_verifier.h) is below this: the dual value of distributions that are the
// same for all variables. The temperature is positive.
double SubmodularBoundLimit(const DenseCrf& model, double temperature);

}  // namespace submarine::internal
