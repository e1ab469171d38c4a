// What a certificate proves about a sum S(x) = sum_a s_a(x_a), x drawn from the model (docs/math.md,
// "Expectations"): the pixels of a class, those that agree with given labels, the sum of disparities.
#pragma once

#include <optional>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"

namespace submarine {

namespace internal {
class TiltedUpper;
}

// A labeling drawn from the model has its sum within the credible ends with at least this probability.
inline constexpr double kCredibility = 0.999;

// The distribution is exp(-E/T)/Z_T at the temperature of the certificate. Where a certificate proves
// nothing, the ends are those of all labelings.
struct Expectation {
  Bound lower;  // lower <= E S <= upper
  Bound upper;
  Bound credible_lower;  // P(credible_lower <= S <= credible_upper) >= kCredibility
  Bound credible_upper;
  // What mean field says, or exact inference where it was used; proves nothing. None: there are no
  // marginals of it.
  std::optional<double> claimed = {};
};

namespace internal {

// From a tilted upper bound and a lower bound on T log Z_T of the same model; no lower bound: the ends
// of all labelings. Throws InvalidInput for values of the wrong shape or not finite, and
// std::logic_error where the ends cross, which would prove a bug.
Expectation CertifiedExpectation(const TiltedUpper& upper, const std::optional<Bound>& lower,
                                 const Matrix<double>& values);

// P(x_a = label), by an inequality that is tighter than that of expectations; the credible ends are 0
// and 1.
Expectation CertifiedProbability(const TiltedUpper& upper, const std::optional<Bound>& lower,
                                 std::size_t variable, std::size_t label);

}  // namespace internal
}  // namespace submarine
