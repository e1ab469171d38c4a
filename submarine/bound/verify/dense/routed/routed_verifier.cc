#include "submarine/bound/verify/dense/routed/routed_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/routed/path_sums_internal.h"
#include "submarine/bound/verify/dense/routed/routed_pairs_internal.h"

namespace submarine::internal {
namespace {

using dense_verifier::ActiveCuts;
using dense_verifier::CheckOptions;
using dense_verifier::CheckProof;
using dense_verifier::kUlp;
using dense_verifier::LargestLabelLength;
using dense_verifier::Progress;

// add(begin, end, sum) for every path, in parallel.
template <class Add>
SafeSum SumOverPaths(const std::vector<std::uint32_t>& first, std::size_t size, const Add& add) {
  std::vector<SafeSum> part(first.size());
  ParallelFor(first.size(), 1, [&](std::size_t from, std::size_t to) {
    for (std::size_t k = from; k < to; ++k)
      add(first[k], k + 1 < first.size() ? first[k + 1] : size, &part[k]);
  });
  SafeSum all;
  for (const SafeSum& path : part) all.Add(path);
  return all;
}

// What the upper bound is computed from once the pairs are summed, by position: unaries are nowhere but
// in the costs.
struct VerifiedPaths {
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> begin;
  Matrix<double> costs;
  Matrix<double> edge;
  Matrix<double> distance;
  double temperature = 1.0;
  std::vector<double> magnitude;  // of what rounded the costs, this often
  double roundings = 0.0;
  SafeSum rest;  // the constant, and errors of weights, edges and flows

  double Above() const { return Above(costs, magnitude, roundings); }

  // With the costs of the unaries phi - delta values.
  double Above(const Matrix<double>& values, double delta) const {
    Matrix<double> tilted = costs;
    std::vector<double> size = magnitude;
    for (std::size_t p = 0; p < tilted.rows(); ++p) {
      const auto row = tilted.row(p);
      double largest = 0.0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double by = delta * values(order[p], i);
        row[i] -= by;
        largest = std::max(largest, std::abs(by));
      }
      size[p] += largest;
      if (!std::isfinite(size[p])) return std::numeric_limits<double>::infinity();
    }
    return Above(tilted, size, roundings + 4.0);
  }

 private:
  double Above(const Matrix<double>& of, const std::vector<double>& size, double times) const {
    const PathEnergies energies{of, edge, distance, temperature};
    SafeSum bound = rest;
    bound.Add(
        SumOverPaths(begin, order.size(), [&](std::size_t from, std::size_t to, SafeSum* sum) {
          AddPathLogZ(energies, from, to, size, times, sum);
        }));
    return bound.Above();
  }
};

class TiltedPaths : public TiltedUpper {
 public:
  TiltedPaths(VerifiedPaths paths, const Bound& untilted)
      : paths_(std::move(paths)), untilted_(untilted) {}

  Bound LogZ(const Matrix<double>& values, double delta) const override {
    return BoundMaker::Verified(paths_.Above(values, delta));
  }
  Bound untilted() const override { return untilted_; }
  double temperature() const override { return paths_.temperature; }
  std::size_t num_variables() const override { return paths_.order.size(); }
  std::size_t num_labels(std::size_t) const override { return paths_.costs.cols(); }

 private:
  VerifiedPaths paths_;
  Bound untilted_;
};

class RoutedVerifier {
 public:
  RoutedVerifier(const DenseCrf& model, const RoutedProof& proof, const PairOptions& options)
      : model_(model),
        proof_(proof),
        temperature_(options.temperature),
        size_(model.num_variables()),
        bandwidth_(static_cast<std::size_t>(proof.routing.paths.bandwidth)),
        active_(ActiveCuts(model)),
        distance_(CutDistance(*model.labels().cuts, model.metric().length)),
        diameter_(*std::max_element(distance_.data(), distance_.data() + distance_.size())),
        total_(0, 0, 0) {}

  void SumPairs(const PairOptions& options) {
    total_ = SumRoutedPairs(model_, proof_, dual_z_, options, Progress(options, 1));
  }

  bool complete() const { return total_.complete; }

  // The upper bound, widened first by the error of the weights, then by that of sums of up to `terms` terms: edge
  // weights and flows.
  Bound Upper(TiltedPlace tilted) const {
    VerifiedPaths paths;
    SafeSum& rest = paths.rest;
    rest.Add(-model_.constant());
    rest.Widen(diameter_ * total_.error);
    const double terms = total_.roundings;
    // Every weight is part of the flow at two variables.
    rest.Widen(2.0 * terms * LargestLabelLength(model_) * total_.weight);
    WidenForEdges(terms, &rest);
    paths.order = proof_.routing.paths.order;
    paths.begin = proof_.routing.paths.begin;
    paths.costs = Costs();
    paths.edge = total_.edge;
    paths.distance = distance_;
    paths.temperature = temperature_;
    paths.magnitude.resize(size_);
    for (std::size_t p = 0; p < size_; ++p) paths.magnitude[p] = AddedBy(p);
    paths.roundings = static_cast<double>(active_.size());
    const Bound bound = BoundMaker::Verified(paths.Above());
    if (tilted != nullptr && temperature_ > 0.0)
      *tilted = std::make_shared<TiltedPaths>(std::move(paths), bound);
    return bound;
  }

  // Before the pairs are summed, so that their variation under this distribution is summed with them.
  void PlaceDualPoint() {
    const RoutedDualPoint& point = proof_.dual_point;
    const auto labels = static_cast<std::size_t>(model_.num_labels());
    Matrix<double> costs(size_, labels);
    Matrix<double> edge(size_, bandwidth_);
    for (std::size_t p = 0; p < size_; ++p) {
      const auto row = point.costs.row(proof_.routing.paths.order[p]);
      std::copy(row.begin(), row.end(), costs.row(p).begin());
      for (std::size_t m = 0; m < bandwidth_; ++m) edge(p, m) = point.edge_weights(p, m);
    }
    distribution_.emplace(size_, labels, bandwidth_);
    const PathEnergies energies{costs, edge, distance_, temperature_};
    entropy_ = SumOverPaths(proof_.routing.paths.begin, size_,
                            [&](std::size_t begin, std::size_t end, SafeSum* sum) {
                              SetPathDistribution(energies, begin, end, &*distribution_, sum);
                            });
    dual_z_ = Matrix<float>(size_, static_cast<std::size_t>(model_.num_cuts()));
    for (std::size_t p = 0; p < size_; ++p) {
      for (const std::size_t c : active_) {
        double sum = 0.0;
        for (const int i : model_.labels().cuts->set(static_cast<int>(c)))
          sum += distribution_->y(p, static_cast<std::size_t>(i));
        dual_z_(proof_.routing.paths.order[p], c) = static_cast<float>(sum);
      }
    }
  }

  // D(P) from below.
  double Dual() const {
    SafeSum value = entropy_;
    value.Add(-model_.constant());
    double roundings = 0.0;
    for (std::size_t p = 0; p < size_; ++p) {
      const auto phi = model_.unary().row(proof_.routing.paths.order[p]);
      roundings = std::max(roundings, distribution_->roundings[p]);
      for (std::size_t i = 0; i < phi.size(); ++i)
        value.Add(-phi[i] * distribution_->y(p, i), 0.0, distribution_->roundings[p]);
      for (std::size_t m = 0; m < bandwidth_; ++m)
        value.Add(-total_.edge(p, m) * distribution_->expected(p, m), 0.0,
                  distribution_->roundings[std::min(p + m + 1, size_ - 1)]);
    }
    value.Widen(diameter_ * (total_.error + total_.excess / kUlp));
    const double terms = total_.roundings;
    WidenForEdges(terms, &value);
    // Cut sums were rounded to single precision, each by at most this share of itself.
    constexpr double kOfFloat = std::numeric_limits<float>::epsilon() / kUlp;
    const double label_length = LargestLabelLength(model_);
    value.Widen(2.0 * (kOfFloat + roundings) * label_length * total_.weight);
    value.Add(-total_.variation, 0.0, terms + static_cast<double>(active_.size()));
    return value.Below();
  }

 private:
  void WidenForEdges(double terms, SafeSum* bound) const {
    for (std::size_t p = 0; p < size_; ++p) {
      for (std::size_t m = 0; m < bandwidth_; ++m)
        bound->Widen(terms * diameter_ * total_.edge(p, m));
    }
  }

  // phi plus what the flows add to the labels, by position.
  Matrix<double> Costs() const {
    const auto labels = static_cast<std::size_t>(model_.num_labels());
    Matrix<double> costs(size_, labels);
    ParallelFor(size_, kRowGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) {
        const auto phi = model_.unary().row(proof_.routing.paths.order[p]);
        for (std::size_t i = 0; i < labels; ++i) costs(p, i) = phi[i];
        for (std::size_t c = 0; c < active_.size(); ++c) {
          const double amount = model_.metric().length[active_[c]] * total_.flow(p, c);
          for (const int i : model_.labels().cuts->set(static_cast<int>(active_[c])))
            costs(p, static_cast<std::size_t>(i)) += amount;
        }
      }
    });
    return costs;
  }

  // The magnitude of what the flows added to the costs of a position.
  double AddedBy(std::size_t p) const {
    double sum = 0.0;
    for (std::size_t c = 0; c < active_.size(); ++c)
      sum += model_.metric().length[active_[c]] * std::abs(total_.flow(p, c));
    return sum;
  }

  const DenseCrf& model_;
  const RoutedProof& proof_;
  double temperature_;
  std::size_t size_;
  std::size_t bandwidth_;
  std::vector<std::size_t> active_;
  Matrix<double> distance_;  // of the cuts
  double diameter_;
  std::optional<PathDistribution> distribution_;  // of the dual value, where it is asked for
  SafeSum entropy_;                               // of that, times T
  Matrix<float> dual_z_;                          // its cut sums, by variable
  RoutedSums total_;
};

void CheckDualPoint(const DenseCrf& model, const RoutedProof& proof) {
  const auto& [costs, edge_weights] = proof.dual_point;
  const auto bandwidth = static_cast<std::size_t>(proof.routing.paths.bandwidth);
  if (costs.rows() != model.unary().rows() || costs.cols() != model.unary().cols() ||
      edge_weights.rows() != costs.rows() || edge_weights.cols() != bandwidth) {
    throw InvalidInput(fmt::format(
        "the dual value has {} x {} costs and {} x {} weights, expected {} x {} and {} x {}",
        costs.rows(), costs.cols(), edge_weights.rows(), edge_weights.cols(), model.unary().rows(),
        model.unary().cols(), model.unary().rows(), bandwidth));
  }
  for (const Matrix<float>* numbers : {&costs, &edge_weights}) {
    for (std::size_t n = 0; n < numbers->size(); ++n) {
      if (!std::isfinite(numbers->data()[n]))
        throw InvalidInput("the costs and weights of the dual value must be finite numbers");
    }
  }
}

RoutedVerifier CheckedVerifier(const DenseCrf& model, const RoutedProof& proof,
                               const PairOptions& options) {
  CheckOptions(options);
  CheckProof(model, proof.flows);
  CheckRouting(proof.routing, model.num_variables(), static_cast<std::size_t>(model.num_cuts()));
  for (const GaussianKernel& kernel : model.kernels()) CheckNormalised(kernel);
  const double states = std::pow(model.num_labels(), proof.routing.paths.bandwidth);
  if (states > kMaxRoutedStates) {
    throw InvalidInput(
        fmt::format("paths of bandwidth {} have {:g} states with {} labels, expected at most {:g}",
                    proof.routing.paths.bandwidth, states, model.num_labels(), kMaxRoutedStates));
  }
  return {model, proof, options};
}

}  // namespace

Bound VerifiedRoutedUpper(const DenseCrf& model, const RoutedProof& proof,
                          const PairOptions& options, TiltedPlace tilted) {
  RoutedVerifier verifier = CheckedVerifier(model, proof, options);
  verifier.SumPairs(options);
  return verifier.Upper(tilted);
}

RoutedBounds VerifiedRoutedBounds(const DenseCrf& model, const RoutedProof& proof,
                                  const PairOptions& options, TiltedPlace tilted) {
  RoutedVerifier verifier = CheckedVerifier(model, proof, options);
  const bool has_dual = !proof.dual_point.empty() && options.temperature > 0.0;
  if (has_dual) {
    CheckDualPoint(model, proof);
    verifier.PlaceDualPoint();
  }
  verifier.SumPairs(options);
  RoutedBounds bounds{verifier.Upper(tilted), std::nullopt, verifier.complete()};
  if (has_dual && bounds.complete) bounds.dual = BoundMaker::Verified(verifier.Dual());
  return bounds;
}

}  // namespace submarine::internal
