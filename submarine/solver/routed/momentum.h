// The momentum of accelerated dual averaging (Nesterov 2005; Tseng 2008), bounded so that the potentials themselves
// converge: it grows while they alone prove more than the mean of their flows, and shrinks where they overshoot.
#pragma once

#include <algorithm>
#include <cstddef>

#include "submarine/base/matrix.h"
#include "submarine/base/parallel.h"

namespace submarine::internal {

// Where steps turn out to be too long, they are multiplied by this.
inline constexpr double kShorterStep = 0.25;

class Momentum {
 public:
  // Of the last flow in the mean, and how much longer than the first one the next step is.
  float share() const { return static_cast<float>(2.0 / (value_ + 2.0)); }
  double stretch() const { return (value_ + 1.0) / 2.0; }
  void Update(double of_potentials, double of_mean) {
    constexpr double kLeast = 3.0;
    constexpr double kLess = 0.7;
    value_ = of_potentials <= of_mean ? value_ + 1.0 : std::max(kLeast, kLess * value_);
  }

 private:
  double value_ = 0.0;
};

// mixed = (1 - share) mean + share last; `mixed` may be `mean`.
inline void Mix(const Matrix<float>& mean, const Matrix<float>& last, float share,
                Matrix<float>* mixed) {
  if (mixed->size() != mean.size()) *mixed = mean;
  ParallelFor(mean.size(), 1 << 14, [&](std::size_t begin, std::size_t end) {
    for (std::size_t n = begin; n < end; ++n)
      mixed->data()[n] = mean.data()[n] + share * (last.data()[n] - mean.data()[n]);
  });
}

}  // namespace submarine::internal
