#include "submarine/solve/sparse_strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "submarine/base/error.h"
#include "submarine/solve/limits.h"

namespace submarine {
namespace {

// Fewer iterations of PDHG are not worth its start, which is twice as long as that of the others.
constexpr double kFewIterations = 12.0;

bool AcceptsTemperature(Method method, double temperature) {
  return temperature > 0.0 || method == Method::kPdhg;
}

bool FirstBoundFits(Method method, const SparseSize& size, double temperature, double left) {
  return AcceptsTemperature(method, temperature) && FitsTime(LeastSeconds(method, size), left);
}

}  // namespace

// TRW is never looser than the submodular bound at its optimum (docs/math.md, "Tree-reweighted bounds"),
// nor far from the hybrid one, and its first sweep is worth many iterations of the others; but its
// certificate looks at all pairs of labels, and it has none at T = 0.
Method ChooseSparse(const SparseSize& size, double temperature, double left) {
  if (FirstBoundFits(Method::kTrw, size, temperature, left)) return Method::kTrw;
  const double pdhg = LeastSeconds(Method::kPdhg, size) + kFewIterations * IterationSeconds(size);
  if (FitsTime(pdhg, left)) return Method::kPdhg;
  for (const Method method : {Method::kBlockFrankWolfe, Method::kPdhg}) {
    if (FirstBoundFits(method, size, temperature, left)) return method;
  }
  return Method::kAuto;
}

void RequireTime(Method method, const SparseSize& size, double temperature, double left) {
  const double seconds = LeastSeconds(method, size);
  if (FitsTime(seconds, left)) return;
  std::string others;
  for (const Method other :
       {Method::kPdhg, Method::kFrankWolfe, Method::kBlockFrankWolfe, Method::kMeanField}) {
    if (other != method && FirstBoundFits(other, size, temperature, left))
      others += fmt::format("{}, ", ToString(other));
  }
  throw TooLarge(fmt::format(
      "a first bound by {} takes about {:.1f} s here, but {:.1f} s are left of the time limit; "
      "--method {}auto, or {:.0f} s more would do",
      ToString(method), seconds, std::max(0.0, left), others, std::ceil(seconds - left)));
}

}  // namespace submarine
