// Lower bound, dual value and energy: sums over all pairs at given marginals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "submarine/base/parallel.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/bound_internal.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"

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
SafeSum UnaryPart(const DenseCrf& model, const Matrix<float>& marginals, double temperature) {
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
  value.Add(-model.constant());
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
using dense_verifier::LargestFactor;
using dense_verifier::LargestLabelLength;
using dense_verifier::NormaliseRow;
using dense_verifier::Progress;
using dense_verifier::UnaryPart;

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
  // `labeling` is that of marginals that are all 0 or 1, and otherwise empty.
  PointPairs(const DenseCrf& model, const GaussianKernel& kernel, const Matrix<float>& marginals,
             std::span<const int> labeling, VerifiedValues values);

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
    double scale;
    double least_scale;
  };
  struct LeafRows {
    Matrix<double> cost;             // d y_a of its variables
    std::vector<double> sum_cost;    // over the leaf
    std::vector<double> none;        // deviation of a single variable
    std::vector<double> neighbours;  // sum_b k_ab y_b of one variable
    std::vector<double> variation;   // sum_b k_ab |z_a - z_b| of one variable
    // Group bounds; their rounding errors are added at the end.
    double bound_expected = 0.0;
    double bound_variation = 0.0;
    double bound_weight = 0.0;      // sum of k over pairs
    double bound_far_weight = 0.0;  // sum of k times squared distance
    double bounds = 0.0;
  };
  bool Bound(const Side& side, std::size_t other, const PairTree::Range& squared, double threshold,
             LeafRows* rows, PointSums* sums) const;
  void SumLeafPair(std::size_t self, std::size_t other, double threshold, LeafRows* rows,
                   PointSums* sums) const;
  void SumRow(std::size_t p, const double* point, const PairTree::Node& to, LeafRows* rows,
              PointSums* sums) const;
  void SumNodes();

  // The number of roundings of a value computed from two rows of marginals and a leaf of others.
  double Roundings() const { return 4.0 * static_cast<double>(y_.cols() + length_.size() + kLeaf); }
  // `weight` and `far_weight` are sums over pairs of k and of k times squared distance; every pair
  // costs at most the largest distance between labels.
  void WidenForKernel(double weight, double far_weight, PointSums* sums) const {
    const double ulps = KernelUlps(tree_, weight, far_weight) * largest_distance_;
    sums->expected.Widen(ulps);
    sums->variation.Widen(ulps);
  }

  const Matrix<double>& z() const { return z_is_y_ ? y_ : z_; }

  VerifiedValues values_;
  PairTree tree_;
  const Matrix<double>& distance_;
  double factor_;  // c w^(m), increased by the error of the scale factors
  double largest_distance_;
  double label_length_;
  std::size_t labels_;
  std::vector<double> length_;  // of the active cuts, padded
  bool z_is_y_;
  Matrix<double> y_;
  Matrix<double> z_;
  std::vector<std::size_t> label_;  // of every position, for a labeling
  Matrix<double> variation_;        // by two labels: sum of l_c over the cuts that separate them
  Matrix<double> node_y_;           // sums
  Matrix<double> node_mean_;        // of z
  Matrix<double> node_deviation_;   // sum of |z - mean|
};

PointPairs::PointPairs(const DenseCrf& model, const GaussianKernel& kernel,
                       const Matrix<float>& marginals, std::span<const int> labeling,
                       VerifiedValues values)
    : values_(values),
      tree_(kernel),
      distance_(model.metric().distance),
      factor_(LargestFactor(model, kernel)),
      largest_distance_(*std::max_element(distance_.data(), distance_.data() + distance_.size())),
      label_length_(LargestLabelLength(model)),
      labels_(marginals.cols()),
      y_(marginals.rows(), Padded(labels_), 0.0) {
  const std::vector<std::size_t> active = ActiveCuts(model);
  z_is_y_ = active.size() == labels_ && model.labels().cuts->leaves_only();
  length_.assign(Padded(active.size()), 0.0);
  for (std::size_t c = 0; c < active.size(); ++c) {
    length_[c] = model.metric().length[active[c]];
  }
  if (!z_is_y_) z_ = Matrix<double>(y_.rows(), length_.size(), 0.0);
  ParallelFor(y_.rows(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      NormaliseRow(marginals, tree_.variable(p), y_.row(p).data());
      if (z_is_y_) continue;
      for (std::size_t c = 0; c < active.size(); ++c) {
        for (int i : model.labels().cuts->set(static_cast<int>(active[c]))) {
          z_(p, c) += y_(p, static_cast<std::size_t>(i));
        }
      }
    }
  });
  SumNodes();
  if (labeling.empty()) return;
  label_.resize(y_.rows());
  for (std::size_t p = 0; p < label_.size(); ++p)
    label_[p] = static_cast<std::size_t>(labeling[tree_.variable(p)]);
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

void PointPairs::SumNodes() {
  const std::size_t cuts = length_.size();
  node_y_ = Matrix<double>(tree_.num_nodes(), y_.cols(), 0.0);
  node_mean_ = Matrix<double>(tree_.num_nodes(), cuts, 0.0);
  node_deviation_ = Matrix<double>(tree_.num_nodes(), cuts, 0.0);
  // Children come after their parents.
  for (std::size_t n = tree_.num_nodes(); n-- > 0;) {
    const PairTree::Node& node = tree_.node(n);
    const auto add = [](const Matrix<double>& from, std::size_t row, double times,
                        std::span<double> to) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += times * from(row, i);
    };
    if (node.is_leaf()) {
      for (std::size_t p = node.begin; p < node.end; ++p) {
        add(y_, p, 1.0, node_y_.row(n));
        add(z(), p, 1.0 / static_cast<double>(node.size()), node_mean_.row(n));
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
      for (std::size_t c = 0; c < cuts; ++c) {
        node_deviation_(n, c) += std::abs(z()(p, c) - node_mean_(n, c));
      }
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
bool PointPairs::Bound(const Side& side, std::size_t other, const PairTree::Range& squared,
                       double threshold, LeafRows* rows, PointSums* sums) const {
  const PairTree::Node& node = tree_.node(other);
  const double largest = factor_ * (side.scale * node.scale) * std::exp(-0.5 * squared.least);
  if (largest == 0.0) return true;
  const double least =
      factor_ * (side.least_scale * node.least_scale) * std::exp(-0.5 * squared.largest);
  const auto size = static_cast<double>(node.size());
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
  rows->bound_far_weight += largest * pairs * squared.least;
  rows->bounds += 1.0;
  sums->loss += std::max({0.0, loss_expected, loss_variation});
  return true;
}

PointSums PointPairs::SumLeaf(std::size_t leaf, double threshold) const {
  const std::size_t self = tree_.leaf_node(leaf);
  const PairTree::Node& node = tree_.node(self);
  LeafRows rows{Matrix<double>(node.size(), y_.cols(), 0.0), std::vector<double>(y_.cols(), 0.0),
                std::vector<double>(length_.size(), 0.0), std::vector<double>(y_.cols()),
                std::vector<double>(length_.size())};
  for (std::size_t k = 0; k < (SumsExpected() ? node.size() : 0); ++k) {
    for (std::size_t j = 0; j < labels_; ++j) {
      const double p = y_(node.begin + k, j);
      if (p == 0.0) continue;
      for (std::size_t i = 0; i < labels_; ++i) rows.cost(k, i) += p * distance_(j, i);
    }
    for (std::size_t i = 0; i < labels_; ++i) rows.sum_cost[i] += rows.cost(k, i);
  }
  const Side side{
      static_cast<double>(node.size()), rows.sum_cost.data(), node_mean_.row(self).data(),
      node_deviation_.row(self).data(), node.scale,           node.least_scale};
  PointSums sums;
  tree_.Walk([&](std::size_t other) {
    const PairTree::Node& to = tree_.node(other);
    if (to.end <= node.begin) return false;  // counted from the other side
    const bool apart = to.begin >= node.end;
    if (apart && Bound(side, other, tree_.SquaredDistance(self, other), threshold, &rows, &sums)) {
      return false;
    }
    if (to.is_leaf()) SumLeafPair(self, other, threshold, &rows, &sums);
    return true;
  });
  const double roundings = Roundings() + rows.bounds + kTreeDepth;
  sums.expected.Add(rows.bound_expected, 0.0, roundings);
  sums.variation.Add(rows.bound_variation, rows.bound_weight * 4.0 * label_length_, roundings);
  WidenForKernel(rows.bound_weight, rows.bound_far_weight, &sums);
  return sums;
}

void PointPairs::SumLeafPair(std::size_t self, std::size_t other, double threshold, LeafRows* rows,
                             PointSums* sums) const {
  const PairTree::Node& from = tree_.node(self);
  const PairTree::Node& to = tree_.node(other);
  double point[kMaxFeatureDimension];
  for (std::size_t k = 0; k < from.size(); ++k) {
    const std::size_t p = from.begin + k;
    tree_.Point(p, point);
    if (self != other) {
      const Side side{1.0,
                      rows->cost.row(k).data(),
                      z().row(p).data(),
                      rows->none.data(),
                      tree_.scale(p),
                      tree_.scale(p)};
      if (Bound(side, other, tree_.SquaredDistance(point, other), threshold, rows, sums)) continue;
    }
    SumRow(p, point, to, rows, sums);
  }
}

SUBMARINE_FOR_WIDE_REGISTERS void AddScaled(const double* __restrict x, double k, std::size_t n,
                                            double* __restrict out) {
  for (std::size_t i = 0; i < n; i += kBlock) {
    for (std::size_t u = 0; u < kBlock; ++u) out[i + u] += k * x[i + u];
  }
}

SUBMARINE_FOR_WIDE_REGISTERS void AddVariation(const double* __restrict x,
                                               const double* __restrict y, double k, std::size_t n,
                                               double* __restrict out) {
  for (std::size_t i = 0; i < n; i += kBlock) {
    for (std::size_t u = 0; u < kBlock; ++u) out[i + u] += k * std::abs(x[i + u] - y[i + u]);
  }
}

// The pairs of position p with all positions of a leaf that follow it, one by one.
void PointPairs::SumRow(std::size_t p, const double* point, const PairTree::Node& to,
                        LeafRows* rows, PointSums* sums) const {
  double squared[kLeaf];
  tree_.SquaredDistances(point, to.begin / kLeaf, squared);
  const std::size_t first = std::max(to.begin, p + 1);
  double kernel[kLeaf];
  double weight = 0.0;
  double far_weight = 0.0;
  for (std::size_t b = first; b < to.end; ++b) {
    const double far = squared[b - to.begin];
    const double k = factor_ * (tree_.scale(p) * tree_.scale(b)) * std::exp(-0.5 * far);
    kernel[b - to.begin] = k;
    weight += k;
    far_weight += k * far;
  }
  double expected = 0.0;
  double variation = 0.0;
  if (label_.empty()) {
    std::fill(rows->neighbours.begin(), rows->neighbours.end(), 0.0);
    std::fill(rows->variation.begin(), rows->variation.end(), 0.0);
    for (std::size_t b = first; b < to.end; ++b) {
      const double k = kernel[b - to.begin];
      if (SumsExpected()) AddScaled(y_.row(b).data(), k, y_.cols(), rows->neighbours.data());
      if (SumsVariation()) {
        AddVariation(z().row(p).data(), z().row(b).data(), k, length_.size(),
                     rows->variation.data());
      }
    }
    expected = Dot(rows->cost.row(p % kLeaf).data(), rows->neighbours.data(), y_.cols());
    variation = Dot(rows->variation.data(), length_.data(), length_.size());
  } else {
    for (std::size_t b = first; b < to.end; ++b) {
      expected += kernel[b - to.begin] * distance_(label_[p], label_[b]);
      variation += kernel[b - to.begin] * variation_(label_[p], label_[b]);
    }
  }
  sums->expected.Add(expected, 0.0, Roundings());
  // The differences of z inherit the roundings of z.
  sums->variation.Add(variation, weight * 2.0 * label_length_, Roundings());
  WidenForKernel(weight, far_weight, sums);
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

VerifiedPoint VerifiedAtPoint(const DenseCrf& model, const Matrix<float>& marginals,
                              std::span<const int> labeling, const PairOptions& options,
                              VerifiedValues values) {
  CheckOptions(options);
  SafeSum lower = UnaryPart(model, marginals, options.temperature);
  SafeSum dual = lower;
  double loss = 0.0;
  const auto kernels = static_cast<double>(model.kernels().size());
  Progress progress(options, model.kernels().size());
  for (const GaussianKernel& kernel : model.kernels()) {
    if (kernel.weight > 0.0) {
      const PointPairs pairs(model, kernel, marginals, labeling, values);
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
  return {BoundMaker::Verified(values == VerifiedValues::kDual ? kNone : BelowOf(lower)),
          BoundMaker::Verified(values == VerifiedValues::kLower ? kNone : BelowOf(dual)), loss};
}

}  // namespace

VerifiedPoint VerifiedAt(const DenseCrf& model, const Matrix<float>& marginals,
                         const PairOptions& options, VerifiedValues values) {
  return VerifiedAtPoint(model, marginals, {}, options, values);
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
