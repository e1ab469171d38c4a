#include "submarine/solve/sparse_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "submarine/base/error.h"
#include "submarine/solve/registry.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {
namespace {

// The chosen method must have time for a few iterations: fewer prove nothing useful.
constexpr double kFewIterations = 12.0;

bool FirstBoundFits(Method method, const SparseSize& size, double temperature, double left) {
  return (temperature > 0.0 || EntryOf(method).sparse.zero_temperature) &&
         FitsTime(LeastSeconds(method, size), left);
}

}  // namespace

// TRW is never looser than the submodular bound at its optimum (docs/math.md, "Tree-reweighted
// bounds") nor far from the hybrid one, and its first sweep is worth many iterations of the others;
// but its certificate visits all pairs of labels, and it does not accept T = 0.
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
  for (const MethodInfo& other : Methods()) {
    // `auto` comes last, and exact inference has limits of its own.
    if (!other.sparse || other.method == Method::kAuto || other.method == Method::kExact) continue;
    if (other.method != method && FirstBoundFits(other.method, size, temperature, left))
      others += fmt::format("{}, ", other.name);
  }
  throw TooLarge(fmt::format(
      "a first bound by {} takes about {:.1f} s here, but {:.1f} s are left of the time limit; "
      "use --method {}auto, or allow {:.0f} s more",
      ToString(method), seconds, std::max(0.0, left), others, std::ceil(seconds - left)));
}

}  // namespace submarine::internal
