// How many pairs the verifier enumerates, from a sample of variables.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/base/parallel.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/pairs/pair_tree.h"

namespace submarine::internal {
namespace {

using dense_verifier::CheckOptions;
using dense_verifier::kLeaf;

constexpr std::size_t kSample = 200;
constexpr double kStep = 2.5;           // between the cutoffs of a census
constexpr double kLeastLeftOut = 1e-4;  // of the weight, where a census ends
// The least cutoff of a census, in units of the largest pair weight: N pairs below it have less
// than the share above.
constexpr double kLeastCutoff = 1e-12;

// Pairs and their weight between one cutoff and the one before it.
struct Between {
  double pairs = 0.0;
  double weight = 0.0;
};

// Counts the partners of one variable. Weights are compared as the verifier does, by their upper
// bounds with the largest scales of both leaves, and by y = -2 log(weight), |f_a - f_b|^2 but for a
// constant.
class Counter {
 public:
  // y of every cutoff, ascending.
  Counter(const GaussianKernel& kernel, const std::vector<double>& y)
      : tree_(kernel), weight_(kernel.weight), y_(y) {
    if (kernel.scale.empty()) return;
    for (std::size_t n = 0; n < tree_.num_nodes(); ++n) {
      log_scale_.push_back(std::log(tree_.node(n).scale));
      log_least_scale_.push_back(std::log(tree_.node(n).least_scale));
    }
  }

  std::vector<Between> Partners(std::size_t p) const {
    std::vector<Between> found(y_.size());
    const std::size_t self = tree_.leaf_node(p / kLeaf);
    const double base = -2.0 * (std::log(weight_) + LogScale(self));
    double point[kMaxFeatureDimension];
    double squared[kLeaf];
    tree_.Point(p, point);
    tree_.Walk([&](std::size_t n) {
      const PairTree::Node& node = tree_.node(n);
      const PairTree::Range range = tree_.SquaredDistance(point, n);
      const double nearest = base - 2.0 * LogScale(n);
      const std::size_t first = Find(0, range.least + nearest);
      if (first == y_.size()) return false;
      const double farthest = base - 2.0 * LogLeastScale(n);
      const std::size_t last = Find(first, range.largest + farthest);
      if (first == last && (p < node.begin || p >= node.end)) {
        const auto size = static_cast<double>(node.size());
        found[first].pairs += size;
        found[first].weight += size * 0.25 * (node.scale + node.least_scale) *
                               (std::exp(-0.5 * range.least) + std::exp(-0.5 * range.largest));
        return false;
      }
      if (!node.is_leaf()) return true;
      tree_.SquaredDistances(point, node.begin / kLeaf, squared);
      for (std::size_t j = 0; j < node.size(); ++j) {
        const std::size_t at = Find(first, squared[j] + nearest);
        if (at == y_.size() || node.begin + j == p) continue;
        found[at].pairs += 1.0;
        found[at].weight += tree_.scale(node.begin + j) * std::exp(-0.5 * squared[j]);
      }
      return false;
    });
    for (Between& between : found) between.weight *= weight_ * tree_.scale(p);
    return found;
  }

 private:
  double LogScale(std::size_t n) const { return log_scale_.empty() ? 0.0 : log_scale_[n]; }
  double LogLeastScale(std::size_t n) const {
    return log_least_scale_.empty() ? 0.0 : log_least_scale_[n];
  }
  // The largest cutoff that y is not below; none for a weight of 0.
  std::size_t Find(std::size_t first, double y) const {
    if (y == std::numeric_limits<double>::infinity()) return y_.size();
    while (first < y_.size() && y > y_[first]) ++first;
    return first;
  }

  const PairTree tree_;
  double weight_;
  const std::vector<double>& y_;
  std::vector<double> log_scale_;  // by node; empty for scales of 1
  std::vector<double> log_least_scale_;
};

// For descending cutoffs.
std::vector<Between> Count(const DenseCrf& model, const std::vector<double>& cutoffs) {
  std::vector<double> y;
  for (const double cutoff : cutoffs) y.push_back(-2.0 * std::log(cutoff));
  const std::size_t n = model.num_variables();
  const std::size_t sample = std::min(kSample, n);
  std::vector<Between> sum(cutoffs.size());
  for (const GaussianKernel& kernel : model.kernels()) {
    if (kernel.weight == 0.0) continue;
    const Counter counter(kernel, y);
    std::vector<std::vector<Between>> found(sample);
    ParallelFor(sample, 1,
                [&](std::size_t k, std::size_t) { found[k] = counter.Partners(k * n / sample); });
    const double times = 0.5 * static_cast<double>(n) / static_cast<double>(sample);
    for (std::size_t c = 0; c < cutoffs.size(); ++c) {
      Between of_kernel;
      for (const std::vector<Between>& partners : found) {
        of_kernel.pairs += partners[c].pairs;
        of_kernel.weight += partners[c].weight;
      }
      sum[c].pairs += of_kernel.pairs * times;
      sum[c].weight += of_kernel.weight * times;
    }
  }
  return sum;
}

}  // namespace

PairCensus CountPairs(const DenseCrf& model) {
  double largest = 0.0;
  for (const GaussianKernel& kernel : model.kernels()) {
    const auto scale = std::max_element(kernel.scale.begin(), kernel.scale.end());
    const double most = kernel.scale.empty() ? 1.0 : *scale * *scale;
    largest = std::max(largest, kernel.weight * most);
  }
  PairCensus census;
  if (largest == 0.0) return census;
  std::vector<double> cutoffs;
  for (double c = largest; c >= kLeastCutoff * largest; c /= kStep) cutoffs.push_back(c);
  const std::vector<Between> between = Count(model, cutoffs);
  double total = 0.0;
  for (const Between& part : between) total += part.weight;
  if (total == 0.0) return census;
  double left = total;
  double pairs = 0.0;
  for (std::size_t c = 0; c < cutoffs.size() && left >= kLeastLeftOut * total; ++c) {
    left -= between[c].weight;
    pairs += between[c].pairs;
    census.rows.push_back({cutoffs[c], pairs, std::max(0.0, left / total)});
  }
  std::reverse(census.rows.begin(), census.rows.end());
  return census;
}

double EstimatePairs(const DenseCrf& model, double cutoff) {
  CheckOptions({.cutoff = cutoff});
  return Count(model, {cutoff}).front().pairs;
}

}  // namespace submarine::internal
