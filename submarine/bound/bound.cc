#include "submarine/bound/bound.h"

#include <cmath>

#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/exact_bounds.h"

namespace submarine {

using internal::BoundMaker;

std::string_view ToString(Provenance provenance) {
  return provenance == Provenance::kExact ? "exact" : "verified";
}

Bound Raised(const Bound& bound, double by) {
  if (by == 0.0) return bound;
  return BoundMaker::Like(bound, std::nextafter(bound.value() + std::abs(by), HUGE_VAL));
}

Bound Lowered(const Bound& bound, double by) {
  if (by == 0.0) return bound;
  return BoundMaker::Like(bound, std::nextafter(bound.value() - std::abs(by), -HUGE_VAL));
}

Bound SumAbove(std::span<const Bound> upper) {
  internal::SafeSum sum;
  for (const Bound& bound : upper) sum.Add(bound.value());
  return BoundMaker::Like(upper.front(), sum.Above());
}

Bound Negated(const Bound& bound) { return BoundMaker::Like(bound, -bound.value()); }

internal::BoundPair internal::ExactBounds(double value, double error) {
  return {Lowered(BoundMaker::Exact(value), error), Raised(BoundMaker::Exact(value), error)};
}

}  // namespace submarine
