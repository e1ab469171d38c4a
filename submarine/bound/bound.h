// A number of a certificate together with where it comes from.
#pragma once

#include <span>
#include <string_view>

namespace submarine {

namespace internal {
class BoundMaker;  // bound/bound_internal.h
}

enum class Provenance {
  // A verifier of this folder recomputed it from the model and the evidence alone and rounded it to its
  // safe side.
  kVerified,
  // Exact inference computed it and widened it by a bound on its own rounding errors.
  kExact,
};
std::string_view ToString(Provenance provenance);

// Only the code of bound/ makes one (bound/bound_internal.h), so that what a solver believes of itself
// cannot end up in a certificate. It reads as a plain double; whatever is computed from it is one.
class Bound {
 public:
  double value() const { return value_; }
  operator double() const { return value_; }  // NOLINT(google-explicit-constructor)
  Provenance provenance() const { return provenance_; }

 private:
  friend class internal::BoundMaker;
  Bound(double value, Provenance provenance) : value_(value), provenance_(provenance) {}

  double value_;
  Provenance provenance_;
};

// The bound, which is one from below or from above, moved by at least |by| to its safe side.
Bound Raised(const Bound& bound, double by);
Bound Lowered(const Bound& bound, double by);

// -bound: a bound of the other kind on the negated quantity.
Bound Negated(const Bound& bound);

// The mean of upper bounds by their weights, which are positive, rounded upwards; of lower ones downwards.
struct WeightedBound {
  double weight;
  Bound bound;
};
Bound MeanOfUpper(std::span<const WeightedBound> bounds);
Bound MeanOfLower(std::span<const WeightedBound> bounds);

// Exact inference says `value`, which is off by at most `error`: both ends.
struct BoundPair {
  Bound lower;
  Bound upper;
};
BoundPair ExactBounds(double value, double error);

}  // namespace submarine
