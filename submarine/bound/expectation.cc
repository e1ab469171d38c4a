#include "submarine/bound/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/tilted_upper.h"

namespace submarine::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUlp = std::numeric_limits<double>::epsilon();

// At least -log of half the probability that is left, (1 - kCredibility) / 2 = 1/2000, for either end.
constexpr double kCredibleNats = 7.6009024596;

double Up(double x) { return std::nextafter(x, kInfinity); }

// Sums of all labelings, and how much the values of the variables differ.
struct Range {
  double least;
  double largest;
  double squares;  // sum_a (largest - least)^2
  double widest;   // max_a (largest - least)
};

Range RangeOf(const TiltedUpper& upper, const Matrix<double>& values) {
  const std::size_t n = upper.num_variables();
  if (values.rows() != n)
    throw InvalidInput(fmt::format("the values have {} rows for {} variables", values.rows(), n));
  ExactSum least;
  ExactSum largest;
  Range range{};
  bool exact = true;  // whole numbers below 2^53, whose sums are not rounded: counts of variables
  double total = 0.0;
  for (std::size_t a = 0; a < n; ++a) {
    const std::size_t labels = upper.num_labels(a);
    if (values.cols() < labels) {
      throw InvalidInput(fmt::format("the values have {} columns, but variable {} has {} labels",
                                     values.cols(), a, labels));
    }
    const auto row = values.row(a).first(labels);
    for (const double value : row) {
      if (!std::isfinite(value))
        throw InvalidInput(
            fmt::format("variable {} has the value {}, expected a finite number", a, value));
    }
    const auto [low, high] = std::minmax_element(row.begin(), row.end());
    least.Add(*low);
    largest.Add(*high);
    exact = exact && *low == std::trunc(*low) && *high == std::trunc(*high);
    total += std::max(std::abs(*low), std::abs(*high));
    range.squares += (*high - *low) * (*high - *low);
    range.widest = std::max(range.widest, *high - *low);
  }
  exact = exact && total < 0x1p52;
  range.least = exact ? least.Value() : least.Below();
  range.largest = exact ? largest.Value() : largest.Above();
  return range;
}

// Looks for the delta > 0 where value(delta) is least, from `start`. Whatever it tries may be used; it
// need not find the best.
void Search(double start, double most, const std::function<double(double)>& value) {
  constexpr double kStep = 3.0;
  constexpr int kMostSteps = 14;
  constexpr double kFinest = 1.15;  // costs one percent of the distance from the expectation
  double best = std::min(start, most);
  double least = value(best);
  const auto try_at = [&](double delta) {
    if (!(delta > 0.0 && delta <= most)) return false;
    const double found = value(delta);
    if (!(found < least)) return false;
    least = found;
    best = delta;
    return true;
  };
  double direction = try_at(kStep * best) ? kStep : 1.0 / kStep;
  for (int step = 0; step < kMostSteps && try_at(direction * best); ++step) {
  }
  for (double step = std::sqrt(kStep); step > kFinest; step = std::sqrt(step)) {
    const double centre = best;
    if (!try_at(centre * step)) try_at(centre / step);
  }
}

// U(phi - sign delta s) - L, rounded upwards.
class Excess {
 public:
  Excess(const TiltedUpper& upper, const Bound& lower, const Matrix<double>& values, double sign)
      : upper_(upper), lower_(lower), values_(values), sign_(sign) {}

  double At(double delta) {
    const double excess = Up(upper_.LogZ(values_, sign_ * delta).value() - lower_.value());
    tried_.emplace_back(delta, excess);
    return excess;
  }
  double at_zero() const { return std::max(0.0, upper_.untilted() - lower_); }

  // The least of (excess + nats) / delta, nats >= 0, over all that were tried.
  double LeastQuotient(double nats) const {
    double least = kInfinity;
    for (const auto& [delta, excess] : tried_)
      least = std::min(least, Quotient(delta, excess, nats));
    return least;
  }
  static double Quotient(double delta, double excess, double nats) {
    return Up(Up(excess + nats) / delta);
  }

 private:
  const TiltedUpper& upper_;
  const Bound& lower_;
  const Matrix<double>& values_;
  double sign_;
  std::vector<std::pair<double, double>> tried_;
};

// Beyond it even exponentials in double underflow, and nothing is gained.
double MostTilt(const TiltedUpper& upper, double widest) {
  constexpr double kMostExponent = 700.0;
  return kMostExponent * upper.temperature() / widest;
}

// At least E S sign, and what S sign exceeds with probability 1/2000 at most.
std::pair<double, double> UpperEnds(const TiltedUpper& upper, const Bound& lower,
                                    const Matrix<double>& values, const Range& range, double sign) {
  Excess excess(upper, lower, values, sign);
  const double T = upper.temperature();
  const double nats = Up(kCredibleNats * T);
  const double most = MostTilt(upper, range.widest);
  // As if every variable were normal, with a quarter of its range for its deviation.
  const double variance = range.squares / 16.0;
  const double gap = std::max(excess.at_zero(), 1e-12 * T);
  for (const double more : {0.0, nats}) {
    Search(std::sqrt(2.0 * (gap + more) * T / variance), most,
           [&](double delta) { return Excess::Quotient(delta, excess.At(delta), more); });
  }
  return {excess.LeastQuotient(0.0), excess.LeastQuotient(nats)};
}

void CheckOrder(const Expectation& found) {
  if (found.lower.value() > found.upper.value() ||
      found.credible_lower.value() > found.credible_upper.value()) {
    throw std::logic_error(
        "the ends of a certified expectation cross; please report this as a bug");
  }
}

Expectation Certified(const Range& ends, const Range& credible) {
  const Expectation found{BoundMaker::Verified(ends.least), BoundMaker::Verified(ends.largest),
                          BoundMaker::Verified(credible.least),
                          BoundMaker::Verified(credible.largest)};
  CheckOrder(found);
  return found;
}

}  // namespace

Expectation CertifiedExpectation(const TiltedUpper& upper, const std::optional<Bound>& lower,
                                 const Matrix<double>& values) {
  const Range range = RangeOf(upper, values);
  if (!lower || !std::isfinite(upper.untilted() - *lower) || !(range.widest > 0.0))
    return Certified(range, range);
  const std::vector<const TiltedUpper*> parts = upper.parts();
  std::vector<std::pair<double, double>> ends(2 * parts.size());
  ParallelFor(ends.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k)
      ends[k] = UpperEnds(*parts[k / 2], *lower, values, range, k % 2 == 0 ? 1.0 : -1.0);
  });
  Range mean = range;
  Range credible = range;
  for (std::size_t k = 0; k < ends.size(); k += 2) {
    mean.largest = std::min(mean.largest, ends[k].first);
    mean.least = std::max(mean.least, -ends[k + 1].first);
    credible.largest = std::min(credible.largest, ends[k].second);
    credible.least = std::max(credible.least, -ends[k + 1].second);
  }
  return Certified(mean, credible);
}

namespace {

// (exp(x) - 1) / (exp(y) - 1), x and y of the same sign or x = 0, rounded in the given direction. Both
// differences are off by a few ulps and, through their arguments, by |x| and |y| ulps.
double QuotientOfExponentials(double x, double y, double direction) {
  const double quotient = std::expm1(x) / std::expm1(y);
  return quotient * (1.0 + direction * kUlp * (16.0 + 4.0 * (std::abs(x) + std::abs(y))));
}

}  // namespace

// With p = P(x_a = label) and s the indicator of this, E exp(delta S / T) = 1 + p (exp(delta / T) - 1).
Expectation CertifiedProbability(const TiltedUpper& upper, const std::optional<Bound>& lower,
                                 std::size_t variable, std::size_t label) {
  if (variable >= upper.num_variables() || label >= upper.num_labels(variable))
    throw InvalidInput(fmt::format("there is no label {} of variable {}", label, variable));
  double most_p = 1.0;
  double least_p = 0.0;
  if (lower && std::isfinite(upper.untilted() - *lower)) {
    std::size_t labels = 0;
    for (std::size_t a = 0; a < upper.num_variables(); ++a)
      labels = std::max(labels, upper.num_labels(a));
    Matrix<double> values(upper.num_variables(), labels);
    values(variable, label) = 1.0;
    const double T = upper.temperature();
    Excess up(upper, *lower, values, 1.0);
    Excess down(upper, *lower, values, -1.0);
    const double start = std::sqrt(2.0 * std::max(up.at_zero(), 1e-12 * T) * T / 0.25);
    const double most = 0.5 * MostTilt(upper, 1.0);
    Search(start, most, [&](double delta) {
      const double excess = up.At(delta);
      if (!(excess <= delta)) return excess / delta;  // says nothing, and where to look
      const double p = excess > 0.0 ? QuotientOfExponentials(Up(excess / T), delta / T, 1.0) : 0.0;
      most_p = std::min(most_p, p);
      return p;
    });
    Search(start, most, [&](double delta) {
      const double excess = down.At(delta);
      if (!(excess < 0.0)) return excess / delta;
      const double p = QuotientOfExponentials(Up(excess / T), -delta / T, -1.0);
      least_p = std::max(least_p, p);
      return -p;
    });
  }
  return Certified({least_p, most_p, 1.0, 1.0}, {0.0, 1.0, 1.0, 1.0});
}

}  // namespace submarine::internal
