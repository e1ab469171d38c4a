#include "submarine/solver/routed/banded_chain.h"

#include <algorithm>
#include <cmath>

#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"
#include "submarine/base/simd/wide_registers.h"

namespace submarine::internal {
namespace {

// Far below what counts, far above where products vanish: states that underflow stay reachable.
constexpr double kFloor = 1e-200;

// Lane by lane: a single sum would wait for every addition.
inline double SumOf(const double* x, std::size_t count) {
  constexpr std::size_t kLanes = 8;
  double lanes[kLanes] = {};
  std::size_t s = 0;
  for (; s + kLanes <= count; s += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) lanes[k] += x[s + k];
  }
  double sum = 0.0;
  for (; s < count; ++s) sum += x[s];
  for (const double lane : lanes) sum += lane;
  return sum;
}

SUBMARINE_FOR_WIDE_REGISTERS double Normalise(double* x, std::size_t count) {
  const double sum = SumOf(x, count);
  if (!(sum > 0.0)) {
    std::fill(x, x + count, 1.0 / static_cast<double>(count));
    return kFloor;
  }
  const double inverse = 1.0 / sum;
  for (std::size_t s = 0; s < count; ++s) x[s] = std::max(kFloor, x[s] * inverse);
  return sum;
}

SUBMARINE_FOR_WIDE_REGISTERS void Multiply(const double* x, const double* __restrict by,
                                           std::size_t count, double* out) {
  for (std::size_t s = 0; s < count; ++s) out[s] = x[s] * by[s];
}

SUBMARINE_FOR_WIDE_REGISTERS void AddProducts(const double* __restrict x,
                                              const double* __restrict by, std::size_t count,
                                              double* __restrict sum) {
  for (std::size_t s = 0; s < count; ++s) sum[s] += x[s] * by[s];
}

SUBMARINE_FOR_WIDE_REGISTERS void Scale(const double* x, double factor, std::size_t count,
                                        double* out) {
  for (std::size_t s = 0; s < count; ++s) out[s] = factor * x[s];
}

// out[r, c] = of_rows[r] + more in[c, r].
SUBMARINE_FOR_WIDE_REGISTERS void AddTransposed(const double* __restrict in, double more,
                                                const double* __restrict of_rows, std::size_t rows,
                                                std::size_t columns, double* __restrict out) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c)
      out[r * columns + c] = of_rows[r] + more * in[c * rows + r];
  }
}
// out[r, c] = of_columns[c] + more in[c, r].
SUBMARINE_FOR_WIDE_REGISTERS void AddToColumns(const double* __restrict in, double more,
                                               const double* __restrict of_columns,
                                               std::size_t rows, std::size_t columns,
                                               double* __restrict out) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c)
      out[r * columns + c] = of_columns[c] + more * in[c * rows + r];
  }
}

// totals[c] = sum over r of in[r, c].
SUBMARINE_FOR_WIDE_REGISTERS void SumRows(const double* __restrict in, std::size_t rows,
                                          std::size_t columns, double* __restrict totals) {
  for (std::size_t c = 0; c < columns; ++c) totals[c] = 0.0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) totals[c] += in[r * columns + c];
  }
}

}  // namespace

BandedChain::BandedChain(const RoutedPaths& paths, const Matrix<double>& distance)
    : size_(paths.order.size()),
      labels_(distance.rows()),
      bandwidth_(static_cast<std::size_t>(paths.bandwidth)),
      states_(1),
      begin_(paths.begin),
      before_(size_),
      value_of_(labels_ * labels_) {
  constexpr std::size_t kFewLabels = 3;
  nearly_potts_ = (bandwidth_ == 1 || labels_ > kFewLabels) && IsNearlyPotts(distance);
  for (std::size_t k = 0; k < bandwidth_; ++k) states_ *= labels_;
  rest_ = states_ / labels_;
  const std::vector<std::uint32_t> followers = paths.Followers();
  for (std::size_t p = 1; p < size_; ++p)
    before_[p] = followers[p - 1] > 0 ? before_[p - 1] + 1 : 0;
  for (std::size_t i = 0; i < labels_; ++i) {
    for (std::size_t j = 0; j < labels_; ++j) {
      const double d = distance(i, j);
      auto found = std::find(values_.begin(), values_.end(), d);
      if (found == values_.end()) found = values_.insert(values_.end(), d);
      value_of_[i * labels_ + j] = static_cast<std::uint32_t>(found - values_.begin());
    }
  }
  FindExceptional();
  forward_ = Matrix<double>::Unset(size_, states_);
  backward_ = Matrix<double>::Unset(size_, states_);
  own_ = Matrix<double>::Unset(size_, labels_);
  log_mass_.resize(size_);
}

// Differences cancel where the most common distance is not the largest; and lists cost more than plain loops.
bool IsNearlyPotts(const Matrix<double>& distance) {
  const double largest = *std::max_element(distance.data(), distance.data() + distance.size());
  const auto others =
      distance.size() - static_cast<std::size_t>(std::count(
                            distance.data(), distance.data() + distance.size(), largest));
  return 4 * others <= distance.size() + 4 * distance.rows();
}

void BandedChain::FindExceptional() {
  std::vector<std::size_t> count(values_.size(), 0);
  for (const std::uint32_t value : value_of_) ++count[value];
  common_ = static_cast<std::size_t>(std::max_element(count.begin(), count.end()) - count.begin());
  if (nearly_potts_)
    common_ = static_cast<std::size_t>(std::max_element(values_.begin(), values_.end()) -
                                       values_.begin());
  exceptional_begin_.assign(1, 0);
  for (std::size_t i = 0; i < labels_; ++i) {
    for (std::size_t j = 0; j < labels_; ++j) {
      const std::uint32_t value = value_of_[i * labels_ + j];
      if (value != common_) exceptional_.push_back({static_cast<std::uint32_t>(j), value});
    }
    exceptional_begin_.push_back(exceptional_.size());
  }
  is_potts_ = nearly_potts_ && values_.size() == 2 && exceptional_.size() == labels_;
}

void BandedChain::SumOldest(const double* decay, const double* in, double* totals,
                            double* out) const {
  SumRows(in, labels_, rest_, totals);
  if (is_potts_) {
    Scale(totals, decay[common_], rest_, totals);
    AddTransposed(in, decay[1 - common_] - decay[common_], totals, rest_, labels_, out);
    return;
  }
  for (std::size_t r = 0; r < rest_; ++r) {
    const double usual = decay[common_] * totals[r];
    double* of_rest = out + r * labels_;
    for (std::size_t i = 0; i < labels_; ++i) {
      double sum = usual;
      for (std::size_t k = exceptional_begin_[i]; k < exceptional_begin_[i + 1]; ++k)
        sum +=
            (decay[exceptional_[k].value] - decay[common_]) * in[exceptional_[k].label * rest_ + r];
      of_rest[i] = sum;
    }
  }
}

void BandedChain::SumNewest(const double* decay, const double* in, double* totals,
                            double* out) const {
  for (std::size_t r = 0; r < rest_; ++r)
    totals[r] = decay[common_] * SumOf(in + r * labels_, labels_);
  if (is_potts_) {
    AddToColumns(in, decay[1 - common_] - decay[common_], totals, labels_, rest_, out);
    return;
  }
  for (std::size_t y = 0; y < labels_; ++y) {
    double* of_label = out + y * rest_;
    std::copy(totals, totals + rest_, of_label);
    for (std::size_t k = exceptional_begin_[y]; k < exceptional_begin_[y + 1]; ++k) {
      const double more = decay[exceptional_[k].value] - decay[common_];
      const double* from = in + exceptional_[k].label;
      for (std::size_t r = 0; r < rest_; ++r) of_label[r] += more * from[r * labels_];
    }
  }
}

void BandedChain::SetWeights(const Matrix<double>& edge_weights, double temperature) {
  const std::size_t count = values_.size();
  decay_.assign(size_ * bandwidth_ * count, 1.0);
  ParallelFor(size_, kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      for (std::size_t m = 1; m <= Depth(p); ++m) {
        for (std::size_t k = 0; k < count; ++k) {
          decay_[(p * bandwidth_ + m - 1) * count + k] =
              std::exp(-edge_weights(p - m, m - 1) * values_[k] / temperature);
        }
      }
    }
  });
}

void BandedChain::NodeFactors(std::size_t p, std::vector<double>* row,
                              std::vector<double>* factor) const {
  // States (here, before, ...) with fewer labels before than the bandwidth have the older ones 0.
  const std::size_t older = std::min(Depth(p), bandwidth_ - 1);
  std::size_t count = labels_;
  for (std::size_t i = 0; i < labels_; ++i) (*factor)[i] = own_(p, i);
  for (std::size_t m = 1; m <= older; ++m) {
    const double* decay = Decay(p, m);
    double* first = factor->data();
    std::vector<double>& of_labels = *row;
    std::fill(of_labels.begin(), of_labels.end(), decay[common_]);
    for (std::size_t j = labels_; j-- > 0;) {
      double* of_label = first + j * count;
      for (std::size_t k = exceptional_begin_[j]; k < exceptional_begin_[j + 1]; ++k)
        of_labels[exceptional_[k].label] = decay[exceptional_[k].value];
      for (std::size_t s = 0; s < count; s += labels_)
        Multiply(first + s, of_labels.data(), labels_, of_label + s);
      for (std::size_t k = exceptional_begin_[j]; k < exceptional_begin_[j + 1]; ++k)
        of_labels[exceptional_[k].label] = decay[common_];
    }
    count *= labels_;
  }
}

// A state of p is (x_p, x_{p-1}, ...). With fewer labels before than the bandwidth, states in use are the
// first labels^(before + 1).
double BandedChain::Forward(std::size_t begin, std::size_t end) {
  std::vector<double> factor(states_);
  std::vector<double> row(labels_);
  std::vector<double> totals(rest_);
  double log_z = 0.0;
  for (std::size_t p = begin; p < end; ++p) {
    double* out = forward_.row(p).data();
    const std::size_t depth = before_[p];
    if (depth == 0) {
      std::copy(own_.row(p).begin(), own_.row(p).end(), out);
      log_z += std::log(Normalise(out, labels_)) + log_mass_[p];
      continue;
    }
    const double* in = forward_.row(p - 1).data();
    NodeFactors(p, &row, &factor);
    std::size_t in_use = states_;
    if (depth < bandwidth_) {
      in_use = labels_;
      for (std::size_t m = 0; m < depth; ++m) in_use *= labels_;
      for (std::size_t s = 0; s < in_use; ++s) out[s] = factor[s] * in[s / labels_];
    } else if (nearly_potts_) {
      SumOldest(Decay(p, bandwidth_), in, totals.data(), out);
      Multiply(out, factor.data(), states_, out);
    } else {
      const double* oldest = Decay(p, bandwidth_);
      // s / labels is what stays of the state before; its oldest label, y, is summed over.
      for (std::size_t s = 0; s < states_; ++s) {
        const std::size_t i = s % labels_;
        const double* from = in + s / labels_;
        double sum = 0.0;
        for (std::size_t y = 0; y < labels_; ++y)
          sum += from[y * rest_] * oldest[value_of_[i * labels_ + y]];
        out[s] = factor[s] * sum;
      }
    }
    log_z += std::log(Normalise(out, in_use)) + log_mass_[p];
  }
  return log_z;
}

void BandedChain::Backward(std::size_t begin, std::size_t end) {
  std::vector<double> factor(states_);
  std::vector<double> row(labels_);
  std::vector<double> weighted(states_);
  std::vector<double> totals(rest_);
  for (std::size_t p = end; p-- > begin;) {
    double* out = backward_.row(p).data();
    if (p + 1 == end) {
      std::fill(out, out + states_, 1.0);
      continue;
    }
    const double* in = backward_.row(p + 1).data();
    NodeFactors(p + 1, &row, &factor);
    const std::size_t depth = before_[p + 1];
    std::size_t in_use = states_;
    if (depth < bandwidth_) {
      in_use = 1;
      for (std::size_t m = 0; m < depth; ++m) in_use *= labels_;
      for (std::size_t s = 0; s < in_use; ++s) {
        double sum = 0.0;
        for (std::size_t i = 0; i < labels_; ++i)
          sum += factor[s * labels_ + i] * in[s * labels_ + i];
        out[s] = sum;
      }
    } else if (nearly_potts_) {
      Multiply(factor.data(), in, states_, weighted.data());
      SumNewest(Decay(p + 1, bandwidth_), weighted.data(), totals.data(), out);
    } else {
      const double* oldest = Decay(p + 1, bandwidth_);
      for (std::size_t s = 0; s < states_; ++s) weighted[s] = factor[s] * in[s];
      for (std::size_t s = 0; s < states_; ++s) {
        const std::size_t y = s / rest_;
        const double* next = weighted.data() + s % rest_ * labels_;
        double sum = 0.0;
        for (std::size_t i = 0; i < labels_; ++i)
          sum += next[i] * oldest[value_of_[i * labels_ + y]];
        out[s] = sum;
      }
    }
    Normalise(out, in_use);
  }
}

double BandedChain::LogZ(const Matrix<float>& costs, double temperature, Matrix<float>* marginals) {
  ParallelFor(size_, kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const std::span<double> own = own_.row(p);
      std::copy(costs.row(p).begin(), costs.row(p).end(), own.begin());
      log_mass_[p] = SoftmaxRow(own.data(), labels_, 1.0 / temperature, own.data());
      for (double& mass : own) mass = std::max(kFloor, mass);
    }
  });
  // Both directions of all paths are tasks of their own.
  const std::size_t paths = begin_.size();
  std::vector<double> part(paths, 0.0);
  ParallelFor(marginals != nullptr ? 2 * paths : paths, 1,
              [&](std::size_t first, std::size_t last) {
                for (std::size_t task = first; task < last; ++task) {
                  const std::size_t k = task % paths;
                  const std::size_t end = k + 1 < paths ? begin_[k + 1] : size_;
                  if (task < paths) {
                    part[k] = Forward(begin_[k], end);
                  } else {
                    Backward(begin_[k], end);
                  }
                }
              });
  double log_z = 0.0;
  for (const double value : part) log_z += value;
  if (marginals != nullptr) {
    if (marginals->rows() != size_ || marginals->cols() != labels_)
      *marginals = Matrix<float>::Unset(size_, labels_);
    ParallelFor(size_, kRowGrain, [&](std::size_t begin, std::size_t end) {
      std::vector<double> y(labels_);
      for (std::size_t p = begin; p < end; ++p) {
        std::size_t in_use = labels_;
        for (std::size_t m = 0; m < std::min(before_[p], bandwidth_ - 1); ++m) in_use *= labels_;
        std::fill(y.begin(), y.end(), 0.0);
        for (std::size_t s = 0; s < in_use; s += labels_)
          AddProducts(forward_.row(p).data() + s, backward_.row(p).data() + s, labels_, y.data());
        const double sum = SumOf(y.data(), labels_);
        for (std::size_t i = 0; i < labels_; ++i)
          (*marginals)(p, i) =
              static_cast<float>(sum > 0.0 ? y[i] / sum : 1.0 / static_cast<double>(labels_));
      }
    });
  }
  return log_z;
}

Matrix<float> BandedChain::ExpectedDistances() const {
  Matrix<float> expected(size_, bandwidth_);
  ParallelFor(size_, kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      if (Depth(p) == 0) continue;
      if (nearly_potts_ && Depth(p) == bandwidth_) {
        UsualExpectedAt(p, &expected);
      } else {
        ExpectedAt(p, &expected);
      }
    }
  });
  return expected;
}

void BandedChain::ExpectedAt(std::size_t p, Matrix<float>* expected) const {
  std::vector<double> factor(states_);
  std::vector<double> row(labels_);
  std::vector<double> sums(bandwidth_ + 1);
  const std::size_t depth = Depth(p);
  NodeFactors(p, &row, &factor);
  std::size_t before = labels_;  // states in use at p - 1
  for (std::size_t m = 0; m < std::min(before_[p - 1], bandwidth_ - 1); ++m) before *= labels_;
  const double* oldest = Decay(p, bandwidth_);
  double total = 0.0;
  for (std::size_t s = 0; s < before; ++s) {
    for (std::size_t i = 0; i < labels_; ++i) {
      const std::size_t next = (depth < bandwidth_ ? s : s % rest_) * labels_ + i;
      double mass = forward_(p - 1, s) * factor[next] * backward_(p, next);
      if (depth == bandwidth_) mass *= oldest[value_of_[i * labels_ + s / rest_]];
      total += mass;
      std::size_t older = s;
      for (std::size_t m = 1; m <= depth; ++m) {
        sums[m] += mass * values_[value_of_[i * labels_ + older % labels_]];
        older /= labels_;
      }
    }
  }
  for (std::size_t m = 1; m <= depth; ++m)
    (*expected)(p - m, m - 1) = static_cast<float>(total > 0.0 ? sums[m] / total : 0.0);
}

// Of all labels but the oldest from the state at p; of the oldest one, label pairs of exceptional distance one by one.
void BandedChain::UsualExpectedAt(std::size_t p, Matrix<float>* expected) const {
  std::vector<double> sums(bandwidth_);
  double total = 0.0;
  for (std::size_t s = 0; s < states_; ++s) {
    const double mass = forward_(p, s) * backward_(p, s);
    total += mass;
    std::size_t older = s / labels_;
    for (std::size_t m = 1; m < bandwidth_; ++m, older /= labels_)
      sums[m] += mass * values_[value_of_[s % labels_ * labels_ + older % labels_]];
  }
  for (std::size_t m = 1; m < bandwidth_; ++m)
    (*expected)(p - m, m - 1) = static_cast<float>(total > 0.0 ? sums[m] / total : 0.0);

  std::vector<double> after(states_);
  std::vector<double> row(labels_);
  NodeFactors(p, &row, &after);
  for (std::size_t s = 0; s < states_; ++s) after[s] *= backward_(p, s);
  const double* oldest = Decay(p, bandwidth_);
  const double* before = forward_.row(p - 1).data();
  double all = 0.0;  // with the most common distance between all labels
  for (std::size_t r = 0; r < rest_; ++r) {
    double of_before = 0.0;
    double of_after = 0.0;
    for (std::size_t i = 0; i < labels_; ++i) {
      of_before += before[i * rest_ + r];
      of_after += after[r * labels_ + i];
    }
    all += oldest[common_] * of_before * of_after;
  }
  double distance = values_[common_] * all;
  for (std::size_t i = 0; i < labels_; ++i) {
    for (std::size_t k = exceptional_begin_[i]; k < exceptional_begin_[i + 1]; ++k) {
      const auto [y, value] = exceptional_[k];
      double both = 0.0;
      for (std::size_t r = 0; r < rest_; ++r)
        both += before[y * rest_ + r] * after[r * labels_ + i];
      all += (oldest[value] - oldest[common_]) * both;
      distance += (oldest[value] * values_[value] - oldest[common_] * values_[common_]) * both;
    }
  }
  (*expected)(p - bandwidth_, bandwidth_ - 1) =
      static_cast<float>(all > 0.0 ? std::max(0.0, distance / all) : 0.0);
}

}  // namespace submarine::internal
