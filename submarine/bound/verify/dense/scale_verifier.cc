#include "submarine/bound/verify/dense/scale_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/pairs/pair_tree.h"

namespace submarine::internal {
namespace {

using dense_verifier::ForLeaves;
using dense_verifier::KernelUlps;
using dense_verifier::kLeaf;
using dense_verifier::Progress;

// A sum of kernel values and what is needed to bound its rounding.
struct ValueSum {
  double values = 0.0;
  double far = 0.0;  // sum of k times squared distance
  void Add(double count, double squared) {
    const double k = count * std::exp(-0.5 * squared);
    values += k;
    far += k * squared;
  }
};

// All r_a^2 n_a seen so far lie between these.
struct Products {
  double least = std::numeric_limits<double>::infinity();
  double largest = 0.0;
  void Add(const Products& other) {
    least = std::min(least, other.least);
    largest = std::max(largest, other.largest);
  }
};

class RowBounds {
 public:
  RowBounds(const PairTree& tree, double tolerance) : tree_(tree), tolerance_(tolerance) {}

  Products OfLeaf(std::size_t leaf) const {
    const std::size_t self = tree_.leaf_node(leaf);
    const PairTree::Node& node = tree_.node(self);
    // How far apart the bounds of a pair may be: the row sums should be 1 / r^2, at least 1.
    const double apart = tolerance_ * std::max(1.0, 1.0 / (node.scale * node.scale)) /
                         static_cast<double>(tree_.size());
    ValueSum below;  // sums over groups, common to all rows
    ValueSum above;
    ValueSum single[kLeaf];
    double terms = 0.0;
    tree_.Walk([&](std::size_t other) {
      const PairTree::Node& to = tree_.node(other);
      const PairTree::Range squared = tree_.SquaredDistance(self, other);
      if (std::exp(-0.5 * squared.least) - std::exp(-0.5 * squared.largest) <= apart) {
        below.Add(static_cast<double>(to.size()), squared.largest);
        above.Add(static_cast<double>(to.size()), squared.least);
        terms += 1.0;
        return false;
      }
      if (to.is_leaf()) {
        AddLeaf(node, to, single);
        terms += static_cast<double>(to.size());
      }
      return true;
    });
    Products products;
    for (std::size_t i = 0; i < node.size(); ++i) {
      const double squared_scale = tree_.scale(node.begin + i) * tree_.scale(node.begin + i);
      products.Add({squared_scale * Below(Sum(single[i], below), terms),
                    squared_scale * Above(Sum(single[i], above), terms)});
    }
    return products;
  }

 private:
  void AddLeaf(const PairTree::Node& from, const PairTree::Node& to, ValueSum* single) const {
    double point[kMaxFeatureDimension];
    double squared[kLeaf];
    for (std::size_t i = 0; i < from.size(); ++i) {
      tree_.Point(from.begin + i, point);
      tree_.SquaredDistances(point, to.begin / kLeaf, squared);
      for (std::size_t j = 0; j < to.size(); ++j) single[i].Add(1.0, squared[j]);
    }
  }

  static ValueSum Sum(const ValueSum& a, const ValueSum& b) {
    return {a.values + b.values, a.far + b.far};
  }
  // All terms are positive, so every addition costs at most an ulp of the sum; a few more ulps are
  // for later operations on it.
  double Slack(const ValueSum& sum, double terms) const {
    return std::numeric_limits<double>::epsilon() *
           (KernelUlps(tree_, sum.values, sum.far) + (32.0 + terms) * sum.values);
  }
  double Below(const ValueSum& sum, double terms) const { return sum.values - Slack(sum, terms); }
  double Above(const ValueSum& sum, double terms) const { return sum.values + Slack(sum, terms); }

  const PairTree& tree_;
  double tolerance_;
};

}  // namespace

double VerifiedScaleError(const GaussianKernel& kernel, const ScaleOptions& options) {
  CheckKernel(kernel);
  if (kernel.scale.empty()) {
    throw InvalidInput(
        fmt::format("kernel \"{}\" has no scale factors that could be verified", kernel.name));
  }
  const PairTree tree(kernel);
  const RowBounds bounds(tree, options.tolerance);
  const PairOptions pairs{.on_progress = options.on_progress};
  const Progress progress(pairs, 1);
  std::vector<Products> part(tree.num_leaves());
  ForLeaves(tree, progress, [&](std::size_t leaf) { part[leaf] = bounds.OfLeaf(leaf); });
  Products all;
  for (const Products& p : part) all.Add(p);
  // 1 / sqrt(n_a n_b) is r_a r_b divided by the square root of two of these products.
  if (!(all.least > 0.0)) return std::numeric_limits<double>::infinity();
  constexpr double kRoundings = 8.0 * std::numeric_limits<double>::epsilon();
  return std::max({0.0, 1.0 / all.least - 1.0, 1.0 - 1.0 / all.largest}) + kRoundings;
}

}  // namespace submarine::internal
