// Which method `auto` takes for a sparse model, and what is refused before it starts: pure functions of sizes and limits.
#pragma once

#include "submarine/solve/method/method.h"
#include "submarine/solve/method/times.h"

namespace submarine::internal {

// The method with the tightest bound that the time allows; kAuto if there is no time for the first
// bound of any, so that only the unaries' bound remains.
Method ChooseSparse(const SparseSize& size, double temperature, double left);

// Throws TooLarge, stating the time needed and the time left, unless the method's first bound fits.
void RequireTime(Method method, const SparseSize& size, double temperature, double left);

}  // namespace submarine::internal
