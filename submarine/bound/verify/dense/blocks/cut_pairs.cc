#include "submarine/bound/verify/dense/blocks/cut_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/pairs/exponential.h"
#include "submarine/bound/verify/dense/pairs/leaf_rows.h"

namespace submarine::internal {
namespace {

using dense_verifier::KernelUlps;
using dense_verifier::kLeaf;
using dense_verifier::kUlp;
using dense_verifier::LeastFactor;

constexpr double kLeastCutoff = 1e-6;

void CheckInput(const DenseCrf& model, const Matrix<float>& potentials,
                std::span<const unsigned char> own, std::span<const double> cutoffs) {
  const auto labels = static_cast<std::size_t>(model.num_labels());
  if (potentials.rows() != model.num_variables() || potentials.cols() != labels) {
    throw InvalidInput(fmt::format("the potentials are {} x {}, expected {} x {}",
                                   potentials.rows(), potentials.cols(), model.num_variables(),
                                   labels));
  }
  if (!std::all_of(potentials.data(), potentials.data() + potentials.size(),
                   [](float u) { return std::isfinite(u); })) {
    throw InvalidInput("the potentials are not all finite");
  }
  if (own.size() != model.num_variables()) {
    throw InvalidInput(fmt::format("{} variables are marked or not, expected {}", own.size(),
                                   model.num_variables()));
  }
  if (cutoffs.size() != model.kernels().size()) {
    throw InvalidInput(fmt::format("there are {} cutoffs, expected one for each of {} kernels",
                                   cutoffs.size(), model.kernels().size()));
  }
  for (const double cutoff : cutoffs) {
    if (!(cutoff >= kLeastCutoff && cutoff <= 1.0)) {
      throw InvalidInput(
          fmt::format("a cutoff is {}, expected a number from {} to 1", cutoff, kLeastCutoff));
    }
  }
}

// The pairs of one kernel, in the order of its tree.
class CutPairs {
 public:
  CutPairs(const DenseCrf& model, const GaussianKernel& kernel, const Matrix<float>& potentials,
           std::span<const unsigned char> own, double cutoff)
      : tree_(kernel),
        factor_(LeastFactor(model, kernel)),
        cutoff_(cutoff),
        labels_(potentials.cols()),
        u_(tree_.num_leaves() * labels_, kLeaf, 0.0),
        own_(tree_.num_leaves() * kLeaf, 1),
        all_own_(tree_.num_nodes()) {
    // Farther pairs are below the cutoff whatever the errors of features: k, at most k (1 + e (1 + x)) for an error of e at
    // a squared distance of x, falls from there on.
    const double limit = -2.0 * std::log(cutoff);
    const double error = tree_.feature_error() + 1e-12;
    limit_ = error < 0.1 ? limit + 4.0 * error * (1.0 + limit) + 1e-9
                         : std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < tree_.size(); ++p) {
      const std::size_t a = tree_.variable(p);
      own_[p] = own[a];
      for (std::size_t i = 0; i < labels_; ++i) {
        u_(p / kLeaf * labels_ + i, p % kLeaf) = potentials(a, i);
        span_ = std::max(span_, 2.0 * std::abs(static_cast<double>(potentials(a, i))));
      }
    }
    for (std::size_t n = tree_.num_nodes(); n-- > 0;) {  // children come after their parents
      const PairTree::Node& node = tree_.node(n);
      all_own_[n] = node.is_leaf() ? std::all_of(own_.begin() + Signed(node.begin),
                                                 own_.begin() + Signed(node.end),
                                                 [](unsigned char mark) { return mark != 0; })
                                   : all_own_[n + 1] != 0 && all_own_[node.right] != 0;
    }
  }

  std::size_t num_leaves() const { return tree_.num_leaves(); }

  // Adds the pairs of the leaf's variables.
  void AddLeaf(std::size_t leaf, CutPairSums* to) const {
    const std::size_t self = tree_.leaf_node(leaf);
    const PairTree::Node& node = tree_.node(self);
    if (std::all_of(own_.begin() + Signed(node.begin), own_.begin() + Signed(node.end),
                    [](unsigned char mark) { return mark == 0; })) {
      return;
    }
    std::array<Row, kLeaf> rows;
    for (Row& row : rows) row.sums.assign(labels_, 0.0);
    tree_.Walk([&](std::size_t other) {
      if (all_own_[other] != 0 || tree_.SquaredDistance(self, other).least > limit_) return false;
      if (!tree_.node(other).is_leaf()) return true;
      for (std::size_t p = node.begin; p < node.end; ++p) {
        if (own_[p] != 0) AddRow(p, tree_.node(other).begin / kLeaf, &rows[p - node.begin]);
      }
      return true;
    });
    for (std::size_t p = node.begin; p < node.end; ++p) {
      if (own_[p] != 0) Finish(p, rows[p - node.begin], to);
    }
  }

 private:
  struct Row {
    std::vector<double> sums;  // of w' u_b
    double weight = 0.0;       // of w'
    double whole = 0.0;        // of c w r r k, whose errors those of w' are
    double far = 0.0;          // of c w r r k times the squared distance
    double leaves = 0.0;
  };

  static std::ptrdiff_t Signed(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }

  void AddRow(std::size_t p, std::size_t leaf, Row* row) const {
    double point[kMaxFeatureDimension];
    double squared[kLeaf];
    double weight[kLeaf];
    tree_.Point(p, point);
    tree_.SquaredDistances(point, leaf, squared);
    if (!leaf_rows::AnyWithin(squared, limit_)) return;
    leaf_rows::KernelWeights(squared, tree_.scales(leaf), tree_.scale(p), factor_, limit_, weight);
    const double* scale = tree_.scales(leaf);
    for (std::size_t j = 0; j < kLeaf; ++j) {
      if (own_[leaf * kLeaf + j] != 0) weight[j] = 0.0;
    }
    row->whole += leaf_rows::Sum(weight);
    row->far += leaf_rows::WeightedSum(weight, squared);
    for (std::size_t j = 0; j < kLeaf; ++j) {
      const double most = factor_ * (tree_.scale(p) * scale[j]);
      weight[j] = weight[j] > 0.0 ? std::max(0.0, weight[j] - cutoff_ * most) : 0.0;
    }
    row->weight += leaf_rows::Sum(weight);
    for (std::size_t i = 0; i < labels_; ++i)
      row->sums[i] += leaf_rows::WeightedSum(weight, u_.row(leaf * labels_ + i).data());
    row->leaves += 1.0;
  }

  // Roundings of the sums over leaves, slots and kernels; that of a weight is one of c w r r k at most.
  void Finish(std::size_t p, const Row& row, CutPairSums* to) const {
    const std::size_t a = tree_.variable(p);
    for (std::size_t i = 0; i < labels_; ++i) {
      to->sums(a, i) += row.weight * u_(p / kLeaf * labels_ + i, p % kLeaf) - row.sums[i];
    }
    to->weights[a] += row.weight;
    const double roundings = 4.0 * (row.leaves + static_cast<double>(kLeaf)) + kExponentialUlps;
    to->errors[a] +=
        1.01 * kUlp * span_ * (KernelUlps(tree_, row.whole, row.far) + roundings * row.whole);
  }

  PairTree tree_;
  double factor_;
  double cutoff_;
  double limit_;       // of squared distances
  double span_ = 0.0;  // no two potentials are farther apart
  std::size_t labels_;
  Matrix<double> u_;                // row leaf * labels_ + i, by slot
  std::vector<unsigned char> own_;  // by slot; 1 beyond the last variable
  std::vector<char> all_own_;       // by node
};

}  // namespace

CutPairSums SumCutPairs(const DenseCrf& model, const Matrix<float>& potentials,
                        std::span<const unsigned char> own, std::span<const double> cutoffs) {
  CheckInput(model, potentials, own, cutoffs);
  const std::size_t n = model.num_variables();
  CutPairSums found{Matrix<double>(n, potentials.cols(), 0.0), std::vector<double>(n, 0.0),
                    std::vector<double>(n, 0.0)};
  for (std::size_t m = 0; m < cutoffs.size(); ++m) {
    const GaussianKernel& kernel = model.kernels()[m];
    if (!(kernel.weight > 0.0)) continue;
    const CutPairs pairs(model, kernel, potentials, own, cutoffs[m]);
    ParallelFor(pairs.num_leaves(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t leaf = begin; leaf < end; ++leaf) pairs.AddLeaf(leaf, &found);
    });
  }
  return found;
}

}  // namespace submarine::internal
