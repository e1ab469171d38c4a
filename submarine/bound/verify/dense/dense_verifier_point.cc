// Lower bound, dual value and energy: sums over all pairs at given marginals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/pairs/exponential.h"
#include "submarine/bound/verify/dense/pairs/leaf_rows.h"

namespace submarine::internal {
namespace dense_verifier {

void NormaliseRow(const Matrix<float>& marginals, std::size_t a, double* y) {
  double sum = 0.0;
  for (float p : marginals.row(a)) {
    sum += p >= 0.0F ? static_cast<double>(p) : std::numeric_limits<double>::quiet_NaN();
  }
  if (!(sum > 0.0 && std::isfinite(sum))) {
    throw InvalidInput(fmt::format("the marginals of variable {} are not a distribution", a));
  }
  for (std::size_t i = 0; i < marginals.cols(); ++i) y[i] = marginals(a, i) / sum;
}

// Terms of the entropy are never negative, so a lower bound may leave them out. The term of a label
// with probability 1 is left out: it is 0, but at high temperatures its slack would dominate.
SafeSum UnaryPart(const DenseCrf& model, const Matrix<float>& marginals, double temperature,
                  std::span<const unsigned char> own) {
  if (marginals.rows() != model.unary().rows() || marginals.cols() != model.unary().cols()) {
    throw InvalidInput(fmt::format(
        "the marginals are {} x {}, the model has {} variables and {} labels", marginals.rows(),
        marginals.cols(), model.unary().rows(), model.unary().cols()));
  }
  const auto labels = static_cast<double>(marginals.cols());
  const std::size_t n = marginals.rows();
  std::vector<SafeSum> partial((n + kGrain - 1) / kGrain);
  ParallelFor(n, kGrain, [&](std::size_t begin, std::size_t end) {
    SafeSum& value = partial[begin / kGrain];
    std::vector<double> y(marginals.cols());
    for (std::size_t a = begin; a < end; ++a) {
      NormaliseRow(marginals, a, y.data());
      if (!own.empty() && own[a] == 0) continue;
      for (std::size_t i = 0; i < y.size(); ++i) {
        if (temperature > 0.0 && y[i] > 0.0 && y[i] < 1.0) {
          value.Add(-temperature * y[i] * std::log(y[i]), temperature * y[i], labels);
          value.Widen(kUnderflow);
        }
        value.Add(-y[i] * model.unary()(a, i), 0.0, labels);
      }
    }
  });
  SafeSum value;
  if (own.empty()) value.Add(-model.constant());
  for (const SafeSum& part : partial) value.Add(part);
  return value;
}

double BelowOf(const SafeSum& sum) {
  return sum.finite() ? sum.Below() : -std::numeric_limits<double>::infinity();
}

Matrix<float> CertainOf(const DenseCrf& model, const std::vector<int>& labeling) {
  if (labeling.size() != model.num_variables()) {
    throw InvalidInput(fmt::format("the labeling has {} variables, expected {}", labeling.size(),
                                   model.num_variables()));
  }
  Matrix<float> certain(labeling.size(), static_cast<std::size_t>(model.num_labels()), 0.0F);
  for (std::size_t a = 0; a < labeling.size(); ++a) {
    if (labeling[a] < 0 || labeling[a] >= model.num_labels()) {
      throw InvalidInput(fmt::format("the label of variable {} is {}, expected 0 to {}", a,
                                     labeling[a], model.num_labels() - 1));
    }
    certain(a, static_cast<std::size_t>(labeling[a])) = 1.0F;
  }
  return certain;
}

}  // namespace dense_verifier

namespace {

using dense_verifier::ActiveCuts;
using dense_verifier::BelowOf;
using dense_verifier::CertainOf;
using dense_verifier::CheckOptions;
using dense_verifier::ForLeaves;
using dense_verifier::KernelUlps;
using dense_verifier::kGrain;
using dense_verifier::kLeaf;
using dense_verifier::kUlp;
using dense_verifier::LargestFactor;
using dense_verifier::LargestLabelLength;
using dense_verifier::NormaliseRow;
using dense_verifier::Progress;
using dense_verifier::UnaryPart;
using leaf_rows::KernelWeights;
using leaf_rows::Sum;
using leaf_rows::SumOfDistances;
using leaf_rows::SumOfProducts;
using leaf_rows::WeightedSum;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr double kTreeDepth = 64.0;  // at most; sums over nodes go through this many additions

// Rows are padded with zeros to whole blocks, which compilers turn into vector instructions.
constexpr std::size_t kBlock = 4;
std::size_t Padded(std::size_t n) { return (n + kBlock - 1) / kBlock * kBlock; }

// The costs of the pairs of one leaf with itself and all leaves that follow it.
struct PointSums {
  SafeSum expected;   // sum of w_ab y_a^T d y_b
  SafeSum variation;  // sum of w_ab sum_c l_c |z_a - z_b|
  double loss = 0.0;  // upper bound on the loss by bounding groups
  void Add(const PointSums& other) {
    expected.Add(other.expected);
    variation.Add(other.variation);
    loss += other.loss;
  }
};

// The marginals in the order of one kernel's tree, with sums over its nodes.
class PointPairs {
 public:
  // `labeling` is that of marginals that are all 0 or 1, and otherwise empty. Where `own` is not empty, pairs count by the
  // share of their variables that it marks.
  PointPairs(const DenseCrf& model, const GaussianKernel& kernel, const Matrix<float>& marginals,
             std::span<const int> labeling, std::span<const unsigned char> own,
             VerifiedValues values);

  // Accepts group bounds that lose at most `threshold` per pair.
  PointSums SumLeaf(std::size_t leaf, double threshold) const;
  PointSums SumSample(double threshold) const;  // scaled up to all leaves
  const PairTree& tree() const { return tree_; }
  // The sum that the threshold applies to.
  const SafeSum& Of(const PointSums& sums) const {
    return SumsExpected() ? sums.expected : sums.variation;
  }
  double largest_cost() const { return factor_ * largest_distance_ * Square(tree_.node(0).scale); }

 private:
  static double Square(double x) { return x * x; }
  bool SumsExpected() const { return values_ != VerifiedValues::kDual; }
  bool SumsVariation() const { return values_ != VerifiedValues::kLower; }

  // One side of a group of pairs.
  struct Side {
    double size;
    const double* cost;       // sum of d y
    const double* mean;       // of z
    const double* deviation;  // sum of |z - mean|
  };
  struct LeafRows {
    Matrix<double> cost;           // d y_a of its variables
    std::vector<double> sum_cost;  // over the leaf
    std::vector<double> none;      // deviation of a single variable
    Matrix<double> z;              // of its variables
    // Group bounds; their rounding errors are added at the end.
    double bound_expected = 0.0;
    double bound_variation = 0.0;
    double bound_weight = 0.0;      // sum of k over pairs
    double bound_far_weight = 0.0;  // sum of k times squared distance
    double bounds = 0.0;
  };
  // Of the kernel over a group of pairs.
  struct KernelRange {
    double largest;
    double least;
    double squared;  // the least squared distance
  };
  bool Bound(const Side& side, std::size_t other, const KernelRange& kernel, double threshold,
             LeafRows* rows, PointSums* sums) const;
  void SumLeafPair(std::size_t self, std::size_t other, double threshold, LeafRows* rows,
                   PointSums* sums) const;
  void SumRow(std::size_t p, const double* point, const PairTree::Node& to, LeafRows* rows,
              PointSums* sums) const;
  KernelRange RangeOf(std::size_t self, std::size_t other) const {
    const PairTree::Node& from = tree_.node(self);
    const PairTree::Node& to = tree_.node(other);
    const PairTree::Range squared = tree_.SquaredDistance(self, other);
    const Halves a = HalfOf(self);
    const Halves b = HalfOf(other);
    return {(a.largest + b.largest) * factor_ * (from.scale * to.scale) *
                std::exp(-0.5 * squared.least),
            (a.least + b.least) * factor_ * (from.least_scale * to.least_scale) *
                std::exp(-0.5 * squared.largest),
            squared.least};
  }
  // By how much the variables of a node, or one, add to the share that a pair counts by.
  struct Halves {
    double least;
    double largest;
  };
  Halves HalfOf(std::size_t node) const {
    return node_half_.empty() ? Halves{0.5, 0.5} : node_half_[node];
  }
  double Half(std::size_t p) const { return half_.empty() ? 0.5 : half_[p]; }
  void SumHalves();
  void SumNodes();

  // The number of roundings of a value computed from two rows of marginals and a leaf of others.
  double Roundings() const {
    return 4.0 * static_cast<double>(node_y_.cols() + length_.size() + kLeaf);
  }
  // `weight` and `far_weight` are sums over pairs of k and of k times squared distance; every pair
  // costs at most the largest distance between labels.
  void WidenForKernel(double weight, double far_weight, PointSums* sums) const {
    const double ulps = KernelUlps(tree_, weight, far_weight) * largest_distance_;
    sums->expected.Widen(ulps);
    sums->variation.Widen(ulps);
  }

  // Of a leaf, (labels or active cuts x kLeaf).
  const double* LeafY(std::size_t leaf) const { return y_.data() + leaf * labels_ * kLeaf; }
  const double* LeafZ(std::size_t leaf) const {
    return z_is_y_ ? LeafY(leaf) : z_.data() + leaf * cuts_ * kLeaf;
  }
  double y(std::size_t p, std::size_t i) const { return LeafY(p / kLeaf)[i * kLeaf + p % kLeaf]; }
  double z(std::size_t p, std::size_t c) const { return LeafZ(p / kLeaf)[c * kLeaf + p % kLeaf]; }

  VerifiedValues values_;
  PairTree tree_;
  const Matrix<double>& distance_;
  double factor_;  // c w^(m), increased by the error of the scale factors
  double largest_distance_;
  double label_length_;
  std::size_t labels_;
  std::size_t cuts_;            // active ones
  std::vector<double> length_;  // of the active cuts, padded
  bool z_is_y_;
  Matrix<double> y_;                  // row leaf * labels_ + i, by slot
  Matrix<double> z_;                  // row leaf * cuts_ + c
  std::vector<std::uint32_t> label_;  // of every slot, for a labeling
  std::vector<double> half_;          // of every slot; empty: all 1/2
  std::vector<Halves> node_half_;
  Matrix<double> variation_;       // by two labels: sum of l_c over the cuts that separate them
  Matrix<double> node_y_;          // sums
  Matrix<double> node_mean_;       // of z
  Matrix<double> node_deviation_;  // sum of |z - mean|
};

PointPairs::PointPairs(const DenseCrf& model, const GaussianKernel& kernel,
                       const Matrix<float>& marginals, std::span<const int> labeling,
                       std::span<const unsigned char> own, VerifiedValues values)
    : values_(values),
      tree_(kernel),
      distance_(model.metric().distance),
      factor_(LargestFactor(model, kernel)),
      largest_distance_(*std::max_element(distance_.data(), distance_.data() + distance_.size())),
      label_length_(LargestLabelLength(model)),
      labels_(marginals.cols()),
      y_(tree_.num_leaves() * labels_, kLeaf, 0.0) {
  const std::vector<std::size_t> active = ActiveCuts(model);
  cuts_ = active.size();
  z_is_y_ = cuts_ == labels_ && model.labels().cuts->leaves_only();
  length_.assign(Padded(active.size()), 0.0);
  for (std::size_t c = 0; c < active.size(); ++c) {
    length_[c] = model.metric().length[active[c]];
  }
  if (!z_is_y_) z_ = Matrix<double>(tree_.num_leaves() * cuts_, kLeaf, 0.0);
  ParallelFor(tree_.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<double> row(labels_);
    for (std::size_t p = begin; p < end; ++p) {
      const std::size_t leaf = p / kLeaf;
      NormaliseRow(marginals, tree_.variable(p), row.data());
      for (std::size_t i = 0; i < labels_; ++i) y_(leaf * labels_ + i, p % kLeaf) = row[i];
      if (z_is_y_) continue;
      for (std::size_t c = 0; c < cuts_; ++c) {
        for (int i : model.labels().cuts->set(static_cast<int>(active[c])))
          z_(leaf * cuts_ + c, p % kLeaf) += row[static_cast<std::size_t>(i)];
      }
    }
  });
  SumNodes();
  if (!own.empty()) {
    half_.resize(tree_.num_leaves() * kLeaf, 0.0);
    for (std::size_t p = 0; p < tree_.size(); ++p)
      half_[p] = own[tree_.variable(p)] == 0 ? 0.0 : 0.5;
    SumHalves();
  }
  if (labeling.empty()) return;
  label_.resize(tree_.num_leaves() * kLeaf, 0);
  for (std::size_t p = 0; p < tree_.size(); ++p)
    label_[p] = static_cast<std::uint32_t>(labeling[tree_.variable(p)]);
  variation_ = Matrix<double>(labels_, labels_, 0.0);
  for (const std::size_t c : active) {
    for (std::size_t i = 0; i < labels_; ++i) {
      for (std::size_t j = 0; j < labels_; ++j) {
        const LabelCuts& cuts = *model.labels().cuts;
        const bool apart = cuts.contains(static_cast<int>(c), static_cast<int>(i)) !=
                           cuts.contains(static_cast<int>(c), static_cast<int>(j));
        if (apart) variation_(i, j) += model.metric().length[c];
      }
    }
  }
}

void PointPairs::SumHalves() {
  node_half_.resize(tree_.num_nodes());
  for (std::size_t n = tree_.num_nodes(); n-- > 0;) {
    const PairTree::Node& node = tree_.node(n);
    if (node.is_leaf()) {
      const auto [least, largest] =
          std::minmax_element(half_.begin() + static_cast<std::ptrdiff_t>(node.begin),
                              half_.begin() + static_cast<std::ptrdiff_t>(node.end));
      node_half_[n] = {*least, *largest};
    } else {
      const Halves& left = node_half_[n + 1];
      const Halves& right = node_half_[node.right];
      node_half_[n] = {std::min(left.least, right.least), std::max(left.largest, right.largest)};
    }
  }
}

void PointPairs::SumNodes() {
  node_y_ = Matrix<double>(tree_.num_nodes(), Padded(labels_), 0.0);
  node_mean_ = Matrix<double>(tree_.num_nodes(), length_.size(), 0.0);
  node_deviation_ = Matrix<double>(tree_.num_nodes(), length_.size(), 0.0);
  // Children come after their parents.
  for (std::size_t n = tree_.num_nodes(); n-- > 0;) {
    const PairTree::Node& node = tree_.node(n);
    const auto add = [](const Matrix<double>& from, std::size_t row, double times,
                        std::span<double> to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += times * from(row, i);
    };
    if (node.is_leaf()) {
      for (std::size_t p = node.begin; p < node.end; ++p) {
        for (std::size_t i = 0; i < labels_; ++i) node_y_(n, i) += y(p, i);
        for (std::size_t c = 0; c < cuts_; ++c)
          node_mean_(n, c) += 1.0 / static_cast<double>(node.size()) * z(p, c);
      }
    } else {
      for (std::size_t child : {n + 1, std::size_t{node.right}}) {
        add(node_y_, child, 1.0, node_y_.row(n));
        add(node_mean_, child,
            static_cast<double>(tree_.node(child).size()) / static_cast<double>(node.size()),
            node_mean_.row(n));
      }
    }
  }
  ParallelFor(tree_.num_nodes(), 1, [&](std::size_t n, std::size_t) {
    for (std::size_t p = tree_.node(n).begin; p < tree_.node(n).end; ++p) {
      for (std::size_t c = 0; c < cuts_; ++c)
        node_deviation_(n, c) += std::abs(z(p, c) - node_mean_(n, c));
    }
  });
}

SUBMARINE_FOR_WIDE_REGISTERS double Dot(const double* x, const double* y, std::size_t n) {
  double lane[kBlock] = {};
  for (std::size_t i = 0; i < n; i += kBlock) {
    for (std::size_t u = 0; u < kBlock; ++u) lane[u] += x[i + u] * y[i + u];
  }
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

// With means m, m', sizes n, n', and deviations v and v' of the two sides, the pairs of one cut
// have
//   n n' |m - m'| <= sum |z_a - z_b| <= min(n n' (m + m' - 2 m m'), n v' + n n' |m - m'| + n' v).
SUBMARINE_FOR_WIDE_REGISTERS void BoundVariation(double size, const double* mean,
                                                 const double* deviation, double other_size,
                                                 const double* other_mean,
                                                 const double* other_deviation,
                                                 const double* length, std::size_t cuts,
                                                 double* least, double* largest) {
  const double pairs = size * other_size;
  double least_lane[kBlock] = {};
  double largest_lane[kBlock] = {};
  for (std::size_t c = 0; c < cuts; c += kBlock) {
    for (std::size_t u = 0; u < kBlock; ++u) {
      const double m = mean[c + u];
      const double m_other = other_mean[c + u];
      const double apart = pairs * std::abs(m - m_other);
      const double triangle = size * other_deviation[c + u] + apart + other_size * deviation[c + u];
      const double product = pairs * (m + m_other - 2.0 * m * m_other);
      least_lane[u] += length[c + u] * apart;
      largest_lane[u] += length[c + u] * (std::isless(triangle, product) ? triangle : product);
    }
  }
  *least = (least_lane[0] + least_lane[1]) + (least_lane[2] + least_lane[3]);
  *largest = (largest_lane[0] + largest_lane[1]) + (largest_lane[2] + largest_lane[3]);
}

// Bounds all pairs of `side` and the node, unless that loses too much.
bool PointPairs::Bound(const Side& side, std::size_t other, const KernelRange& kernel,
                       double threshold, LeafRows* rows, PointSums* sums) const {
  const auto& [largest, least, squared] = kernel;
  if (largest == 0.0) return true;
  const auto size = static_cast<double>(tree_.node(other).size());
  const double pairs = side.size * size;
  const double expected =
      SumsExpected() ? Dot(side.cost, node_y_.row(other).data(), node_y_.cols()) : 0.0;
  const double loss_expected = (largest - least) * expected;
  if (loss_expected > threshold * pairs) return false;

  double least_variation = 0.0;
  double variation = 0.0;
  if (SumsVariation()) {
    BoundVariation(side.size, side.mean, side.deviation, size, node_mean_.row(other).data(),
                   node_deviation_.row(other).data(), length_.data(), length_.size(),
                   &least_variation, &variation);
  }
  const double loss_variation = largest * variation - least * least_variation;
  if (loss_variation > threshold * pairs) return false;

  rows->bound_expected += largest * expected;
  rows->bound_variation += largest * variation;
  rows->bound_weight += largest * pairs;
  rows->bound_far_weight += largest * pairs * squared;
  rows->bounds += 1.0;
  sums->loss += std::max({0.0, loss_expected, loss_variation});
  return true;
}

PointSums PointPairs::SumLeaf(std::size_t leaf, double threshold) const {
  const std::size_t self = tree_.leaf_node(leaf);
  const PairTree::Node& node = tree_.node(self);
  LeafRows rows{Matrix<double>(node.size(), node_y_.cols(), 0.0),
                std::vector<double>(node_y_.cols(), 0.0), std::vector<double>(length_.size(), 0.0),
                Matrix<double>(node.size(), length_.size(), 0.0)};
  for (std::size_t k = 0; k < (SumsExpected() ? node.size() : 0); ++k) {
    for (std::size_t j = 0; j < labels_; ++j) {
      const double p = y(node.begin + k, j);
      if (p == 0.0) continue;
      for (std::size_t i = 0; i < labels_; ++i) rows.cost(k, i) += p * distance_(j, i);
    }
    for (std::size_t i = 0; i < labels_; ++i) rows.sum_cost[i] += rows.cost(k, i);
  }
  for (std::size_t k = 0; k < node.size(); ++k) {
    for (std::size_t c = 0; c < cuts_; ++c) rows.z(k, c) = z(node.begin + k, c);
  }
  const Side side{static_cast<double>(node.size()), rows.sum_cost.data(),
                  node_mean_.row(self).data(), node_deviation_.row(self).data()};
  PointSums sums;
  tree_.Walk([&](std::size_t other) {
    const PairTree::Node& to = tree_.node(other);
    if (to.end <= node.begin) return false;  // counted from the other side
    const bool apart = to.begin >= node.end;
    if (apart && Bound(side, other, RangeOf(self, other), threshold, &rows, &sums)) return false;
    if (to.is_leaf()) SumLeafPair(self, other, threshold, &rows, &sums);
    return true;
  });
  const double roundings = Roundings() + rows.bounds + kTreeDepth;
  sums.expected.Add(rows.bound_expected, 0.0, roundings);
  sums.variation.Add(rows.bound_variation, rows.bound_weight * 4.0 * label_length_, roundings);
  WidenForKernel(rows.bound_weight, rows.bound_far_weight, &sums);
  // The weights of pairs that are so far apart that KernelWeights or std::exp have 0.
  const double dropped = static_cast<double>(kLeaf) * static_cast<double>(tree_.size()) * factor_ *
                         Square(tree_.node(0).scale) * std::exp(kLeastExponent);
  sums.expected.Widen(dropped * largest_distance_ / kUlp);
  sums.variation.Widen(dropped * largest_distance_ / kUlp);
  return sums;
}

void PointPairs::SumLeafPair(std::size_t self, std::size_t other, double threshold, LeafRows* rows,
                             PointSums* sums) const {
  const PairTree::Node& from = tree_.node(self);
  const PairTree::Node& to = tree_.node(other);
  double point[kMaxFeatureDimension];
  double nearest[kLeaf];
  double farthest[kLeaf];
  double largest[kLeaf];
  double least[kLeaf];
  if (self != other) {
    const double* scales = tree_.scales(from.begin / kLeaf);
    tree_.DistancesToBox(from.begin / kLeaf, other, nearest, farthest);
    KernelWeights(nearest, scales, to.scale, factor_, kNoLimit, largest);
    KernelWeights(farthest, scales, to.least_scale, factor_, kNoLimit, least);
  }
  for (std::size_t k = 0; k < from.size(); ++k) {
    const std::size_t p = from.begin + k;
    if (self != other) {
      const Side side{1.0, rows->cost.row(k).data(), rows->z.row(k).data(), rows->none.data()};
      const Halves to_half = HalfOf(other);
      const KernelRange range{(Half(p) + to_half.largest) * largest[k],
                              (Half(p) + to_half.least) * least[k], nearest[k]};
      if (Bound(side, other, range, threshold, rows, sums)) continue;
    }
    tree_.Point(p, point);
    SumRow(p, point, to, rows, sums);
  }
}

// The pairs of position p with all positions of a leaf that follow it, one by one.
void PointPairs::SumRow(std::size_t p, const double* point, const PairTree::Node& to,
                        LeafRows* rows, PointSums* sums) const {
  const std::size_t leaf = to.begin / kLeaf;
  double squared[kLeaf];
  double weight[kLeaf];
  tree_.SquaredDistances(point, leaf, squared);
  KernelWeights(squared, tree_.scales(leaf), tree_.scale(p), factor_, kNoLimit, weight);
  for (std::size_t j = 0; to.begin + j <= p && j < kLeaf; ++j) weight[j] = 0.0;
  if (!half_.empty()) {  // 0, 1/2 or 1: no rounding
    for (std::size_t j = 0; j < kLeaf; ++j) weight[j] *= half_[p] + half_[leaf * kLeaf + j];
  }
  const double sum = Sum(weight);
  double expected = 0.0;
  double variation = 0.0;
  if (label_.empty()) {
    if (SumsExpected())
      expected = SumOfProducts(weight, rows->cost.row(p % kLeaf).data(), LeafY(leaf), labels_);
    if (SumsVariation()) {
      variation =
          SumOfDistances(weight, length_.data(), rows->z.row(p % kLeaf).data(), LeafZ(leaf), cuts_);
    }
  } else {
    const std::uint32_t* label = label_.data() + leaf * kLeaf;
    const double* distance = distance_.row(label_[p]).data();
    const double* cut_distance = variation_.row(label_[p]).data();
    double of_slot[kLeaf];
    for (std::size_t j = 0; j < kLeaf; ++j) of_slot[j] = distance[label[j]];
    expected = WeightedSum(weight, of_slot);
    for (std::size_t j = 0; j < kLeaf; ++j) of_slot[j] = cut_distance[label[j]];
    variation = WeightedSum(weight, of_slot);
  }
  sums->expected.Add(expected, 0.0, Roundings());
  // The differences of z inherit the roundings of z.
  sums->variation.Add(variation, sum * 2.0 * label_length_, Roundings());
  WidenForKernel(sum, WeightedSum(weight, squared), sums);
}

PointSums PointPairs::SumSample(double threshold) const {
  // Enough leaves to be typical, few enough to be cheap beside the real pass.
  const std::size_t leaves = tree_.num_leaves();
  const std::size_t sample = std::min(leaves, std::clamp<std::size_t>(leaves / 8, 8, 64));
  std::vector<PointSums> part(sample);
  ParallelFor(sample, 1, [&](std::size_t k, std::size_t) {
    part[k] = SumLeaf(k * leaves / sample, threshold);
  });
  PointSums sum;
  for (const PointSums& p : part) sum.Add(p);
  const double times = static_cast<double>(leaves) / static_cast<double>(sample);
  PointSums scaled;
  scaled.expected.Add(times * sum.expected.Above());
  scaled.variation.Add(times * sum.variation.Above());
  scaled.loss = times * sum.loss;
  return scaled;
}

// The largest threshold per pair, to a factor of 2, whose loss stays within the tolerance,
// estimated from a sample of leaves. `value` is the free energy without this kernel, or the dual
// value if only that is asked for.
double Threshold(const PointPairs& pairs, double tolerance, double value,
                 const Progress& progress) {
  if (tolerance == 0.0) return 0.0;
  constexpr double kSafety = 0.5;  // for the error of the sample
  const auto acceptable = [&](double threshold) {
    const PointSums sums = pairs.SumSample(threshold);
    progress.Report(0.0);
    const double with_pairs = value - (pairs.Of(sums).Above() - sums.loss);
    const double scale = std::max({1.0, std::abs(value), std::abs(with_pairs)});
    return sums.loss <= kSafety * tolerance * scale;
  };
  const double largest = pairs.largest_cost();
  double threshold = 0.25 * largest;
  while (threshold > 1e-15 * largest && !acceptable(threshold)) threshold *= 0.25;
  return acceptable(2.0 * threshold) ? 2.0 * threshold : threshold;
}

struct PointValues {
  double lower;
  double dual;
  double loss;
};

PointValues ValuesAtPoint(const DenseCrf& model, const Matrix<float>& marginals,
                          std::span<const int> labeling, std::span<const unsigned char> own,
                          const PairOptions& options, VerifiedValues values) {
  CheckOptions(options);
  SafeSum lower = UnaryPart(model, marginals, options.temperature, own);
  SafeSum dual = lower;
  double loss = 0.0;
  const auto kernels = static_cast<double>(model.kernels().size());
  Progress progress(options, model.kernels().size());
  for (const GaussianKernel& kernel : model.kernels()) {
    if (kernel.weight > 0.0) {
      const PointPairs pairs(model, kernel, marginals, labeling, own, values);
      const double threshold =
          Threshold(pairs, options.far_tolerance / kernels,
                    (values == VerifiedValues::kDual ? dual : lower).Below(), progress);
      std::vector<PointSums> part(pairs.tree().num_leaves());
      ForLeaves(pairs.tree(), progress,
                [&](std::size_t leaf) { part[leaf] = pairs.SumLeaf(leaf, threshold); });
      for (const PointSums& p : part) {
        lower.Subtract(p.expected);
        dual.Subtract(p.variation);
        loss += p.loss;
      }
    }
    progress.NextPart();
  }
  progress.Report(0.0);
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  return {values == VerifiedValues::kDual ? kNone : BelowOf(lower),
          values == VerifiedValues::kLower ? kNone : BelowOf(dual), loss};
}

VerifiedPoint VerifiedAtPoint(const DenseCrf& model, const Matrix<float>& marginals,
                              std::span<const int> labeling, const PairOptions& options,
                              VerifiedValues values) {
  const PointValues found = ValuesAtPoint(model, marginals, labeling, {}, options, values);
  return {BoundMaker::Verified(found.lower), BoundMaker::Verified(found.dual), found.loss};
}

VerifiedShare ShareAtPoint(const DenseCrf& model, const Matrix<float>& marginals,
                           std::span<const int> labeling, std::span<const unsigned char> own,
                           const PairOptions& options) {
  if (own.empty() || own.size() != model.num_variables()) {
    throw InvalidInput(fmt::format("{} variables are marked or not, expected {}", own.size(),
                                   model.num_variables()));
  }
  const PointValues found =
      ValuesAtPoint(model, marginals, labeling, own, options, VerifiedValues::kLower);
  return {found.lower, found.loss};
}

}  // namespace

VerifiedPoint VerifiedAt(const DenseCrf& model, const Matrix<float>& marginals,
                         const PairOptions& options, VerifiedValues values) {
  return VerifiedAtPoint(model, marginals, {}, options, values);
}

VerifiedShare VerifiedLowerShare(const DenseCrf& model, const Matrix<float>& marginals,
                                 std::span<const unsigned char> own, const PairOptions& options) {
  return ShareAtPoint(model, marginals, {}, own, options);
}

VerifiedShare VerifiedLowerShare(const DenseCrf& model, const std::vector<int>& labeling,
                                 std::span<const unsigned char> own, const PairOptions& options) {
  return ShareAtPoint(model, CertainOf(model, labeling), labeling, own, options);
}

VerifiedPoint VerifiedAt(const DenseCrf& model, const std::vector<int>& labeling,
                         const PairOptions& options) {
  return VerifiedAtPoint(model, CertainOf(model, labeling), labeling, options,
                         VerifiedValues::kBoth);
}

Bound VerifiedEnergy(const DenseCrf& model, const std::vector<int>& labeling,
                     const PairOptions& options) {
  return Negated(VerifiedAt(model, labeling, options).lower);
}

}  // namespace submarine::internal
