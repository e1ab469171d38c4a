// A number of a certificate together with where it comes from.
#pragma once

#include <span>
#include <string_view>

namespace submarine {

namespace internal {
class BoundMaker;
}

enum class Provenance {
  // A verifier, which shares no code with solvers, recomputed it from the model and the evidence alone and rounded it to
  // its safe side.
  kVerified,
  // Exact inference computed it and widened it by a bound on its own rounding errors.
  kExact,
};
std::string_view ToString(Provenance provenance);

// Only verifiers and exact inference make one, so that a value that a solver computed cannot end up
// in a certificate. It converts to a
// plain double, and whatever is computed from it is a plain double again. Which side it bounds from
// is not part of the type.
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

// An upper bound raised, or a lower bound lowered, by at least |by|.
Bound Raised(const Bound& bound, double by);
Bound Lowered(const Bound& bound, double by);

// The sum of upper bounds, of one or more, or more than that.
Bound SumAbove(std::span<const Bound> upper);

// -bound: a bound of the other kind on the negated quantity.
Bound Negated(const Bound& bound);

}  // namespace submarine
