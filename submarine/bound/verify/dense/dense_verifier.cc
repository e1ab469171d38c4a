#include "submarine/bound/verify/dense/dense_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/temperature.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/pairs/exponential.h"
#include "submarine/bound/verify/dense/pairs/leaf_rows.h"

namespace submarine::internal {
namespace dense_verifier {

void CheckOptions(const PairOptions& options) {
  CheckTemperature(options.temperature);
  if (!(options.cutoff >= 0.0) || !std::isfinite(options.cutoff)) {
    throw InvalidInput(
        fmt::format("the cutoff is {}, expected a finite number >= 0", options.cutoff));
  }
  if (!(options.far_tolerance >= 0.0) || !std::isfinite(options.far_tolerance)) {
    throw InvalidInput(fmt::format(
        "the tolerance for far pairs is {}, expected a finite number >= 0", options.far_tolerance));
  }
}

void CheckProof(const DenseCrf& model, const FlowProof& proof) {
  const auto cuts = static_cast<std::size_t>(model.num_cuts());
  double sum = 0.0;
  for (std::size_t t = 0; t < proof.size(); ++t) {
    const FlowTerm& term = proof[t];
    if (term.v.rows() != model.num_variables() || term.v.cols() != cuts) {
      throw InvalidInput(fmt::format(
          "potential {} of the proof is {} x {}, the model has {} variables and {} cuts", t,
          term.v.rows(), term.v.cols(), model.num_variables(), cuts));
    }
    if (!(term.share >= 0.0) || !std::isfinite(term.share)) {
      throw InvalidInput(
          fmt::format("potential {} of the proof has share {}, expected 0 to 1", t, term.share));
    }
    sum += term.share;
    for (std::size_t a = 0; a < term.v.rows(); ++a) {
      for (std::size_t c = 0; c < cuts; ++c) {
        if (!std::isfinite(term.v(a, c))) {
          throw InvalidInput(fmt::format(
              "potential {} of the proof is {} at variable {}, cut {}, expected a finite number", t,
              term.v(a, c), a, c));
        }
      }
    }
  }
  constexpr double kShareRounding = 1e-9;
  if (sum > 1.0 + kShareRounding) {
    throw InvalidInput(fmt::format("the shares of the proof sum to {}, expected at most 1", sum));
  }
}

std::vector<std::size_t> ActiveCuts(const DenseCrf& model) {
  std::vector<std::size_t> active;
  for (std::size_t c = 0; c < model.metric().length.size(); ++c) {
    if (model.metric().length[c] > 0.0) active.push_back(c);
  }
  return active;
}

double LargestLabelLength(const DenseCrf& model) {
  std::vector<double> sum(static_cast<std::size_t>(model.num_labels()), 0.0);
  for (int c = 0; c < model.num_cuts(); ++c) {
    for (int i : model.labels().cuts->set(c)) {
      sum[static_cast<std::size_t>(i)] += model.metric().length[static_cast<std::size_t>(c)];
    }
  }
  return *std::max_element(sum.begin(), sum.end());
}

// exp turns the two roundings of an argument -x into x exp(-x) ulps, which sum to at most the
// entropy, log L. Together with the roundings of the sum and its logarithm, this is less than the
// 32 + L roundings of T that Add allows for. T log sum may underflow.
void AddSoftMaximum(std::span<const double> s, double temperature, double magnitude,
                    double roundings, SafeSum* bound) {
  const double least = *std::min_element(s.begin(), s.end());
  if (temperature == 0.0) {
    bound->Add(-least, magnitude, roundings);
    return;
  }
  double sum = 0.0;
  for (const double value : s) sum += std::exp((least - value) / temperature);
  bound->Add(temperature * std::log(sum) - least, temperature + magnitude, roundings);
  bound->Widen(kUnderflow);
}

double KernelUlps(const PairTree& tree, double weight, double far_weight) {
  const double of_features = tree.feature_error() / std::numeric_limits<double>::epsilon();
  return 0.5 * static_cast<double>(tree.dimension() + 3) * far_weight +
         of_features * (weight + far_weight);
}

// Rounding is a few ulps, which every sum of weights allows for.
double LeastFactor(const DenseCrf& model, const GaussianKernel& kernel) {
  return model.pair_factor() * kernel.weight * (1.0 - kernel.scale_error);
}

double LargestFactor(const DenseCrf& model, const GaussianKernel& kernel) {
  return model.pair_factor() * kernel.weight * (1.0 + kernel.scale_error);
}

}  // namespace dense_verifier

namespace {

using dense_verifier::ActiveCuts;
using dense_verifier::AddSoftMaximum;
using dense_verifier::CheckOptions;
using dense_verifier::CheckProof;
using dense_verifier::ForLeaves;
using dense_verifier::KernelUlps;
using dense_verifier::kGrain;
using dense_verifier::kLeaf;
using dense_verifier::LargestLabelLength;
using dense_verifier::LeastFactor;
using dense_verifier::Progress;
using leaf_rows::AddFlow;
using leaf_rows::AddWeights;
using leaf_rows::AnyWithin;
using leaf_rows::KernelWeights;

// The squared distance beyond which weight * exp(-squared / 2) is below the cutoff; negative if it
// is below everywhere.
double SquaredLimit(double weight, double cutoff) {
  if (weight == 0.0 || weight < cutoff) return -1.0;
  if (cutoff == 0.0) return std::numeric_limits<double>::infinity();
  return 2.0 * std::log(weight / cutoff);
}

// Boxes are compared with slightly more than the limit, so that rounding never hides a pair from
// only one of its two ends: the flow must be antisymmetric.
double BoxLimit(double limit) { return limit + 1e-12 * (1.0 + std::abs(limit)); }

// Sums the flow of every pair within the cutoff at both of its ends. Every pair is visited twice,
// once from each end, so that every variable's sum belongs to one thread; both ends see the same
// value. A lane of a sum grows by one term per leaf and potential, its error by as many roundings.
class FlowSums {
 public:
  FlowSums(const DenseCrf& model, const FlowProof& proof, const PairOptions& options)
      : model_(model),
        proof_(proof),
        cutoff_(options.cutoff),
        temperature_(options.temperature),
        active_(ActiveCuts(model)),
        sum_(model.num_variables(), active_.size(), 0.0),
        label_length_(LargestLabelLength(model)),
        degree_(model.num_variables(), 0.0),
        kernel_ulps_(model.num_variables(), 0.0),
        roundings_(model.num_variables(), 0.0) {
    double shares = 0.0;
    for (const FlowTerm& term : proof) shares += term.share;
    share_scale_ = 1.0 / std::max(1.0, shares);
  }

  void Add(const GaussianKernel& kernel, const Progress& progress) {
    const PairTree tree(kernel);
    const std::vector<Matrix<float>> potentials = InTreeOrder(tree);
    const double factor = LeastFactor(model_, kernel);
    ForLeaves(tree, progress,
              [&](std::size_t leaf) { AddLeaf(tree, kernel, potentials, factor, leaf); });
  }

  // sum_a T log sum_i exp(-s'_a(i) / T) - constant.
  Bound Above(TiltedPlace tilted) const {
    const std::size_t n = model_.num_variables();
    const auto labels = static_cast<std::size_t>(model_.num_labels());
    FactorisedUpperMaker maker(n, labels, temperature_, tilted);
    std::vector<SafeSum> partial((n + kGrain - 1) / kGrain);
    ParallelFor(n, kGrain, [&](std::size_t begin, std::size_t end) {
      std::vector<double> s(labels);
      for (std::size_t a = begin; a < end; ++a) {
        AddVariable(a, &s, &partial[begin / kGrain]);
        maker.Set(a, s);
      }
    });
    SafeSum bound;
    bound.Add(-model_.constant());
    for (const SafeSum& part : partial) bound.Add(part);
    return maker.Finish(BoundMaker::Verified(bound.Above()));
  }

 private:
  // Of the variables of a leaf, with a lane for every slot of the other leaves.
  struct LeafSums {
    LeafSums(std::size_t size, std::size_t cuts)
        : sum(size * cuts, kLeaf), degree(size, kLeaf), far_degree(size, kLeaf), leaves(size) {}
    Matrix<double> sum;  // row i * cuts + c
    Matrix<double> degree;
    Matrix<double> far_degree;   // sum of w_ab |f_a - f_b|^2
    std::vector<double> leaves;  // that were added
  };

  // Row leaf * cuts + c has cut c of the variables of a leaf.
  std::vector<Matrix<float>> InTreeOrder(const PairTree& tree) const {
    std::vector<Matrix<float>> potentials;
    for (const FlowTerm& term : proof_) {
      Matrix<float> v(tree.num_leaves() * active_.size(), kLeaf, 0.0F);
      for (std::size_t p = 0; p < tree.size(); ++p) {
        for (std::size_t c = 0; c < active_.size(); ++c)
          v(p / kLeaf * active_.size() + c, p % kLeaf) = term.v(tree.variable(p), active_[c]);
      }
      potentials.push_back(std::move(v));
    }
    return potentials;
  }

  void AddLeaf(const PairTree& tree, const GaussianKernel& kernel,
               const std::vector<Matrix<float>>& potentials, double factor, std::size_t leaf) {
    const std::size_t self = tree.leaf_node(leaf);
    const PairTree::Node& node = tree.node(self);
    LeafSums sums(node.size(), active_.size());
    tree.Walk([&](std::size_t other) {
      const double limit =
          SquaredLimit(kernel.weight * (node.scale * tree.node(other).scale), cutoff_);
      if (tree.SquaredDistance(self, other).least > BoxLimit(limit)) return false;
      if (tree.node(other).is_leaf()) {
        AddLeafPair(tree, potentials, factor, self, other, limit, &sums);
      }
      return true;
    });
    const auto sum_of = [](std::span<const double> lanes) {
      return std::accumulate(lanes.begin(), lanes.end(), 0.0);
    };
    for (std::size_t i = 0; i < node.size(); ++i) {
      const std::size_t a = tree.variable(node.begin + i);
      for (std::size_t c = 0; c < active_.size(); ++c)
        sum_(a, c) += sum_of(sums.sum.row(i * active_.size() + c));
      const double degree = sum_of(sums.degree.row(i));
      degree_[a] += degree;
      kernel_ulps_[a] += KernelUlps(tree, degree, sum_of(sums.far_degree.row(i)));
      roundings_[a] += sums.leaves[i] * static_cast<double>(proof_.size()) + kLeaf;
    }
  }

  void AddLeafPair(const PairTree& tree, const std::vector<Matrix<float>>& potentials,
                   double factor, std::size_t self, std::size_t other, double limit,
                   LeafSums* sums) const {
    const PairTree::Node& from = tree.node(self);
    const std::size_t leaf = from.begin / kLeaf;
    const std::size_t other_leaf = tree.node(other).begin / kLeaf;
    const std::size_t cuts = active_.size();
    double point[kMaxFeatureDimension];
    double least[kLeaf];
    double largest[kLeaf];
    double squared[kLeaf];
    double weight[kLeaf];
    tree.DistancesToBox(leaf, other, least, largest);
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (least[i] > BoxLimit(limit)) continue;
      tree.Point(from.begin + i, point);
      tree.SquaredDistances(point, other_leaf, squared);
      if (!AnyWithin(squared, limit)) continue;
      KernelWeights(squared, tree.scales(other_leaf), tree.scale(from.begin + i), factor, limit,
                    weight);
      if (self == other) weight[i] = 0.0;
      AddWeights(weight, squared, sums->degree.row(i).data(), sums->far_degree.row(i).data());
      sums->leaves[i] += 1.0;
      for (std::size_t t = 0; t < potentials.size(); ++t) {
        AddFlow(weight, proof_[t].share * share_scale_, proof_[t].shape,
                potentials[t].data() + leaf * cuts * kLeaf + i,
                potentials[t].data() + other_leaf * cuts * kLeaf, cuts,
                sums->sum.data() + i * cuts * kLeaf);
      }
    }
  }

  void AddVariable(std::size_t a, std::vector<double>* s, SafeSum* bound) const {
    const std::vector<double>& length = model_.metric().length;
    double largest = 0.0;
    for (std::size_t i = 0; i < s->size(); ++i) {
      (*s)[i] = model_.unary()(a, i);
      largest = std::max(largest, std::abs((*s)[i]));
    }
    for (std::size_t c = 0; c < active_.size(); ++c) {
      const double on_cut = length[active_[c]] * sum_(a, c);
      for (int i : model_.labels().cuts->set(static_cast<int>(active_[c]))) {
        (*s)[static_cast<std::size_t>(i)] += on_cut;
      }
    }
    AddSoftMaximum(
        *s, temperature_, largest + degree_[a] * label_length_,
        roundings_[a] + kExponentialUlps + static_cast<double>(s->size() + active_.size()), bound);
    bound->Widen(kernel_ulps_[a] * label_length_);
  }

  const DenseCrf& model_;
  const FlowProof& proof_;
  double cutoff_;
  double temperature_;
  std::vector<std::size_t> active_;
  double share_scale_;
  Matrix<double> sum_;  // sum_b w_ab q_ab per active cut, without its length
  double label_length_;
  std::vector<double> degree_;       // sum_b w_ab
  std::vector<double> kernel_ulps_;  // the error of degree_ from distances and features
  std::vector<double> roundings_;    // number of roundings in sum_
};

}  // namespace

Bound VerifiedUpper(const DenseCrf& model, const FlowProof& proof, const PairOptions& options,
                    TiltedPlace tilted) {
  CheckOptions(options);
  CheckProof(model, proof);
  FlowSums sums(model, proof, options);
  Progress progress(options, model.kernels().size());
  for (const GaussianKernel& kernel : model.kernels()) {
    if (kernel.weight > 0.0 && !proof.empty()) sums.Add(kernel, progress);
    progress.NextPart();
  }
  progress.Report(0.0);
  return sums.Above(tilted);
}

}  // namespace submarine::internal
