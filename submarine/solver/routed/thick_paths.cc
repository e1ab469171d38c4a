#include "submarine/solver/routed/thick_paths.h"

#include <algorithm>
#include <cmath>

#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"

namespace submarine::internal {
namespace {

// Far below what counts, far above where products vanish: states that underflow stay reachable.
constexpr double kFloor = 1e-200;

double Normalise(double* x, std::size_t count) {
  double sum = 0.0;
  for (std::size_t s = 0; s < count; ++s) sum += x[s];
  if (!(sum > 0.0)) {
    std::fill(x, x + count, 1.0 / static_cast<double>(count));
    return kFloor;
  }
  const double inverse = 1.0 / sum;
  for (std::size_t s = 0; s < count; ++s) x[s] = std::max(kFloor, x[s] * inverse);
  return sum;
}

}  // namespace

ThickPaths::ThickPaths(const RoutedPaths& paths, const Matrix<double>& distance)
    : size_(paths.order.size()),
      labels_(distance.rows()),
      thickness_(static_cast<std::size_t>(paths.thickness)),
      states_(1),
      begin_(paths.begin),
      before_(size_),
      value_of_(labels_ * labels_) {
  for (std::size_t k = 0; k < thickness_; ++k) states_ *= labels_;
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
  FindUnusual();
  forward_ = Matrix<double>::Unset(size_, states_);
  backward_ = Matrix<double>::Unset(size_, states_);
  own_ = Matrix<double>::Unset(size_, labels_);
  log_mass_.resize(size_);
}

void ThickPaths::FindUnusual() {
  std::vector<std::size_t> count(values_.size(), 0);
  for (const std::uint32_t value : value_of_) ++count[value];
  usual_ = static_cast<std::size_t>(std::max_element(count.begin(), count.end()) - count.begin());
  unusual_begin_.assign(1, 0);
  for (std::size_t i = 0; i < labels_; ++i) {
    for (std::size_t j = 0; j < labels_; ++j) {
      const std::uint32_t value = value_of_[i * labels_ + j];
      if (value != usual_) unusual_.push_back({static_cast<std::uint32_t>(j), value});
    }
    unusual_begin_.push_back(unusual_.size());
  }
  // Differences cancel where the usual distance is not the largest; and lists cost more than plain loops.
  const double largest = *std::max_element(values_.begin(), values_.end());
  mostly_usual_ = thickness_ == 1 && values_[usual_] == largest &&
                  4 * unusual_.size() <= labels_ * labels_ + 4 * labels_;
}

void ThickPaths::SetWeights(const Matrix<double>& edge_weights, double temperature) {
  const std::size_t count = values_.size();
  decay_.assign(size_ * thickness_ * count, 1.0);
  ParallelFor(size_, kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      for (std::size_t m = 1; m <= Depth(p); ++m) {
        for (std::size_t k = 0; k < count; ++k) {
          decay_[(p * thickness_ + m - 1) * count + k] =
              std::exp(-edge_weights(p - m, m - 1) * values_[k] / temperature);
        }
      }
    }
  });
}

void ThickPaths::NodeFactors(std::size_t p, std::vector<double>* factor) const {
  // States (here, before, ...) with fewer labels before than the thickness have the older ones 0.
  const std::size_t older = std::min(Depth(p), thickness_ - 1);
  std::size_t count = labels_;
  for (std::size_t i = 0; i < labels_; ++i) (*factor)[i] = own_(p, i);
  for (std::size_t m = 1; m <= older; ++m) {
    const double* decay = Decay(p, m);
    for (std::size_t j = labels_; j-- > 0;) {
      for (std::size_t s = 0; s < count; ++s)
        (*factor)[j * count + s] = (*factor)[s] * decay[value_of_[s % labels_ * labels_ + j]];
    }
    count *= labels_;
  }
}

// A state of p is (x_p, x_{p-1}, ...). With fewer labels before than the thickness, states in use are the
// first labels^(before + 1).
double ThickPaths::Forward(std::size_t begin, std::size_t end) {
  std::vector<double> factor(states_ * labels_);
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
    NodeFactors(p, &factor);
    std::size_t in_use = states_;
    if (depth < thickness_) {
      in_use = labels_;
      for (std::size_t m = 0; m < depth; ++m) in_use *= labels_;
      for (std::size_t s = 0; s < in_use; ++s) out[s] = factor[s] * in[s / labels_];
    } else if (mostly_usual_) {
      double sum = 0.0;
      for (std::size_t i = 0; i < labels_; ++i) sum += in[i];
      for (std::size_t i = 0; i < labels_; ++i)
        out[i] = factor[i] * SumBefore(Decay(p, 1), sum, in, i);
    } else {
      const double* oldest = Decay(p, thickness_);
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

void ThickPaths::Backward(std::size_t begin, std::size_t end) {
  std::vector<double> factor(states_ * labels_);
  std::vector<double> weighted(states_);
  for (std::size_t p = end; p-- > begin;) {
    double* out = backward_.row(p).data();
    if (p + 1 == end) {
      std::fill(out, out + states_, 1.0);
      continue;
    }
    const double* in = backward_.row(p + 1).data();
    NodeFactors(p + 1, &factor);
    const std::size_t depth = before_[p + 1];
    std::size_t in_use = states_;
    if (depth < thickness_) {
      in_use = 1;
      for (std::size_t m = 0; m < depth; ++m) in_use *= labels_;
      for (std::size_t s = 0; s < in_use; ++s) {
        double sum = 0.0;
        for (std::size_t i = 0; i < labels_; ++i)
          sum += factor[s * labels_ + i] * in[s * labels_ + i];
        out[s] = sum;
      }
    } else if (mostly_usual_) {
      double sum = 0.0;
      for (std::size_t i = 0; i < labels_; ++i) sum += weighted[i] = factor[i] * in[i];
      for (std::size_t i = 0; i < labels_; ++i)
        out[i] = SumBefore(Decay(p + 1, 1), sum, weighted.data(), i);
    } else {
      const double* oldest = Decay(p + 1, thickness_);
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

double ThickPaths::LogZ(const Matrix<float>& costs, double temperature, Matrix<float>* marginals) {
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
        for (std::size_t m = 0; m < std::min(before_[p], thickness_ - 1); ++m) in_use *= labels_;
        std::fill(y.begin(), y.end(), 0.0);
        double sum = 0.0;
        for (std::size_t s = 0; s < in_use; ++s) {
          const double mass = forward_(p, s) * backward_(p, s);
          y[s % labels_] += mass;
          sum += mass;
        }
        for (std::size_t i = 0; i < labels_; ++i)
          (*marginals)(p, i) =
              static_cast<float>(sum > 0.0 ? y[i] / sum : 1.0 / static_cast<double>(labels_));
      }
    });
  }
  return log_z;
}

Matrix<float> ThickPaths::ExpectedDistances() const {
  Matrix<float> expected(size_, thickness_);
  ParallelFor(size_, kRowGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> factor(states_ * labels_);
    std::vector<double> sums(thickness_ + 1);
    for (std::size_t p = begin; p < end; ++p) {
      const std::size_t depth = Depth(p);
      if (depth == 0) continue;
      NodeFactors(p, &factor);
      std::size_t before = labels_;  // states in use at p - 1
      for (std::size_t m = 0; m < std::min(before_[p - 1], thickness_ - 1); ++m) before *= labels_;
      const double* oldest = Decay(p, thickness_);
      std::fill(sums.begin(), sums.end(), 0.0);
      double total = 0.0;
      for (std::size_t s = 0; s < before; ++s) {
        for (std::size_t i = 0; i < labels_; ++i) {
          const std::size_t next = (depth < thickness_ ? s : s % rest_) * labels_ + i;
          double mass = forward_(p - 1, s) * factor[next] * backward_(p, next);
          if (depth == thickness_) mass *= oldest[value_of_[i * labels_ + s / rest_]];
          total += mass;
          std::size_t older = s;
          for (std::size_t m = 1; m <= depth; ++m) {
            sums[m] += mass * values_[value_of_[i * labels_ + older % labels_]];
            older /= labels_;
          }
        }
      }
      for (std::size_t m = 1; m <= depth; ++m)
        expected(p - m, m - 1) = static_cast<float>(total > 0.0 ? sums[m] / total : 0.0);
    }
  });
  return expected;
}

}  // namespace submarine::internal
