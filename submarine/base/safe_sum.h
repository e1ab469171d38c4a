// Sums that bound their own rounding error, for values that must be rounded to the safe side.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

namespace submarine::internal {

// Neumaier's compensation keeps the error of the additions near one ulp of the sum of magnitudes;
// slack_ adds up the errors of the terms themselves.
class SafeSum {
 public:
  // x is exact to a few ulps.
  void Add(double x) { Add(x, 0.0, 0.0); }
  // x is the result of this many roundings, each of at most an ulp of |x| + magnitude.
  void Add(double x, double magnitude, double roundings) {
    AddExactly(x);
    slack_ += kEpsilon * (32.0 + roundings) * (std::abs(x) + magnitude);
  }
  void Add(double x, double magnitude, std::size_t roundings) {
    Add(x, magnitude, static_cast<double>(roundings));
  }
  // x y, which may underflow.
  void AddProduct(double x, double y, std::size_t roundings) {
    const double product = x * y;
    Add(product, 0.0, roundings);
    if (std::abs(product) < std::numeric_limits<double>::min() && x != 0.0 && y != 0.0)
      slack_ += std::numeric_limits<double>::denorm_min();
  }
  // The terms added may be off by a further `ulps` ulps of 1.
  void Widen(double ulps) { slack_ += kEpsilon * ulps; }
  void Add(const SafeSum& other) {
    AddExactly(other.sum_);
    AddExactly(other.compensation_);
    slack_ += other.slack_ + kEpsilon * std::abs(other.sum_);
  }
  void Subtract(const SafeSum& other) {
    AddExactly(-other.sum_);
    AddExactly(-other.compensation_);
    slack_ += other.slack_ + kEpsilon * std::abs(other.sum_);
  }
  void AddScaled(double factor, const SafeSum& other) {
    Add(factor * other.sum_);
    Add(factor * other.compensation_);
    slack_ += std::abs(factor) * other.slack_;
  }
  // The slack is a sum of positive terms and has roundings of its own, far below its 32 spare ulps.
  // A term of -infinity makes the sum -infinity, also as an upper bound; +infinity may be an
  // overflow, after which nothing is known.
  double Above() const {
    if (!finite()) return sum_ < 0.0 ? sum_ : kInfinity;
    return sum_ + compensation_ + slack_;
  }
  double Below() const { return finite() ? sum_ + compensation_ - slack_ : -kInfinity; }
  bool finite() const { return std::isfinite(sum_); }

 private:
  static constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  void AddExactly(double x) {
    const double t = sum_ + x;
    if (std::isfinite(t))
      compensation_ += std::abs(sum_) >= std::abs(x) ? (sum_ - t) + x : (x - t) + sum_;
    sum_ = t;
  }
  double sum_ = 0.0;
  double compensation_ = 0.0;
  double slack_ = 0.0;
};

// A sum of exact terms, such as the energy of one labeling: only the result is rounded, unless
// terms cancel to about a hundred bits. Neumaier's sum is Sum2 of Ogita, Rump and Oishi (2005),
// whose error is at most u |sum| + (n u)^2 sum |x| for n terms, u half an epsilon.
class ExactSum {
 public:
  void Add(double x) {
    const double t = sum_ + x;
    compensation_ += std::abs(sum_) >= std::abs(x) ? (sum_ - t) + x : (x - t) + sum_;
    sum_ = t;
    magnitude_ += std::abs(x);
    terms_ += 1.0;
  }
  void AddProduct(double x, double y) {
    const double product = x * y;
    Add(product);
    Add(std::fma(x, y, -product));
    underflow_ += std::numeric_limits<double>::denorm_min();  // fma may lose this much to underflow
  }
  double Value() const { return sum_ + compensation_; }
  double Error() const {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
    const double depth = terms_ * kEpsilon;
    return 2.0 * kEpsilon * std::abs(Value()) + depth * depth * magnitude_ + underflow_;
  }
  // After an overflow or an infinite term nothing is known.
  double Above() const { return finite() ? Value() + Error() : kInfinity; }
  double Below() const { return finite() ? Value() - Error() : -kInfinity; }
  bool finite() const { return std::isfinite(magnitude_) && std::isfinite(Value()); }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double sum_ = 0.0;
  double compensation_ = 0.0;
  double magnitude_ = 0.0;
  double terms_ = 0.0;
  double underflow_ = 0.0;
};

// A sum of terms >= 0, rounded upwards.
class UpwardSum {
 public:
  void Add(double x) {
    sum_ += x;
    terms_ += 1.0;
  }
  double Above() const {
    return sum_ * (1.0 + (terms_ + 2.0) * std::numeric_limits<double>::epsilon());
  }

 private:
  double sum_ = 0.0;
  double terms_ = 0.0;
};

}  // namespace submarine::internal
