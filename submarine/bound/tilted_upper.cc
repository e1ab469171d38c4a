#include "submarine/bound/tilted_upper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"

namespace submarine::internal {
namespace {

class RaisedUpper : public TiltedUpper {
 public:
  RaisedUpper(double by, std::shared_ptr<const TiltedUpper> inner)
      : by_(by), inner_(std::move(inner)) {}

  Bound LogZ(const Matrix<double>& values, double delta) const override {
    return Raised(inner_->LogZ(values, delta), by_);
  }
  Bound untilted() const override { return Raised(inner_->untilted(), by_); }
  double temperature() const override { return inner_->temperature(); }
  std::size_t num_variables() const override { return inner_->num_variables(); }
  std::size_t num_labels(std::size_t variable) const override {
    return inner_->num_labels(variable);
  }

 private:
  double by_;
  std::shared_ptr<const TiltedUpper> inner_;
};

class LesserUpper : public TiltedUpper {
 public:
  LesserUpper(std::shared_ptr<const TiltedUpper> one, std::shared_ptr<const TiltedUpper> other)
      : one_(std::move(one)), other_(std::move(other)) {}

  Bound LogZ(const Matrix<double>& values, double delta) const override {
    return std::min(one_->LogZ(values, delta), other_->LogZ(values, delta));
  }
  Bound untilted() const override { return std::min(one_->untilted(), other_->untilted()); }
  double temperature() const override { return one_->temperature(); }
  std::size_t num_variables() const override { return one_->num_variables(); }
  std::size_t num_labels(std::size_t variable) const override { return one_->num_labels(variable); }
  std::vector<const TiltedUpper*> parts() const override {
    std::vector<const TiltedUpper*> all = one_->parts();
    for (const TiltedUpper* part : other_->parts()) all.push_back(part);
    return all;
  }

 private:
  std::shared_ptr<const TiltedUpper> one_;
  std::shared_ptr<const TiltedUpper> other_;
};

// In single precision, and at least x.
float RoundedUp(double x) {
  const auto near = static_cast<float>(x);
  return static_cast<double>(near) >= x
             ? near
             : std::nextafter(near, std::numeric_limits<float>::infinity());
}

}  // namespace

void KeepTighter(std::shared_ptr<const TiltedUpper> found,
                 std::shared_ptr<const TiltedUpper>* kept) {
  if (found && (!*kept || found->untilted() < (*kept)->untilted())) *kept = std::move(found);
}

void KeepBoth(std::shared_ptr<const TiltedUpper> found, std::shared_ptr<const TiltedUpper>* kept) {
  if (!found) return;
  if (*kept) {
    *kept = std::make_shared<LesserUpper>(std::move(*kept), std::move(found));
  } else {
    *kept = std::move(found);
  }
}

std::shared_ptr<const TiltedUpper> RaisedBy(double by, std::shared_ptr<const TiltedUpper> tilted) {
  if (!tilted || by == 0.0) return tilted;
  return std::make_shared<RaisedUpper>(by, std::move(tilted));
}

class FactorisedUpperMaker::Factorised : public TiltedUpper {
 public:
  Factorised(std::size_t variables, std::size_t labels, double temperature)
      : temperature_(temperature), q_(Matrix<float>::Unset(variables, labels)) {}

  // q_i = exp(-(c_i - least) / T) / sum. An argument is off by two roundings of its size, which the
  // exponential makes relative errors; the sum and the quotient add one per label and a few.
  void Set(std::size_t a, std::span<const double> costs) {
    const double least = *std::min_element(costs.begin(), costs.end());
    const auto q_a = q_.row(a);
    double sum = 0.0;
    for (const double c : costs) sum += std::exp((least - c) / temperature_);
    const double of_sum = 16.0 + static_cast<double>(costs.size());
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const double argument = (least - costs[i]) / temperature_;
      const double q = std::exp(argument) / sum;
      const double error = kUlp * (of_sum + 4.0 * std::min(-argument, kLargestExponent));
      // What underflows is still above zero.
      q_a[i] = std::max(RoundedUp(q * (1.0 + error)), std::numeric_limits<float>::denorm_min());
    }
  }
  void set_untilted(const Bound& bound) { untilted_ = bound; }

  Bound LogZ(const Matrix<double>& values, double delta) const override {
    constexpr std::size_t kGrain = 1024;
    std::vector<SafeSum> parts((q_.rows() + kGrain - 1) / kGrain);
    ParallelFor(q_.rows(), kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a)
        AddVariable(a, values.row(a).data(), delta, &parts[begin / kGrain]);
    });
    SafeSum bound;
    bound.Add(untilted_->value());
    for (const SafeSum& part : parts) bound.Add(part);
    return BoundMaker::Verified(bound.Above());
  }
  Bound untilted() const override { return *untilted_; }
  double temperature() const override { return temperature_; }
  std::size_t num_variables() const override { return q_.rows(); }
  std::size_t num_labels(std::size_t) const override { return q_.cols(); }

 private:
  static constexpr double kUlp = std::numeric_limits<double>::epsilon();
  static constexpr double kLargestExponent = 750.0;  // beyond, exponentials underflow

  // T log sum_i q_i exp(x_i), x_i = delta value_i / T, with the largest x_i taken out of the sum,
  // whose terms are not negative. Where all values are the same the q sum to 1.
  void AddVariable(std::size_t a, const double* value, double delta, SafeSum* bound) const {
    const std::size_t labels = q_.cols();
    const auto [least, largest] = std::minmax_element(value, value + labels);
    const double extent = std::abs(delta) * std::max(std::abs(*least), std::abs(*largest));
    if (!std::isfinite(extent + extent / temperature_)) {
      bound->Add(std::numeric_limits<double>::infinity());  // nothing is known
      return;
    }
    if (*least == *largest) {
      bound->AddProduct(delta, *least, 4);
      return;
    }
    const double factor = delta / temperature_;
    const double top = factor * (delta > 0.0 ? *largest : *least);
    const auto q_a = q_.row(a);
    double sum = 0.0;
    double last = *least;
    double power = std::exp(factor * last - top);
    for (std::size_t i = 0; i < labels; ++i) {
      if (value[i] != last) {  // most sums have few different values
        last = value[i];
        power = std::exp(factor * last - top);
      }
      sum += static_cast<double>(q_a[i]) * power;
    }
    const double log_sum = std::log(sum);
    bound->Add(temperature_ * (log_sum + top), temperature_ * (1.0 + std::abs(log_sum)) + extent,
               16 + labels);
    bound->Widen(std::numeric_limits<double>::min() / kUlp);  // of products that underflow
  }

  double temperature_;
  Matrix<float> q_;
  std::optional<Bound> untilted_;
};

FactorisedUpperMaker::FactorisedUpperMaker(std::size_t variables, std::size_t labels,
                                           double temperature, TiltedPlace place)
    : place_(place) {
  if (place != nullptr && temperature > 0.0)
    made_ = std::make_shared<Factorised>(variables, labels, temperature);
}
FactorisedUpperMaker::~FactorisedUpperMaker() = default;

void FactorisedUpperMaker::Set(std::size_t variable, std::span<const double> costs) {
  if (made_) made_->Set(variable, costs);
}

Bound FactorisedUpperMaker::Finish(const Bound& verified) {
  if (made_) {
    made_->set_untilted(verified);
    *place_ = std::move(made_);
  }
  return verified;
}

}  // namespace submarine::internal
