#include "submarine/bound/verify/cliques/clique_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/labels/metric_fit.h"

namespace submarine::internal {
namespace {

constexpr double kUlp = std::numeric_limits<double>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kCliqueGrain = 16;

// In the precision of the model's unaries, at most (sign < 0) or at least (sign > 0) x.
template <class Real>
Real Rounded(double x, double sign) {
  const auto near = static_cast<Real>(x);
  const bool safe = sign > 0.0 ? static_cast<double>(near) >= x : static_cast<double>(near) <= x;
  return safe ? near : std::nextafter(near, static_cast<Real>(sign > 0.0 ? kInfinity : -kInfinity));
}

// Unaries as sums of a few terms, with the sum of their magnitudes, which bounds the rounding.
class Unaries {
 public:
  template <class Real>
  explicit Unaries(const Matrix<Real>& given)
      : sum_(given.rows(), given.cols()),
        magnitude_(given.rows(), given.cols()),
        terms_(given.rows(), 1.0) {
    for (std::size_t k = 0; k < given.size(); ++k) {
      sum_.data()[k] = static_cast<double>(given.data()[k]);
      magnitude_.data()[k] = std::abs(sum_.data()[k]);
    }
  }
  void Add(std::size_t a, std::size_t label, double x) {
    sum_(a, label) += x;
    magnitude_(a, label) += std::abs(x);
  }
  void CountTerm(std::size_t a) { terms_[a] += 1.0; }

  // Every term has two roundings of its own, and every addition one, of at most the magnitudes.
  template <class Real>
  Matrix<Real> Take(double sign) const {
    Matrix<Real> unary(sum_.rows(), sum_.cols());
    for (std::size_t a = 0; a < sum_.rows(); ++a) {
      for (std::size_t i = 0; i < sum_.cols(); ++i) {
        const double error = terms_[a] == 1.0
                                 ? 0.0
                                 : kUlp * (terms_[a] + 4.0) *
                                       (magnitude_(a, i) + std::numeric_limits<double>::min());
        unary(a, i) = Rounded<Real>(sum_(a, i) + sign * error, sign);
      }
    }
    return unary;
  }

 private:
  Matrix<double> sum_;
  Matrix<double> magnitude_;
  std::vector<double> terms_;
};

SparseCrf WithUnaries(const SparseCrf& pairs, const Unaries& unaries, double sign,
                      double constant) {
  return {unaries.Take<double>(sign), pairs.edges(), pairs.labels(), constant};
}
DenseCrf WithUnaries(const DenseCrf& pairs, const Unaries& unaries, double sign, double constant) {
  return {unaries.Take<float>(sign), pairs.kernels(), pairs.labels(), pairs.counting(), constant};
}

template <class Pairs, class Real>
Pairs Below(const CliqueCrf<Pairs>& model, const Matrix<Real>& q) {
  std::size_t memberships = 0;
  for (const Clique& clique : model.cliques()) memberships += clique.members.size();
  const auto labels = static_cast<std::size_t>(model.num_labels());
  if (q.rows() != memberships || q.cols() != labels) {
    throw InvalidInput(
        fmt::format("the evidence of the cliques is {} x {}, the model has {} variables in cliques "
                    "and {} labels",
                    q.rows(), q.cols(), memberships, labels));
  }
  Unaries unaries(model.pairs().unary());
  SafeSum constant;
  constant.Add(model.pairs().constant());
  std::size_t m = 0;
  for (const Clique& clique : model.cliques()) {
    const double theta = clique.theta();
    std::vector<SafeSum> mass(labels);
    for (std::size_t k = 0; k < clique.members.size(); ++k, ++m) {
      const auto a = static_cast<std::size_t>(clique.members[k]);
      for (std::size_t i = 0; i < labels; ++i) {
        const auto given = static_cast<double>(q(m, i));
        if (std::isnan(given)) {
          throw InvalidInput(fmt::format(
              "the evidence of variable {}, label {} in a clique is NaN, expected a number", a, i));
        }
        const double share = std::clamp(given, 0.0, clique.weight(k));
        mass[i].Add(share);
        unaries.Add(a, i, -theta * share);
      }
      unaries.CountTerm(a);
    }
    // At most gamma is lacking: psi >= 0 >= gamma - theta sum q - theta Q.
    double lacking = 0.0;
    for (const SafeSum& sum : mass)
      lacking = std::max(lacking, clique.truncation - std::max(0.0, sum.Below()));
    constant.Add(clique.gamma);
    // The quotient theta has a rounding, by which theta q may exceed its limit.
    constant.Add(-theta * lacking, 4.0 * clique.gamma, 8.0);
  }
  return WithUnaries(model.pairs(), unaries, -1.0, constant.Below());
}

template <class Pairs>
Pairs Above(const CliqueCrf<Pairs>& model, const Matrix<double>& holders) {
  const auto labels = static_cast<std::size_t>(model.num_labels());
  if (holders.rows() != model.cliques().size() || holders.cols() != labels) {
    throw InvalidInput(
        fmt::format("the holders are {} x {}, the model has {} cliques and {} labels",
                    holders.rows(), holders.cols(), model.cliques().size(), labels));
  }
  Unaries unaries(model.pairs().unary());
  SafeSum constant;
  constant.Add(model.pairs().constant());
  for (std::size_t c = 0; c < holders.rows(); ++c) {
    const Clique& clique = model.cliques()[c];
    double none = 1.0;
    for (std::size_t i = 0; i < labels; ++i) {
      const double share = holders(c, i);
      none -= share;
      if (!(share >= 0.0) || !(none >= -kUlp * static_cast<double>(labels + 4))) {
        throw InvalidInput(fmt::format(
            "the holders of clique {} are no shares, expected numbers >= 0 that sum to at most 1",
            c));
      }
      if (share == 0.0) continue;
      for (std::size_t k = 0; k < clique.members.size(); ++k) {
        const auto a = static_cast<std::size_t>(clique.members[k]);
        const double cost = share * clique.theta() * clique.weight(k);
        // theta u [x_a != h] = theta u - theta u [x_a = h]
        constant.Add(cost, 0.0, 4.0);
        unaries.Add(a, i, -cost);
        unaries.CountTerm(a);
      }
    }
    // Shares and what is left of 1 sum to it but for roundings.
    constant.Add(clique.gamma * std::max(0.0, none), clique.gamma, labels + 4);
  }
  return WithUnaries(model.pairs(), unaries, 1.0, constant.Above());
}

// The metrics of a label space with a label more, which is in none of the cuts. How far it is from the others does not matter;
// metrics of a known kind stay of it.
LabelSpace WithOneMore(const LabelSpace& labels) {
  const auto more = static_cast<std::size_t>(labels.num_labels());
  std::vector<std::vector<int>> composite;
  for (int c = labels.num_labels(); c < labels.cuts->num_cuts(); ++c)
    composite.push_back(labels.cuts->set(c));
  LabelSpace wider{.cuts = std::make_shared<LabelCuts>(labels.num_labels() + 1, composite)};
  for (const LabelMetric& metric : labels.metrics) {
    LabelMetric copy = metric;
    copy.length.insert(copy.length.begin() + labels.num_labels(), 0.0);
    const Matrix<double>& d = metric.distance;
    const bool is_known = RecogniseMetric(d).has_value();
    const double diameter = *std::max_element(d.data(), d.data() + d.size());
    copy.distance = CutDistance(*wider.cuts, copy.length);
    for (std::size_t i = 0; i < more; ++i) {
      std::copy(d.row(i).begin(), d.row(i).end(), copy.distance.row(i).begin());
      if (!is_known) continue;
      const double far = std::min(diameter, d(i, more - 1) + d(0, 1));
      copy.distance(i, more) = copy.distance(more, i) = far;
    }
    wider.metrics.push_back(std::move(copy));
  }
  return wider;
}

class MembersUpper final : public TiltedUpper {
 public:
  MembersUpper(std::size_t variables, std::size_t labels, std::shared_ptr<const TiltedUpper> latent)
      : variables_(variables), labels_(labels), latent_(std::move(latent)) {}
  Bound LogZ(const Matrix<double>& values, double delta) const override {
    Matrix<double> all(latent_->num_variables(), labels_ + 1);
    for (std::size_t a = 0; a < variables_; ++a)
      std::copy_n(values.row(a).begin(), labels_, all.row(a).begin());
    return latent_->LogZ(all, delta);
  }
  Bound untilted() const override { return latent_->untilted(); }
  double temperature() const override { return latent_->temperature(); }
  std::size_t num_variables() const override { return variables_; }
  std::size_t num_labels(std::size_t) const override { return labels_; }

 private:
  std::size_t variables_;
  std::size_t labels_;
  std::shared_ptr<const TiltedUpper> latent_;
};

template <class Pairs>
Bound Energy(const CliqueCrf<Pairs>& model, const Pairs& known, const Bound& energy,
             std::span<const int> labeling) {
  const std::size_t n = model.num_variables();
  if (labeling.size() != n || known.num_variables() != n) {
    throw InvalidInput(
        fmt::format("the labeling has {} labels, the model has {} variables", labeling.size(), n));
  }
  for (std::size_t a = 0; a < n; ++a) {
    if (labeling[a] < 0 || labeling[a] >= model.num_labels()) {
      throw InvalidInput(fmt::format("variable {} has the label {}, expected one of 0..{}", a,
                                     labeling[a], model.num_labels() - 1));
    }
  }
  SafeSum sum;
  sum.Add(energy.value());
  sum.Add(model.pairs().constant());
  sum.Add(-known.constant());
  for (std::size_t a = 0; a < n; ++a) {
    const auto i = static_cast<std::size_t>(labeling[a]);
    sum.Add(static_cast<double>(model.pairs().unary()(a, i)));
    sum.Add(-static_cast<double>(known.unary()(a, i)));
  }
  for (const Clique& clique : model.cliques()) {
    std::vector<SafeSum> deviating(static_cast<std::size_t>(model.num_labels()));
    SafeSum total;
    for (std::size_t k = 0; k < clique.members.size(); ++k) {
      const int label = labeling[static_cast<std::size_t>(clique.members[k])];
      deviating[static_cast<std::size_t>(label)].Add(-clique.weight(k));
      total.Add(clique.weight(k));
    }
    double least = kInfinity;
    for (SafeSum& of_label : deviating) {
      of_label.Add(total);
      least = std::min(least, std::max(0.0, of_label.Above()));
    }
    sum.Add(std::min(clique.gamma, clique.theta() * least), 0.0, 4.0);
  }
  return BoundMaker::Like(energy, sum.Above());
}

// The distribution of N = sum_a u_a b_a, b_a = 1 with probability p_a, on multiples of a step below the truncation Q.
// Weights are rounded up to multiples, which only lowers (Q - N)^+.
class Deviation {
 public:
  explicit Deviation(const Clique& clique) : clique_(clique) {
    double step = clique.weight(0);
    for (std::size_t k = 0; k < clique.members.size(); ++k) step = std::min(step, clique.weight(k));
    bool even = clique.truncation <= kMostCells * step;
    for (std::size_t k = 0; even && k < clique.members.size(); ++k)
      even = clique.weight(k) / step == std::round(clique.weight(k) / step);
    step_ = even ? step : clique.truncation / kMostCells;
    cells_.resize(static_cast<std::size_t>(std::ceil(clique.truncation / step_)));
  }

  // E (Q - N)^+, or less; p are upper bounds. Sums and products of terms >= 0 only lose by rounding what is taken off in
  // the end.
  double Below(const std::vector<double>& p) {
    std::fill(cells_.begin(), cells_.end(), 0.0);
    cells_[0] = 1.0;
    for (std::size_t k = 0; k < p.size(); ++k) {
      const double steps = std::ceil(clique_.weight(k) / step_);
      const double stays = 1.0 - p[k];
      const std::size_t width =
          static_cast<std::size_t>(std::min(steps, static_cast<double>(cells_.size())));
      for (std::size_t i = cells_.size(); i-- > width;)
        cells_[i] = cells_[i] * stays + cells_[i - width] * p[k];
      for (std::size_t i = std::min(width, cells_.size()); i-- > 0;) cells_[i] *= stays;
    }
    double sum = 0.0;
    for (std::size_t i = 0; i < cells_.size(); ++i)
      sum += cells_[i] * std::max(0.0, clique_.truncation - static_cast<double>(i) * step_);
    const auto roundings = static_cast<double>(4 * p.size() + cells_.size() + 16);
    return std::max(0.0, sum * (1.0 - kUlp * roundings) - kUlp * roundings * clique_.truncation);
  }

 private:
  static constexpr double kMostCells = 1024.0;
  const Clique& clique_;
  double step_;
  std::vector<double> cells_;
};

// An upper bound on gamma - theta sum_l E (Q - N_l)^+ at the probabilities of other labels than l, rounded upwards.
double ExpectedAbove(const Clique& clique, const Matrix<double>& others) {
  // P(N < mean - t) <= exp(-t^2 / (2 sum u^2 p)): where that is e^-40, next to nothing is left of the expectation.
  constexpr double kFar = 80.0;
  const std::size_t members = clique.members.size();
  Deviation deviation(clique);
  std::vector<double> p(members);
  SafeSum expected;
  expected.Add(clique.gamma);
  for (std::size_t l = 0; l < others.cols(); ++l) {
    double mean = 0.0;
    double spread = 0.0;
    for (std::size_t k = 0; k < members; ++k) {
      p[k] = others(static_cast<std::size_t>(clique.members[k]), l);
      mean += clique.weight(k) * p[k];
      spread += clique.weight(k) * clique.weight(k) * p[k];
    }
    const double beyond = std::max(0.0, mean - clique.truncation);
    if (beyond * beyond > kFar * spread) continue;
    const double jensen =
        clique.truncation - mean * (1.0 + kUlp * static_cast<double>(2 * members + 4));
    const double least = std::max(jensen, deviation.Below(p));
    if (least > 0.0) expected.Add(-clique.theta() * least, clique.gamma, 8.0);
  }
  return std::max(0.0, expected.Above());
}

template <class Pairs, class Real>
Bound Lower(const CliqueCrf<Pairs>& model, const Pairs& known, const Bound& lower,
            const Matrix<Real>& y) {
  const std::size_t n = model.num_variables();
  const auto labels = static_cast<std::size_t>(model.num_labels());
  if (y.rows() != n || y.cols() != labels || known.num_variables() != n) {
    throw InvalidInput(
        fmt::format("the marginals are {} x {}, the model has {} variables and {} labels", y.rows(),
                    y.cols(), n, labels));
  }
  SafeSum sum;
  sum.Add(lower.value());
  sum.Add(-model.pairs().constant());
  sum.Add(known.constant());
  Matrix<double> others(n, labels);
  const double roundings = static_cast<double>(labels) + 4.0;
  for (std::size_t a = 0; a < n; ++a) {
    double total = 0.0;
    for (const Real p : y.row(a)) {
      total += static_cast<double>(p);
      if (!(p >= 0)) total = -kInfinity;
    }
    if (!(total > 0.0) || !std::isfinite(total)) {
      throw InvalidInput(
          fmt::format("the marginals of variable {} are no distribution: expected numbers >= 0 "
                      "with a positive sum",
                      a));
    }
    for (std::size_t i = 0; i < labels; ++i) {
      const double p = static_cast<double>(y(a, i)) / total;
      others(a, i) = std::min(1.0, std::max(0.0, 1.0 - p) + kUlp * roundings);
      const auto before = static_cast<double>(known.unary()(a, i));
      const auto after = static_cast<double>(model.pairs().unary()(a, i));
      if (before == after) continue;
      sum.Add(p * before, 0.0, roundings);
      sum.Add(-p * after, 0.0, roundings);
    }
  }
  std::vector<double> expected(model.cliques().size());
  ParallelFor(expected.size(), kCliqueGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c)
      expected[c] = ExpectedAbove(model.cliques()[c], others);
  });
  for (const double value : expected) sum.Add(-value);
  return BoundMaker::Like(lower, sum.Below());
}

}  // namespace

SparseCrf PairsBelow(const CliqueCrf<SparseCrf>& model, const Matrix<double>& q) {
  return Below(model, q);
}
DenseCrf PairsBelow(const CliqueCrf<DenseCrf>& model, const Matrix<float>& q) {
  return Below(model, q);
}
SparseCrf PairsAbove(const CliqueCrf<SparseCrf>& model, const Matrix<double>& holders) {
  return Above(model, holders);
}
DenseCrf PairsAbove(const CliqueCrf<DenseCrf>& model, const Matrix<double>& holders) {
  return Above(model, holders);
}

std::optional<SparseCrf> WithLatentLabels(const CliqueCrf<SparseCrf>& model, double temperature) {
  constexpr double kLargest = 1e290;
  // exp(-60) of a variable's other states.
  constexpr double kExcluded = 60.0;
  const SparseCrf& pairs = model.pairs();
  const std::size_t n = pairs.num_variables();
  const auto labels = static_cast<std::size_t>(pairs.num_labels());
  if (pairs.num_labels() == kMaxLabels) return std::nullopt;
  LabelSpace space = WithOneMore(pairs.labels());
  const auto of_cliques = static_cast<int>(space.metrics.size());
  LabelMetric halves{
      .name = "cliques",
      .distance = Matrix<double>(labels + 1, labels + 1, 1.0),
      .length = std::vector<double>(static_cast<std::size_t>(space.cuts->num_cuts()))};
  for (std::size_t i = 0; i < labels; ++i) {
    halves.length[i] = 0.5;
    halves.distance(i, i) = 0.0;
    halves.distance(i, labels) = halves.distance(labels, i) = 0.5;
  }
  halves.distance(labels, labels) = 0.0;
  space.metrics.push_back(std::move(halves));

  Matrix<double> unary(n + model.cliques().size(), labels + 1);
  std::vector<Edge> edges = pairs.edges();
  // What a variable could gain on its edges by a label that it does not have.
  std::vector<double> gain(n, kExcluded * temperature);
  for (const Edge& edge : edges) {
    const Matrix<double>& d = space.metrics[static_cast<std::size_t>(edge.metric)].distance;
    const double most = edge.weight * *std::max_element(d.data(), d.data() + d.size());
    gain[static_cast<std::size_t>(edge.a)] += most;
    gain[static_cast<std::size_t>(edge.b)] += most;
  }
  for (std::size_t c = 0; c < model.cliques().size(); ++c) {
    const Clique& clique = model.cliques()[c];
    SafeSum none;
    none.Add(clique.gamma);
    for (std::size_t k = 0; k < clique.members.size(); ++k) {
      // At most theta u.
      const double weight = clique.theta() * clique.weight(k) * (1.0 - 4.0 * kUlp);
      edges.push_back({clique.members[k], static_cast<int>(n + c), weight, of_cliques});
      none.Add(-0.5 * weight);
      gain[static_cast<std::size_t>(clique.members[k])] += weight;
    }
    unary(n + c, labels) = none.Below();
  }
  double total = 0.0;
  for (std::size_t a = 0; a < n; ++a) {
    const auto row = pairs.unary().row(a);
    std::copy(row.begin(), row.end(), unary.row(a).begin());
    unary(a, labels) = *std::max_element(row.begin(), row.end()) + gain[a];
    total += std::abs(unary(a, labels)) + gain[a];
  }
  if (!(total <= kLargest)) return std::nullopt;
  return SparseCrf(std::move(unary), std::move(edges), std::move(space), pairs.constant());
}

std::shared_ptr<const TiltedUpper> OfMembers(std::size_t num_variables, std::size_t num_labels,
                                             std::shared_ptr<const TiltedUpper> latent) {
  if (!latent) return latent;
  return std::make_shared<MembersUpper>(num_variables, num_labels, std::move(latent));
}

Bound EnergyFrom(const CliqueCrf<SparseCrf>& model, const SparseCrf& known, const Bound& energy,
                 std::span<const int> labeling) {
  return Energy(model, known, energy, labeling);
}
Bound EnergyFrom(const CliqueCrf<DenseCrf>& model, const DenseCrf& known, const Bound& energy,
                 std::span<const int> labeling) {
  return Energy(model, known, energy, labeling);
}

Bound LowerFrom(const CliqueCrf<SparseCrf>& model, const SparseCrf& known, const Bound& lower,
                const Matrix<double>& y) {
  return Lower(model, known, lower, y);
}
Bound LowerFrom(const CliqueCrf<DenseCrf>& model, const DenseCrf& known, const Bound& lower,
                const Matrix<float>& y) {
  return Lower(model, known, lower, y);
}

Bound DualFrom(const CliqueCrf<SparseCrf>& model, const Bound& of_pairs,
               const Matrix<double>& marginals) {
  const auto labels = static_cast<std::size_t>(model.num_labels());
  Matrix<double> y = marginals;
  for (std::size_t a = 0; a < y.rows(); ++a) {
    double total = 0.0;
    for (const double p : y.row(a)) total += p;
    for (double& p : y.row(a)) p /= total;
  }
  SafeSum dual;
  dual.Add(of_pairs.value());
  for (const Clique& clique : model.cliques()) {
    // A change of y by delta changes f by at most gamma delta for each label; rows are off by their roundings.
    const double roundings = static_cast<double>(labels + clique.members.size());
    dual.Add(-clique.gamma, clique.gamma * static_cast<double>(labels), roundings);
    std::vector<std::size_t> order(clique.members.size());
    for (std::size_t i = 0; i < labels; ++i) {
      const auto mass = [&](std::size_t k) {
        return y(static_cast<std::size_t>(clique.members[k]), i);
      };
      for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
      std::sort(order.begin(), order.end(),
                [&](std::size_t k, std::size_t j) { return mass(k) < mass(j); });
      double left = clique.truncation;
      for (const std::size_t k : order) {
        const double taken = std::min(left, clique.weight(k));
        dual.Add(clique.theta() * taken * mass(k), 0.0, roundings);
        left -= taken;
        if (left <= 0.0) break;
      }
    }
  }
  return BoundMaker::Like(of_pairs, dual.Below());
}

}  // namespace submarine::internal
