#include "submarine/solver/forest/trw_trees.h"

#include <algorithm>
#include <cmath>

#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kMemory = 8;
constexpr double kSufficientDecrease = 1e-4;
constexpr int kMostHalvings = 30;
// Number of forests processed in parallel, each with its own workspace.
constexpr std::size_t kBatch = 4;

double Dot(const std::vector<double>& x, const double* y) { return DotRow(x.data(), y, x.size()); }

std::vector<double> EnergyScale(std::span<const double> rho, double temperature) {
  std::vector<double> scale;
  for (double r : rho) scale.push_back(1.0 / (r * temperature));
  return scale;
}

}  // namespace

Matrix<double> SplitTheta(const PairwiseModel& model, const Matrix<double>& theta,
                          std::span<const double> rho, const WeightedForest& forest,
                          const LogMessages& messages) {
  std::vector<double> factor(rho.begin(), rho.end());
  for (std::size_t e : forest.edges) factor[e] -= 1.0;
  Matrix<double> split = theta;
  for (std::size_t e = 0; e < factor.size(); ++e) {
    if (factor[e] == 0.0) continue;
    for (int side : {0, 1}) {
      const auto a = static_cast<std::size_t>(side == 0 ? model.links[e].a : model.links[e].b);
      const auto message = messages.row(2 * e + static_cast<std::size_t>(side));
      const auto row = split.row(a);
      for (std::size_t i = 0; i < model.labels[a]; ++i) row[i] += factor[e] * message[i];
    }
  }
  return split;
}

TreeDescent::TreeDescent(const PairwiseModel& model, const Matrix<double>& theta,
                         const std::vector<WeightedForest>& forests, double temperature,
                         LogMessages messages)
    : model_(model),
      theta_(theta),
      forests_(forests),
      rho_(EdgeProbabilities(forests, model.links.size())),
      kernels_(KernelsOf(model, EnergyScale(rho_, temperature))),
      workspaces_(std::min(kBatch, forests.size())),
      messages_(std::move(messages)) {
  for (const WeightedForest& forest : forests)
    inference_.emplace_back(model.labels, model.links, forest.edges);
  bound_ = Evaluate(messages_, &gradient_, &marginals_);
}

double TreeDescent::Evaluate(const LogMessages& messages, LogMessages* gradient,
                             Matrix<double>* marginals) {
  *gradient = LogMessages(messages.rows(), messages.cols());
  *marginals = Matrix<double>(theta_.rows(), theta_.cols());
  std::vector<Matrix<double>> y(workspaces_.size());
  std::vector<double> log_partition(workspaces_.size());
  double bound = 0.0;
  for (std::size_t first = 0; first < forests_.size(); first += y.size()) {
    const std::size_t count = std::min(y.size(), forests_.size() - first);
    ParallelFor(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const Matrix<double> split =
            SplitTheta(model_, theta_, rho_, forests_[first + k], messages);
        log_partition[k] = inference_[first + k].Run(kernels_, split, &workspaces_[k], &y[k]);
      }
    });
    for (std::size_t k = 0; k < count; ++k) {
      const WeightedForest& forest = forests_[first + k];
      bound += forest.weight * log_partition[k];
      for (std::size_t n = 0; n < marginals->size(); ++n)
        marginals->data()[n] += forest.weight * y[k].data()[n];
      for (std::size_t e : forest.edges) {
        const auto y_a = y[k].row(static_cast<std::size_t>(model_.links[e].a));
        const auto y_b = y[k].row(static_cast<std::size_t>(model_.links[e].b));
        for (std::size_t i = 0; i < y_a.size(); ++i) {
          (*gradient)(2 * e, i) -= forest.weight * y_a[i];
          (*gradient)(2 * e + 1, i) -= forest.weight * y_b[i];
        }
      }
    }
  }
  for (std::size_t e = 0; e < rho_.size(); ++e) {
    const auto y_a = marginals->row(static_cast<std::size_t>(model_.links[e].a));
    const auto y_b = marginals->row(static_cast<std::size_t>(model_.links[e].b));
    for (std::size_t i = 0; i < y_a.size(); ++i) {
      (*gradient)(2 * e, i) += rho_[e] * y_a[i];
      (*gradient)(2 * e + 1, i) += rho_[e] * y_b[i];
    }
  }
  return bound;
}

// The two-loop recursion (Nocedal & Wright, algorithm 7.4).
std::vector<double> TreeDescent::Direction() const {
  std::vector<double> d(gradient_.data(), gradient_.data() + gradient_.size());
  std::vector<double> alpha(memory_.size());
  for (std::size_t k = memory_.size(); k-- > 0;) {
    alpha[k] = Dot(memory_[k].step, d.data()) / memory_[k].curvature;
    for (std::size_t n = 0; n < d.size(); ++n) d[n] -= alpha[k] * memory_[k].change[n];
  }
  double scale = 1.0;
  if (memory_.empty()) {
    // Messages are logarithms: the first step changes none by more than 1.
    double largest = 0.0;
    for (double g : d) largest = std::max(largest, std::abs(g));
    if (largest > 0.0) scale = 1.0 / largest;
  } else {
    const Pair& last = memory_.back();
    scale = last.curvature / Dot(last.change, last.change.data());
  }
  for (double& x : d) x *= scale;
  for (std::size_t k = 0; k < memory_.size(); ++k) {
    const double beta = Dot(memory_[k].change, d.data()) / memory_[k].curvature;
    for (std::size_t n = 0; n < d.size(); ++n) d[n] += (alpha[k] - beta) * memory_[k].step[n];
  }
  for (double& x : d) x = -x;
  return d;
}

double TreeDescent::Step() {
  while (!exhausted_) {
    const std::vector<double> direction = Direction();
    const double slope = Dot(direction, gradient_.data());
    double length = 1.0;
    LogMessages trial = messages_;
    LogMessages gradient;
    Matrix<double> marginals;
    double bound = bound_;
    bool lower = false;
    for (int halving = 0; halving < kMostHalvings && slope < 0.0 && !lower; ++halving) {
      for (std::size_t n = 0; n < trial.size(); ++n)
        trial.data()[n] = messages_.data()[n] + length * direction[n];
      bound = Evaluate(trial, &gradient, &marginals);
      lower = bound < bound_ && bound <= bound_ + kSufficientDecrease * length * slope;
      length *= 0.5;
    }
    if (!lower) {
      exhausted_ = memory_.empty();
      memory_.clear();
      continue;
    }
    Pair pair{direction, std::vector<double>(direction.size()), 0.0};
    for (std::size_t n = 0; n < pair.step.size(); ++n) {
      pair.step[n] = trial.data()[n] - messages_.data()[n];
      pair.change[n] = gradient.data()[n] - gradient_.data()[n];
    }
    pair.curvature = Dot(pair.step, pair.change.data());
    const double size = Dot(pair.step, pair.step.data()) * Dot(pair.change, pair.change.data());
    if (pair.curvature > 1e-10 * std::sqrt(size)) {
      memory_.push_back(std::move(pair));
      if (memory_.size() > kMemory) memory_.pop_front();
    }
    messages_ = std::move(trial);
    gradient_ = std::move(gradient);
    marginals_ = std::move(marginals);
    bound_ = bound;
    break;
  }
  return bound_;
}

std::vector<double> TreeDescent::MutualInformation() {
  constexpr double kUnknown = -1.0;
  std::vector<double> information(rho_.size(), kUnknown);
  Matrix<double> y;
  for (std::size_t f = 0; f < forests_.size(); ++f) {
    const auto& edges = forests_[f].edges;
    if (std::none_of(edges.begin(), edges.end(),
                     [&](std::size_t e) { return information[e] == kUnknown; })) {
      continue;
    }
    const Matrix<double> split = SplitTheta(model_, theta_, rho_, forests_[f], messages_);
    inference_[f].Run(kernels_, split, &workspaces_[0], &y);
    inference_[f].VisitMutualInformation(
        kernels_, workspaces_[0],
        [&](std::size_t edge, double value) { information[edge] = value; });
  }
  return information;
}

}  // namespace submarine::internal
