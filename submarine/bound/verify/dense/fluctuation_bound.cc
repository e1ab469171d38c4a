#include "submarine/bound/verify/dense/fluctuation_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"

namespace submarine::internal {
namespace {

using dense_verifier::kGrain;
using dense_verifier::kUlp;

double Logistic(double t) { return 1.0 / (1.0 + std::exp(-t)); }

// log(1 + e^(t+d)) <= log(1 + e^t) + d e^t / (1 + e^t) + c d^2 / 2 for all d (Jaakkola and Jordan), c the largest for any t
// that is at most `reach` away. Rounded upwards.
double CurvatureOfTwo(double t, double reach) {
  const double size = std::abs(t) - reach;
  if (!(size > 1e-3)) return 0.25;
  return std::min(0.25, std::tanh(0.5 * size) / (2.0 * size) * (1.0 + 16.0 * kUlp));
}

// log(1 + sum_j e^(t_j + d_j)) <= its value at 0 + <slopes, d> + c |d|^2 / 2 for all d: with v = log sum_j e^(t_j + d_j), which
// moves by no more than the largest d_j, the bound above; and v itself is convex with second derivatives of 1/2 at most, so that
// it is at most its linear part and |d|^2 / 4.
double CurvatureOf(double v, std::size_t others, double reach) {
  return CurvatureOfTwo(v, reach) +
         (others > 1 ? 0.5 * Logistic(v + reach) * (1.0 + 16.0 * kUlp) : 0.0);
}

// log(1 + sum_j e^(t_j)) and the slopes, over t_j but that of `first`, which is 0. One by one, it is at most the sum over j of
// log(1 + e^(t_j)), which has smaller curvatures unless three labels are about as probable.
struct LogSum {
  double value = 0.0;
  double of_others = 0.0;  // v
};
LogSum OneByOne(const double* t, std::size_t first, std::size_t columns, double* slope) {
  LogSum sum;
  slope[first] = 1.0;
  for (std::size_t j = 0; j < columns; ++j) {
    if (j == first) continue;
    const double e = std::exp(-std::abs(t[j]));
    sum.value += std::max(t[j], 0.0) + std::log1p(e);
    slope[j] = (t[j] > 0.0 ? 1.0 : e) / (1.0 + e);
    slope[first] -= slope[j];
    if (std::isfinite(t[j])) sum.of_others += std::abs(t[j]);
  }
  return sum;
}
LogSum AllAtOnce(const double* t, std::size_t first, std::size_t columns, double* slope) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < columns; ++j) {
    if (j != first) largest = std::max(largest, t[j]);
  }
  double others = 0.0;
  for (std::size_t j = 0; j < columns; ++j) {
    slope[j] = j == first ? 0.0 : std::exp(t[j] - largest);
    others += slope[j];
  }
  const double v = largest + std::log(others);
  const double share = Logistic(v) / others;
  for (std::size_t j = 0; j < columns; ++j) slope[j] *= share;
  slope[first] = Logistic(-v);
  return {std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))), v};
}

// Sums over the variables in parallel, always of the same parts.
template <class Body>
SafeSum SumVariables(std::size_t n, const Body& body) {
  std::vector<SafeSum> parts((n + kGrain - 1) / kGrain);
  ParallelFor(n, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) body(a, &parts[begin / kGrain]);
  });
  SafeSum sum;
  for (const SafeSum& part : parts) sum.Add(part);
  return sum;
}

// The curvatures hold for exponents that are this much nearer to each other, too.
constexpr double kReach = 0.3;

// The quadratic bound of every variable's log-sum. Columns are the labels whose pairs count, then one for all others.
struct Expansion {
  std::vector<int> labels;  // of the columns but the last
  std::vector<std::uint32_t>
      first;  // the most probable column of every variable; it has no curvature
  Matrix<double>
      apart;  // t: the exponents of the others less that of the first; without a rest the last is -infinity
  Matrix<double> curvature;   // c; 0 for the first, and without a rest for the last
  std::vector<char> at_once;  // how log-sums of the variable are bounded
  Matrix<double> point;       // y
  Matrix<double> response;    // d: <s, (1/P - C)^-1 s> <= sum_aj d_aj s_aj^2
  double of_errors = 0.0;     // what rounding adds to the root of <b - y, (1/P - C)^-1 (b - y)>

  std::size_t columns() const { return apart.cols(); }
  // By how much the slopes of the columns, b, may be off.
  double slope_error() const { return kUlp * (16.0 + 2.0 * static_cast<double>(columns())); }
};

LogSum LogSumOf(const Expansion& at, std::size_t a, const double* t, double* slope) {
  return (at.at_once[a] != 0 ? AllAtOnce : OneByOne)(t, at.first[a], at.columns(), slope);
}

// sum_j d_aj (b - y)_aj^2.
double SquaredResidual(const Expansion& at, std::size_t a, const double* slope) {
  double sum = 0.0;
  for (std::size_t j = 0; j < at.labels.size(); ++j) {
    const double off = std::abs(slope[j] - at.point(a, j)) + at.slope_error();
    sum += at.response(a, j) * off * off;
  }
  return sum;
}

double RootAbove(const std::vector<double>& parts) {
  double sum = 0.0;
  for (const double part : parts) sum += part;
  return std::sqrt(sum) * (1.0 + 1e-9);  // far more than the roundings of sums of positive numbers
}

// Unaries that differ by s move the exponents by s: by a little, log-sum and slopes are those of the moved exponents under the
// same curvatures; by more, those of the quadratic bound.
class FluctuationTilted : public TiltedUpper {
 public:
  FluctuationTilted(Expansion expansion, const Bound& untilted, double residual, double temperature,
                    std::size_t labels)
      : at_(std::move(expansion)),
        untilted_(untilted),
        residual_(residual),
        temperature_(temperature),
        labels_(labels) {
    kept_.assign(labels, false);
    for (const int label : at_.labels) kept_[static_cast<std::size_t>(label)] = true;
    const std::size_t n = at_.first.size();
    value_.resize(n);
    size_.resize(n);
    squared_.resize(n);
    std::vector<double> slope(at_.columns());
    for (std::size_t a = 0; a < n; ++a) {
      const LogSum sum = LogSumOf(at_, a, at_.apart.row(a).data(), slope.data());
      value_[a] = sum.value;
      size_[a] = 1.0 + std::abs(sum.of_others);
      squared_[a] = SquaredResidual(at_, a, slope.data());
    }
  }

  Bound LogZ(const Matrix<double>& values, double delta) const override {
    const double factor = delta / temperature_;
    const std::size_t columns = at_.columns();
    const std::size_t n = num_variables();
    std::vector<double> residual((n + kGrain - 1) / kGrain, 0.0);
    std::vector<SafeSum> parts(residual.size());
    ParallelFor(n, kGrain, [&](std::size_t begin, std::size_t end) {
      std::vector<double> shift(columns);
      std::vector<double> slope(columns);
      for (std::size_t a = begin; a < end; ++a) {
        residual[a / kGrain] += AddVariable(a, values.row(a).data(), factor, shift.data(),
                                            slope.data(), &parts[a / kGrain]);
      }
    });
    SafeSum sum;
    for (const SafeSum& part : parts) sum.Add(part);
    const double root = RootAbove(residual) + at_.of_errors;
    SafeSum all = sum;
    all.Add(0.5 * root * root);
    all.Add(-0.5 * residual_ * residual_);
    SafeSum bound;
    bound.Add(untilted_.value());
    bound.AddScaled(temperature_, all);
    bound.Widen(std::numeric_limits<double>::min() / kUlp);
    return BoundMaker::Verified(bound.Above());
  }
  Bound untilted() const override { return untilted_; }
  double temperature() const override { return temperature_; }
  std::size_t num_variables() const override { return at_.first.size(); }
  std::size_t num_labels(std::size_t) const override { return labels_; }

 private:
  // Adds the change of the log-sum; returns the variable's part of the squared residual.
  double AddVariable(std::size_t a, const double* value, double factor, double* t, double* slope,
                     SafeSum* part) const {
    const std::size_t columns = at_.columns();
    const auto [least, largest] = std::minmax_element(value, value + labels_);
    const double extent = std::abs(factor) * std::max(std::abs(*least), std::abs(*largest));
    if (!std::isfinite(extent * extent)) {
      part->Add(std::numeric_limits<double>::infinity());
      return 0.0;
    }
    const std::size_t first = at_.first[a];
    const double own = factor * value[at_.labels[first]];
    if (*least == *largest) {
      if (extent > 0.0) part->Add(own, 0.0, std::size_t{4});
      return squared_[a];
    }
    for (std::size_t j = 0; j + 1 < columns; ++j) t[j] = factor * value[at_.labels[j]] - own;
    t[columns - 1] = 0.0;
    if (at_.labels.size() < labels_) {
      double most = -std::numeric_limits<double>::infinity();
      for (std::size_t l = 0; l < labels_; ++l) {
        if (!kept_[l]) most = std::max(most, factor * value[l]);
      }
      t[columns - 1] = most - own;
    }
    double change = own;
    double size = (2.0 + static_cast<double>(columns)) * extent + size_[a];
    if (std::abs(factor) * (*largest - *least) < 0.999 * kReach) {
      for (std::size_t j = 0; j < columns; ++j) t[j] += at_.apart(a, j);
      change += LogSumOf(at_, a, t, slope).value - value_[a];
    } else {
      LogSumOf(at_, a, at_.apart.row(a).data(), slope);
      for (std::size_t j = 0; j < columns; ++j) {
        const double c = at_.curvature(a, j);
        if (c == 0.0) continue;
        change += slope[j] * t[j] + 0.5 * c * t[j] * t[j];
      }
      for (std::size_t j = 0; j < columns; ++j) {
        const double by = at_.curvature(a, j) * t[j];
        slope[j] += by;
        slope[first] -= by;
      }
      size += 4.0 * static_cast<double>(columns) * extent * extent;
    }
    part->Add(change, size, 32 + 4 * columns);
    return SquaredResidual(at_, a, slope);
  }

  Expansion at_;
  Bound untilted_;
  double residual_;  // that the bound was verified with
  double temperature_;
  std::size_t labels_;
  std::vector<bool> kept_;
  // Of the variables where nothing was added: log-sums, their size, and parts of the squared residual.
  std::vector<double> value_;
  std::vector<double> size_;
  std::vector<double> squared_;
};

class Maker {
 public:
  Maker(const DenseCrf& model, const SemidefinitePairs& pairs, double temperature,
        const std::function<void(double)>& on_progress)
      : model_(model),
        pairs_(pairs),
        temperature_(temperature),
        on_progress_(on_progress),
        n_(model.num_variables()),
        num_labels_(static_cast<std::size_t>(model.num_labels())) {}

  std::optional<Bound> Run(const Matrix<float>& marginals, TiltedPlace tilted) {
    Start(marginals);
    double rho = 1.0;
    constexpr int kRounds = 8;
    for (int round = 0; round < kRounds; ++round) {
      Report(0.8 * round / kRounds);
      constexpr int kUpdates = 2;  // of y = b(P y), which the residual is zero at
      for (int k = 0; k < kUpdates; ++k) {
        Expand(&y_);
        ApplyToPoint();
      }
      Matrix<double> next(n_, y_.cols());
      Expand(&next);
      rho = SpectralRadius();
      if (rho < kGoodRadius && round >= 2) break;
      if (round + 1 < kRounds) WeakenPairs();
    }
    if (!(rho < kMostRadius)) return std::nullopt;
    Report(0.9);
    FindResponse(rho);
    SafeSum bound = ValueAtPoint();
    const double logdet = LogDeterminant(rho);
    bound.Add(0.5 * residual_ * residual_);
    bound.Add(0.5 * logdet);
    SafeSum scaled;
    scaled.Add(-model_.constant());
    scaled.AddScaled(temperature_, bound);
    const Bound upper = BoundMaker::Verified(scaled.Above());
    if (tilted != nullptr) {
      *tilted = std::make_shared<FluctuationTilted>(std::move(at_), upper, residual_, temperature_,
                                                    num_labels_);
    }
    return upper;
  }

 private:
  static constexpr double kGoodRadius = 0.9;
  static constexpr double kMostRadius = 0.98;

  void Report(double done) const {
    if (on_progress_) on_progress_(done);
  }
  double Unary(std::size_t a, std::size_t label) const {
    return static_cast<double>(model_.unary()(a, label)) / temperature_;
  }
  std::size_t columns() const { return at_.labels.size() + 1; }
  bool has_rest() const { return at_.labels.size() < num_labels_; }
  // Of numbers that were not multiplied yet by what Product does.
  double Upwards(double x) const { return x * Rounding() / temperature_; }
  double Rounding() const { return 1.0 + 2.0 * pairs_.error + 16.0 * kUlp; }

  // P x in units of T, where the pairs of variable a are weakened by theta_a.
  Matrix<double> Product(Matrix<double> x) const {
    Scale(&x, 1.0);
    Matrix<double> product = pairs_.product(x);
    Scale(&product, 1.0 / temperature_);
    return product;
  }
  void Scale(Matrix<double>* x, double by) const {
    ParallelFor(n_, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a) {
        for (double& value : x->row(a)) value *= theta_[a] * by;
      }
    });
  }
  double Self(std::size_t a) const { return Upwards(theta_[a] * theta_[a] * pairs_.self[a]); }
  void SumRows() {
    const Matrix<double> sums = Product(Matrix<double>(n_, 1, 1.0));
    row_sums_.assign(sums.data(), sums.data() + n_);
  }

  // Pairs of less weight cost less, so that any theta in [0, 1] bounds log Z from above. They are weakened where fluctuations
  // reinforce each other, and where the pairs of a variable, which agree anyhow, say less than its own fluctuations cost: the
  // derivatives by theta_a of <theta, P theta> / 2 - <theta y, P theta y> / 2 and of the trace are about these.
  void WeakenPairs() {
    constexpr double kAim = 0.85;
    constexpr double kOfDeterminant = 2.6;
    constexpr double kLeast = 0.05;
    ParallelFor(n_, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a) {
        if (ratio_[a] > kAim) stable_[a] *= std::max(0.5, std::sqrt(kAim / ratio_[a]));
        const double self = pairs_.self[a] / temperature_;
        double disagree = row_sums_[a] / theta_[a] - theta_[a] * self;
        double curvature = 0.0;
        for (std::size_t j = 0; j < columns(); ++j) {
          if (j < y_.cols())
            disagree -= y_(a, j) * (field_(a, j) / theta_[a] - theta_[a] * self * y_(a, j));
          curvature += at_.curvature(a, j);
        }
        const double best = std::max(0.0, disagree) / (kOfDeterminant * curvature * self);
        theta_[a] = std::min(stable_[a], std::max(best, kLeast));
      }
    });
    SumRows();
    FindRest();
    ApplyToPoint();
  }

  // Keeps the labels whose fluctuations cost less than to let all their pairs agree.
  void Start(const Matrix<float>& marginals) {
    theta_.assign(n_, 1.0);
    stable_ = theta_;
    SumRows();
    Matrix<double> y(n_, num_labels_);
    ParallelFor(n_, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a)
        dense_verifier::NormaliseRow(marginals, a, y.row(a).data());
    });
    const Matrix<double> fields = Product(y);
    std::vector<double> to_keep(num_labels_, 0.0);
    std::vector<double> to_drop(num_labels_, 0.0);
    std::vector<double> mass(num_labels_, 0.0);
    for (std::size_t a = 0; a < n_; ++a) {
      double best = -std::numeric_limits<double>::infinity();
      for (std::size_t l = 0; l < num_labels_; ++l)
        best = std::max(best, fields(a, l) - Unary(a, l));
      double sum = 0.0;
      for (std::size_t l = 0; l < num_labels_; ++l)
        sum += std::exp(fields(a, l) - Unary(a, l) - best);
      for (std::size_t l = 0; l < num_labels_; ++l) {
        const double t = fields(a, l) - Unary(a, l) - best;
        to_keep[l] += Self(a) * CurvatureOfTwo(t, kReach);
        const double agreeing = 0.5 * row_sums_[a] - fields(a, l);
        to_drop[l] +=
            std::log1p(std::exp(t) / sum * std::expm1(agreeing)) + 0.5 * y(a, l) * fields(a, l);
        mass[l] += y(a, l);
      }
    }
    const auto heaviest =
        static_cast<std::size_t>(std::max_element(mass.begin(), mass.end()) - mass.begin());
    for (std::size_t l = 0; l < num_labels_; ++l) {
      constexpr double kOfDeterminant = 1.5;  // what is lost beside the trace
      if (l == heaviest || to_drop[l] > kOfDeterminant * to_keep[l])
        at_.labels.push_back(static_cast<int>(l));
    }
    y_ = Matrix<double>(n_, at_.labels.size());
    for (std::size_t a = 0; a < n_; ++a) {
      for (std::size_t j = 0; j < y_.cols(); ++j)
        y_(a, j) = y(a, static_cast<std::size_t>(at_.labels[j]));
    }
    FindRest();
    ApplyToPoint();
  }

  void FindRest() {
    rest_.assign(n_, -std::numeric_limits<double>::infinity());
    for (std::size_t a = 0; a < n_ && has_rest(); ++a) {
      double largest = -std::numeric_limits<double>::infinity();
      for (std::size_t l = 0, j = 0; l < num_labels_; ++l) {
        if (j < at_.labels.size() && at_.labels[j] == static_cast<int>(l)) {
          ++j;
        } else {
          largest = std::max(largest, -Unary(a, l));
        }
      }
      double sum = 0.0;
      for (std::size_t l = 0, j = 0; l < num_labels_; ++l) {
        if (j < at_.labels.size() && at_.labels[j] == static_cast<int>(l)) {
          ++j;
        } else {
          sum += std::exp(-Unary(a, l) - largest);
        }
      }
      // <z, P z> <= <z, P 1> of a label's indicator: half of it is the most that its pairs give back.
      rest_[a] = largest + std::log(sum) + 0.5 * row_sums_[a] * Rounding() +
                 kUlp * (64.0 + 8.0 * static_cast<double>(num_labels_)) * (1.0 + std::abs(largest));
    }
  }

  void ApplyToPoint() { field_ = Product(y_); }

  // The exponents of the columns at the point, and the most probable one with pairs.
  std::size_t Exponents(std::size_t a, double* x) const {
    const std::size_t kept = at_.labels.size();
    for (std::size_t j = 0; j < kept; ++j)
      x[j] = field_(a, j) - Unary(a, static_cast<std::size_t>(at_.labels[j]));
    x[kept] = rest_[a];
    return static_cast<std::size_t>(std::max_element(x, x + kept) - x);
  }

  // The next point has the slopes at this one.
  void Expand(Matrix<double>* next) {
    at_.first.resize(n_);
    at_.at_once.resize(n_);
    at_.apart = Matrix<double>(n_, columns());
    at_.curvature = Matrix<double>(n_, columns());
    const std::size_t others = columns() - (has_rest() ? 1 : 2);
    ParallelFor(n_, kGrain, [&](std::size_t begin, std::size_t end) {
      std::vector<double> slope(columns());
      for (std::size_t a = begin; a < end; ++a) {
        double* t = at_.apart.row(a).data();
        const std::size_t first = Exponents(a, t);
        const double own = t[first];
        for (std::size_t j = 0; j < columns(); ++j) t[j] -= own;
        const LogSum at_once = AllAtOnce(t, first, columns(), slope.data());
        constexpr double kMuch = 0.05;  // nats
        at_.first[a] = static_cast<std::uint32_t>(first);
        at_.at_once[a] =
            OneByOne(t, first, columns(), slope.data()).value > at_once.value + kMuch ? 1 : 0;
        LogSumOf(at_, a, t, slope.data());
        for (std::size_t j = 0; j < columns(); ++j) {
          if (j == first || (j == at_.labels.size() && !has_rest())) continue;
          at_.curvature(a, j) = at_.at_once[a] != 0 ? CurvatureOf(at_once.of_others, others, kReach)
                                                    : CurvatureOfTwo(t[j], kReach);
        }
        for (std::size_t j = 0; j < next->cols(); ++j) (*next)(a, j) = std::max(0.0, slope[j]);
      }
    });
  }

  // At least the largest eigenvalue of A = V^T P V C, V_aj = e_j - e_first(a): any positive p has |A| p <= rho p (Collatz and
  // Wielandt), and |<V_aj, V_bm>| <= [j = m] + [j = first(b)] + [first(a) = m] + [first(a) = first(b)].
  double SpectralRadius() {
    const std::size_t kept = at_.labels.size();
    Matrix<double> p(n_, columns(), 1.0);
    double radius = std::numeric_limits<double>::infinity();
    constexpr int kSteps = 5;
    for (int step = 0; step < kSteps; ++step) {
      Matrix<double> x(n_, kept, 0.0);
      ParallelFor(n_, kGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t a = begin; a < end; ++a) {
          double all = 0.0;
          for (std::size_t j = 0; j < columns(); ++j) {
            const double term = at_.curvature(a, j) * p(a, j);
            if (j < kept) x(a, j) += term;
            all += term;
          }
          x(a, at_.first[a]) += all;
        }
      });
      Matrix<double> sums = Product(std::move(x));
      const double found =
          LargestRatio(sums, &p) * (Rounding() + 8.0 * kUlp * static_cast<double>(columns()));
      if (found > radius) continue;
      radius = found;
      eigenvector_ = std::move(sums);
    }
    return radius;
  }
  // The largest quotient of A p and p; p becomes A p, and a little more so that no entry is far below the others.
  double LargestRatio(const Matrix<double>& sums, Matrix<double>* p) {
    constexpr double kFloor = 1e-3;
    ratio_.assign(n_, 0.0);
    ParallelFor(n_, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a) {
        const double own = sums(a, at_.first[a]);
        for (std::size_t j = 0; j < columns(); ++j) {
          if (at_.curvature(a, j) == 0.0) continue;
          const double next = own + (j < at_.labels.size() ? sums(a, j) : 0.0);
          ratio_[a] = std::max(ratio_[a], next / (*p)(a, j));
          (*p)(a, j) = next + kFloor;
        }
      }
    });
    return *std::max_element(ratio_.begin(), ratio_.end());
  }

  // (1/P - C)^-1 = P + P C P + ... has entries of at most those with |C|, and is at most the diagonal matrix of the row sums of
  // that, d = P (1 + |C| d). Any d >= P (1 + |C| d) is above them: some iterations, and as much of the vector q with
  // P |C| q <= rho q as the last of them leaves open.
  void FindResponse(double rho) {
    const std::size_t kept = at_.labels.size();
    Matrix<double>& d = at_.response;
    d = Matrix<double>(n_, kept);
    for (std::size_t a = 0; a < n_; ++a) {
      for (double& value : d.row(a)) value = row_sums_[a];
    }
    double missing = 0.0;
    constexpr int kIterations = 12;
    for (int k = 0; k < kIterations; ++k) {
      Matrix<double> x(n_, kept);
      ParallelFor(n_, kGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t a = begin; a < end; ++a) {
          const std::size_t first = at_.first[a];
          double own = 0.0;
          for (std::size_t j = 0; j < columns(); ++j) {
            const double c = at_.curvature(a, j);
            if (j < kept && j != first) x(a, j) = 1.0 + c * (d(a, j) + d(a, first));
            own += c * (d(a, first) + (j < kept ? d(a, j) : 0.0));
          }
          x(a, first) = 1.0 + own;
        }
      });
      Matrix<double> next = Product(std::move(x));
      missing = 0.0;
      for (std::size_t i = 0; i < next.size(); ++i) {
        const double by = next.data()[i] * (Rounding() + 1e-12) - d.data()[i];
        if (by > 0.0) missing = std::max(missing, by / ((1.0 - rho) * eigenvector_.data()[i]));
      }
      if (k + 1 < kIterations) d = std::move(next);
    }
    for (std::size_t i = 0; i < d.size(); ++i)
      d.data()[i] = (d.data()[i] + missing * eigenvector_.data()[i]) * (1.0 + 1e-9);
  }

  // -<1, P 1> / 2 - sum_j <y_j, P y_j> / 2 + sum_a log-sum; finds the residual, too.
  SafeSum ValueAtPoint() {
    const std::size_t kept = at_.labels.size();
    const double relative = pairs_.error / kUlp + 16.0;  // roundings of products
    std::vector<double> squares((n_ + kGrain - 1) / kGrain, 0.0);
    std::vector<double> errors((n_ + kGrain - 1) / kGrain, 0.0);
    const auto size = static_cast<double>(columns());
    at_.point = y_;
    SafeSum sum = SumVariables(n_, [&](std::size_t a, SafeSum* part) {
      const std::size_t first = at_.first[a];
      part->Add(-0.5 * row_sums_[a], 0.0, relative);
      double largest = has_rest() ? std::abs(rest_[a]) : 0.0;
      double response = 0.0;
      for (std::size_t j = 0; j < kept; ++j) {
        part->Add(-0.5 * y_(a, j) * field_(a, j), 0.0, relative);
        largest = std::max(
            largest, std::abs(Unary(a, static_cast<std::size_t>(at_.labels[j]))) + field_(a, j));
        response = std::max(response, at_.response(a, j));
      }
      part->Add(field_(a, first) - Unary(a, static_cast<std::size_t>(at_.labels[first])), largest,
                16.0);
      std::vector<double> slope(columns());
      const LogSum log_sum = LogSumOf(at_, a, at_.apart.row(a).data(), slope.data());
      part->Add(log_sum.value, std::abs(log_sum.of_others), 16.0 + 2.0 * size);
      squares[a / kGrain] += SquaredResidual(at_, a, slope.data());
      // The exponents are off by this, which moves the sum by as much times the slopes, and the residual by less.
      const double moved = (pairs_.error + 16.0 * kUlp) * largest;
      part->Widen(4.0 * size * moved * (1.0 + moved) / kUlp);
      errors[a / kGrain] += response * size * size * moved * moved;
    });
    at_.of_errors = RootAbove(errors);
    residual_ = (RootAbove(squares) + at_.of_errors) * (1.0 + 4.0 * kUlp);
    return sum;
  }

  // At least -log det(1 - A) = sum_k tr A^k / k <= tr A + tr A^2 (-log(1 - rho) - rho) / rho^2. The trace of A^2 is at most
  // 4 sum_ab u_a u_b P_ab^2, u the sums of curvatures, and P_ab^2 <= P_ab sqrt(P_aa P_bb).
  double LogDeterminant(double rho) const {
    Matrix<double> u(n_, 1);
    double trace = 0.0;
    for (std::size_t a = 0; a < n_; ++a) {
      const double self = Self(a);
      double all = 0.0;
      for (std::size_t j = 0; j < columns(); ++j) {
        all += at_.curvature(a, j);
        trace += (j < at_.labels.size() ? 2.0 : 1.0) * at_.curvature(a, j) * self;
      }
      u(a, 0) = all * std::sqrt(self);
    }
    const Matrix<double> near = Product(u);
    double second = 0.0;
    for (std::size_t a = 0; a < n_; ++a) second += 4.0 * u(a, 0) * near(a, 0);
    // Its series where rho is small; beyond, by rounding upwards.
    const double factor =
        rho < 0.01 ? 0.51 : (-std::log1p(-rho) - rho) / (rho * rho) * (1.0 + 1e-9);
    const double more =
        1.0 + 1e-9 + 2.0 * pairs_.error + 4.0 * kUlp * static_cast<double>(n_ * columns());
    return (trace + factor * second) * more;
  }

  const DenseCrf& model_;
  const SemidefinitePairs& pairs_;
  const double temperature_;
  const std::function<void(double)>& on_progress_;
  const std::size_t n_;
  const std::size_t num_labels_;
  Expansion at_;
  std::vector<double> theta_;
  std::vector<double> stable_;  // the most that theta may be
  std::vector<double> row_sums_;
  std::vector<double> ratio_;   // of A p and p
  Matrix<double> eigenvector_;  // q > 0, P |C| q <= rho q
  std::vector<double> rest_;    // the exponent of all labels without pairs
  Matrix<double> y_;
  Matrix<double> field_;   // P y
  double residual_ = 0.0;  // at least the root of <b - y, (1/P - C)^-1 (b - y)>
};

}  // namespace

std::optional<Bound> FluctuationUpper(const DenseCrf& model, const SemidefinitePairs& pairs,
                                      const Matrix<float>& marginals, double temperature,
                                      const std::function<void(double)>& on_progress,
                                      TiltedPlace tilted) {
  return Maker(model, pairs, temperature, on_progress).Run(marginals, tilted);
}

}  // namespace submarine::internal
