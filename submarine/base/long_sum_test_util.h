// Sums in about twice the digits of a long double, for tests of bounds on rounding errors.
#pragma once

#include <cmath>

namespace submarine::internal::testing {

// The value is high + low, where high is the value rounded to a long double.
struct LongSum {
  long double high = 0.0L;
  long double low = 0.0L;

  void Add(long double x) {
    const long double sum = high + x;
    low += std::abs(high) >= std::abs(x) ? (high - sum) + x : (x - sum) + high;
    high = sum;
  }
  void AddProduct(long double x, long double y) {
    const long double product = x * y;
    Add(product);
    Add(std::fma(x, y, -product));
  }
  long double Minus(const LongSum& other) const { return (high - other.high) + (low - other.low); }
  long double Minus(long double x) const { return (high - x) + low; }
};

}  // namespace submarine::internal::testing
