// The verifiers' own exponential, which compilers vectorise, unlike loops with calls of std::exp.
#pragma once

#include <bit>
#include <cstdint>

namespace submarine::internal {

inline constexpr double kLeastExponent = -700.0;

// exp(t) for kLeastExponent <= t <= 0, to within kExponentialUlps ulps of the result. With
// t = n log 2 + r, log 2 in two parts, n times the first is exact, and so is subtracting it from t;
// r, at most 0.35, is off by a quarter of an ulp of 1. The series 1 + (r + r^2 (1/2! + r/3! + ...)),
// up to r^13, leaves out less than 1e-17. The last sum is rounded by half an ulp of 1, the one
// before it by less than a quarter, and the rest, at most 0.07, adds a few of its own ulps: less
// than one and a half in all, and the result is at least 0.7. Scaling by 2^n is exact: exp(-700) is
// a normal number. Terms are paired, for a chain of operations that is half as long as Horner's.
inline constexpr double kExponentialUlps = 4.0;
inline double NegativeExponential(double t) {
  constexpr double kInteger = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to integers
  constexpr double kLog2e = 1.4426950408889634;
  constexpr double kLog2High = 6.93147180369123816490e-01;  // 32 bits
  constexpr double kLog2Low = 1.90821492927058770002e-10;
  const double shifted = t * kLog2e + kInteger;
  const double n = shifted - kInteger;
  const double r = (t - n * kLog2High) - n * kLog2Low;
  const double r2 = r * r;
  const double r4 = r2 * r2;
  const double first = (1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
  const double second =
      (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
  const double third = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) +
                       r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
  const double sum = 1.0 + (r + r2 * (first + r4 * (second + r4 * third)));
  // The last bits of `shifted` are those of n.
  const auto power = std::bit_cast<double>((std::bit_cast<std::uint64_t>(shifted) + 1023U) << 52U);
  return sum * power;
}

}  // namespace submarine::internal
