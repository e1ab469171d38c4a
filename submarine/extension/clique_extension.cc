#include "submarine/extension/clique_extension.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "submarine/base/parallel.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kCliqueGrain = 16;

// One column of a clique, in the order of growing y.
template <class Real>
struct Column {
  std::vector<std::pair<Real, std::uint32_t>> entries;  // y and position in the clique

  void Fill(const Matrix<Real>& y, std::span<const std::uint32_t> variables, std::size_t label) {
    entries.clear();
    for (const std::uint32_t a : variables) {
      // Solvers whose numbers overflow may come with NaN, which has no order.
      const Real value = std::isnan(y(a, label)) ? Real{0} : y(a, label);
      entries.emplace_back(value, static_cast<std::uint32_t>(entries.size()));
    }
    std::sort(entries.begin(), entries.end());
  }
};

// Calls take(position, share of its weight) for those that the greedy vertex uses.
template <class Real, class Weight, class Take>
void Greedy(const Column<Real>& column, double truncation, const Weight& weight, const Take& take) {
  double left = truncation;
  const auto& entries = column.entries;
  for (std::size_t first = 0, end = 0; first < entries.size() && left > 0.0; first = end) {
    double equal = 0.0;
    for (; end < entries.size() && entries[end].first == entries[first].first; ++end)
      equal += weight(entries[end].second);
    const double share = std::min(1.0, left / equal);
    for (std::size_t k = first; k < end; ++k) take(entries[k], share);
    left -= equal;
  }
}

}  // namespace

CliqueExtension::CliqueExtension(std::span<const Clique> cliques, std::size_t num_variables,
                                 std::size_t num_labels)
    : num_variables_(num_variables),
      num_labels_(num_labels),
      strength_(num_variables, 0.0),
      incident_begin_(num_variables + 1, 0) {
  for (const Clique& clique : cliques) {
    const std::size_t begin = variable_.size();
    double total = 0.0;
    for (std::size_t k = 0; k < clique.members.size(); ++k) {
      const auto a = static_cast<std::size_t>(clique.members[k]);
      variable_.push_back(static_cast<std::uint32_t>(a));
      weight_.push_back(clique.weight(k));
      theta_.push_back(clique.theta());
      reach_.push_back(std::min(clique.weight(k), clique.truncation));
      strength_[a] += clique.theta() * reach_.back();
      ++incident_begin_[a + 1];
      total += clique.weight(k);
    }
    cliques_.push_back({begin, variable_.size(), clique.theta(), clique.truncation, total});
    offset_ += clique.gamma;
  }
  std::partial_sum(incident_begin_.begin(), incident_begin_.end(), incident_begin_.begin());
  incident_.resize(variable_.size());
  std::vector<std::size_t> next(incident_begin_.begin(), incident_begin_.end() - 1);
  for (std::size_t m = 0; m < variable_.size(); ++m)
    incident_[next[variable_[m]]++] = static_cast<std::uint32_t>(m);
}

template <class Real>
Matrix<Real> CliqueExtension::Neutral() const {
  Matrix<Real> q(num_memberships(), num_labels_);
  for (const Range& range : cliques_) {
    for (std::size_t m = range.begin; m < range.end; ++m) {
      const auto share = static_cast<Real>(weight_[m] * (range.truncation / range.total));
      std::fill(q.row(m).begin(), q.row(m).end(), share);
    }
  }
  return q;
}

template <class Real>
void CliqueExtension::MoveTowardsGreedy(const Matrix<Real>& y, double rate, Matrix<Real>* q) const {
  ParallelFor(cliques_.size(), kCliqueGrain, [&](std::size_t first, std::size_t last) {
    Column<Real> column;
    for (std::size_t c = first; c < last; ++c) {
      const Range& range = cliques_[c];
      const auto weight = [&](std::uint32_t k) { return weight_[range.begin + k]; };
      for (std::size_t m = range.begin; m < range.end; ++m) {
        for (Real& share : q->row(m)) share *= static_cast<Real>(1.0 - rate);
      }
      for (std::size_t l = 0; l < num_labels_; ++l) {
        column.Fill(y, {variable_.data() + range.begin, range.end - range.begin}, l);
        Greedy(column, range.truncation, weight, [&](const auto& entry, double share) {
          (*q)(range.begin + entry.second, l) +=
              static_cast<Real>(rate * share * weight(entry.second));
        });
      }
    }
  });
}

template <class Real>
double CliqueExtension::LovaszAt(const Matrix<Real>& y) const {
  return ParallelSum(cliques_.size(), kCliqueGrain, [&](std::size_t first, std::size_t last) {
    Column<Real> column;
    double sum = 0.0;
    for (std::size_t c = first; c < last; ++c) {
      const Range& range = cliques_[c];
      const auto weight = [&](std::uint32_t k) { return weight_[range.begin + k]; };
      for (std::size_t l = 0; l < num_labels_; ++l) {
        column.Fill(y, {variable_.data() + range.begin, range.end - range.begin}, l);
        Greedy(column, range.truncation, weight, [&](const auto& entry, double share) {
          sum -= range.theta * share * weight(entry.second) * static_cast<double>(entry.first);
        });
      }
    }
    return sum;
  });
}

template <class Real>
void CliqueExtension::AddModularRow(const Matrix<Real>& q, std::size_t a, std::span<Real> s) const {
  for (std::size_t k = incident_begin_[a]; k < incident_begin_[a + 1]; ++k) {
    const std::size_t m = incident_[k];
    const auto theta = static_cast<Real>(theta_[m]);
    const Real* row = q.row(m).data();
    for (std::size_t l = 0; l < num_labels_; ++l) s[l] -= theta * row[l];
  }
}

template <class Real>
void CliqueExtension::AddModular(const Matrix<Real>& q, Matrix<Real>* s) const {
  ParallelFor(num_variables_, kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a) AddModularRow(q, a, s->row(a));
  });
}

// For every label the shift t with sum_a clip(p_a - r_a t, 0, u_a) = Q, p = q - step r y, by Newton's method between bounds:
// the sum is piecewise linear and falls with t. All labels at once, so that rows are read as they lie in memory.
template <class Real>
double CliqueExtension::StepClique(const Range& range, const Matrix<Real>& y, double step,
                                   Matrix<Real>* q) const {
  constexpr int kMostPasses = 60;
  const double tolerance = 4.0 * std::numeric_limits<Real>::epsilon() * range.truncation;
  const std::size_t labels = num_labels_;
  const std::size_t members = range.end - range.begin;
  thread_local std::vector<Real> p_store;
  p_store.resize(members * labels);
  Real* const p = p_store.data();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> least(labels, kInfinity);  // t with a sum of U
  std::vector<double> most(labels, -kInfinity);  // t with a sum of 0
  for (std::size_t k = 0; k < members; ++k) {
    const std::size_t m = range.begin + k;
    const Real* from = q->row(m).data();
    const Real* at = y.row(variable_[m]).data();
    const double reach = reach_[m];
    const auto move = static_cast<Real>(step * reach);
    for (std::size_t l = 0; l < labels; ++l) {
      // Of solvers whose numbers overflow: such an entry stays where it is.
      const Real moved = from[l] - move * at[l];
      const Real value = std::isfinite(moved) ? moved : from[l];
      p[k * labels + l] = value;
      most[l] = std::max(most[l], static_cast<double>(value) / reach);
      least[l] = std::min(least[l], (static_cast<double>(value) - weight_[m]) / reach);
    }
  }
  std::vector<Real> t(labels);
  std::vector<double> sum(labels);
  std::vector<double> inside(labels);
  for (std::size_t l = 0; l < labels; ++l)
    t[l] = static_cast<Real>(std::clamp(0.0, least[l], most[l]));
  for (int pass = 0; pass < kMostPasses; ++pass) {
    std::fill(sum.begin(), sum.end(), 0.0);
    std::fill(inside.begin(), inside.end(), 0.0);
    for (std::size_t k = 0; k < members; ++k) {
      const auto u = static_cast<Real>(weight_[range.begin + k]);
      const auto reach = static_cast<Real>(reach_[range.begin + k]);
      const Real* row = p + k * labels;
      for (std::size_t l = 0; l < labels; ++l) {
        const Real value = row[l] - reach * t[l];
        sum[l] += static_cast<double>(std::min(std::max(value, Real{0}), u));
        inside[l] += value > Real{0} && value < u ? static_cast<double>(reach) : 0.0;
      }
    }
    bool done = true;
    for (std::size_t l = 0; l < labels; ++l) {
      const double excess = sum[l] - range.truncation;
      if (std::abs(excess) <= tolerance) continue;
      const auto here = static_cast<double>(t[l]);
      (excess > 0.0 ? least[l] : most[l]) = here;
      auto next = static_cast<Real>(inside[l] > 0.0 ? here + excess / inside[l] : kInfinity);
      // Rounded, the step may lead back to where it came from.
      const bool is_between =
          static_cast<double>(next) > least[l] && static_cast<double>(next) < most[l];
      if (!is_between) next = static_cast<Real>(0.5 * (least[l] + most[l]));
      if (next == t[l]) continue;
      t[l] = next;
      done = false;
    }
    if (done) break;
  }
  double moved = 0.0;
  for (std::size_t k = 0; k < members; ++k) {
    const std::size_t m = range.begin + k;
    const auto u = static_cast<Real>(weight_[m]);
    const auto reach = static_cast<Real>(reach_[m]);
    Real* to = q->row(m).data();
    const Real* row = p + k * labels;
    Real change = 0;
    for (std::size_t l = 0; l < labels; ++l) {
      const Real value = std::min(std::max(row[l] - reach * t[l], Real{0}), u);
      change += (value - to[l]) * (value - to[l]);
      to[l] = value;
    }
    moved += static_cast<double>(change) / reach_[m];
  }
  return range.theta * moved;
}

template <class Real>
double CliqueExtension::Step(const Matrix<Real>& y, double step, Matrix<Real>* q) const {
  return ParallelSum(cliques_.size(), kCliqueGrain, [&](std::size_t first, std::size_t last) {
    double moved = 0.0;
    for (std::size_t c = first; c < last; ++c) moved += StepClique(cliques_[c], y, step, q);
    return moved;
  });
}

#define SUBMARINE_CLIQUES_OF(Real)                                                           \
  template Matrix<Real> CliqueExtension::Neutral<Real>() const;                              \
  template void CliqueExtension::MoveTowardsGreedy<Real>(const Matrix<Real>&, double,        \
                                                         Matrix<Real>*) const;               \
  template double CliqueExtension::LovaszAt<Real>(const Matrix<Real>&) const;                \
  template void CliqueExtension::AddModularRow<Real>(const Matrix<Real>&, std::size_t,       \
                                                     std::span<Real>) const;                 \
  template void CliqueExtension::AddModular<Real>(const Matrix<Real>&, Matrix<Real>*) const; \
  template double CliqueExtension::Step<Real>(const Matrix<Real>&, double, Matrix<Real>*) const;
SUBMARINE_CLIQUES_OF(float)
SUBMARINE_CLIQUES_OF(double)
#undef SUBMARINE_CLIQUES_OF

}  // namespace submarine::internal
