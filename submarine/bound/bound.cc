#include "submarine/bound/bound.h"

#include <cmath>

#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/exact_bounds.h"

namespace submarine {

namespace {

using internal::BoundMaker;
using internal::SafeSum;

}  // namespace

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

Bound Negated(const Bound& bound) { return BoundMaker::Like(bound, -bound.value()); }

namespace {

// Each quotient, product and partial sum is rounded once: a few ulps of the sum of magnitudes.
double MeanWithSlack(std::span<const WeightedBound> bounds, double sign) {
  double total = 0.0;
  for (const WeightedBound& part : bounds) total += part.weight;
  SafeSum sum;
  for (const WeightedBound& part : bounds)
    sum.Add(part.weight / total * part.bound.value(), 0.0, bounds.size());
  return sign > 0.0 ? sum.Above() : sum.Below();
}

}  // namespace

Bound MeanOfUpper(std::span<const WeightedBound> bounds) {
  return bounds.size() == 1 ? bounds.front().bound
                            : BoundMaker::Like(bounds.front().bound, MeanWithSlack(bounds, 1.0));
}

Bound MeanOfLower(std::span<const WeightedBound> bounds) {
  return bounds.size() == 1 ? bounds.front().bound
                            : BoundMaker::Like(bounds.front().bound, MeanWithSlack(bounds, -1.0));
}

internal::BoundPair internal::ExactBounds(double value, double error) {
  return {Lowered(BoundMaker::Exact(value), error), Raised(BoundMaker::Exact(value), error)};
}

}  // namespace submarine
