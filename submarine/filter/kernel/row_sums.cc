#include "submarine/filter/kernel/row_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/simd/wide_registers.h"
#include "submarine/filter/kernel/box_tree.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kBucket = 32;

// exp(x) for x in [-700, 0] with relative error 1e-13: 2^n times the series of the remainder f,
// f| <= log(2) / 2. No branches, so that compilers vectorise loops over it.
inline double ExpOfNegative(double x) {
  constexpr double kLog2 = 0.6931471805599453;
  constexpr double kShift = 0x1.8p52;  // doubles of this size are integers
  const double shifted = x * (1.0 / kLog2) + kShift;
  const double f = x - (shifted - kShift) * kLog2;
  double series = 1.0 / 39916800.0;
  series = series * f + 1.0 / 3628800.0;
  series = series * f + 1.0 / 362880.0;
  series = series * f + 1.0 / 40320.0;
  series = series * f + 1.0 / 5040.0;
  series = series * f + 1.0 / 720.0;
  series = series * f + 1.0 / 120.0;
  series = series * f + 1.0 / 24.0;
  series = series * f + 1.0 / 6.0;
  series = series * f + 0.5;
  series = series * f + 1.0;
  series = series * f + 1.0;
  const std::uint64_t power = std::bit_cast<std::uint64_t>(shifted) << 52;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(series) + power);
}

// sum_b exp(-|f - f_b|^2 / 2) over the kBucket slots of a bucket, dimension by dimension. `squared`
// has the initial values: 0, or a large number for empty slots.
SUBMARINE_FOR_WIDE_REGISTERS double SumOfBucket(const double* point, const double* bucket,
                                                std::size_t dimension, const double* squared) {
  double sum[kBucket];
  for (std::size_t j = 0; j < kBucket; ++j) sum[j] = squared[j];
  for (std::size_t d = 0; d < dimension; ++d) {
    for (std::size_t j = 0; j < kBucket; ++j) {
      const double apart = point[d] - bucket[d * kBucket + j];
      sum[j] += apart * apart;
    }
  }
  // In a separate loop, because compilers would otherwise use branches.
  for (double& x : sum) {
    const double far = x;
    x = std::isless(far, 1400.0) ? far : 1400.0;
  }
  for (double& x : sum) x = ExpOfNegative(-0.5 * x);
  for (std::size_t width = kBucket / 2; width > 0; width /= 2) {
    for (std::size_t j = 0; j < width; ++j) sum[j] += sum[j + width];
  }
  return sum[0];
}

class SumTree {
 public:
  explicit SumTree(const GaussianKernel& kernel) : tree_(kernel.features, kBucket) {
    points_at_.resize(tree_.nodes().size());
    for (std::size_t n = 0; n < tree_.nodes().size(); ++n) {
      const auto& node = tree_.nodes()[n];
      if (!node.is_leaf()) continue;
      leaf_.push_back(n);
      points_at_[n] = points_.size();
      for (std::size_t d = 0; d < tree_.dimension(); ++d) {
        for (std::size_t j = 0; j < kBucket; ++j)
          points_.push_back(
              kernel.features(tree_.order()[std::min(node.begin + j, node.end - 1)], d));
      }
    }
  }

  std::size_t size() const { return tree_.order().size(); }
  std::size_t num_buckets() const { return leaf_.size(); }

  // Writes the sums of the variables of a bucket to *sums; returns the number of pairs visited.
  double SumRows(std::size_t bucket, double tolerance, std::vector<double>* sums) const {
    const auto& own = tree_.nodes()[leaf_[bucket]];
    Rows rows{leaf_[bucket], tolerance / static_cast<double>(size())};
    AddBucket(leaf_[bucket], &rows);
    // Nearest first: the larger the sums already are, the more pairs can be bounded in groups.
    for (std::size_t n = leaf_[bucket]; n != 0; n = tree_.nodes()[n].parent)
      AddNode(tree_.Sibling(n), &rows);
    for (std::size_t k = own.begin; k < own.end; ++k)
      (*sums)[tree_.order()[k]] = rows.sum[k - own.begin] + rows.common;
    return rows.pairs;
  }

 private:
  // The partial sums of one bucket.
  struct Rows {
    std::size_t node;
    double share;  // fraction of a sum that a pair may be off by
    double sum[kBucket] = {};
    double common = 0.0;  // for all rows
    double least = 1.0;   // of the sums so far
    double pairs = 0.0;
  };
  void AddNode(std::size_t n, Rows* rows) const {
    const auto& node = tree_.nodes()[n];
    const auto squared = tree_.SquaredDistance(rows->node, n);
    const double largest = std::exp(-0.5 * squared.least);
    const double least = std::exp(-0.5 * squared.largest);
    if (0.5 * (largest - least) <= rows->share * (rows->least + rows->common)) {
      rows->common += 0.5 * (largest + least) * static_cast<double>(node.end - node.begin);
    } else if (node.is_leaf()) {
      AddBucket(n, rows);
    } else {
      const bool left_first = tree_.SquaredDistance(rows->node, node.left).least <=
                              tree_.SquaredDistance(rows->node, node.right).least;
      AddNode(left_first ? node.left : node.right, rows);
      AddNode(left_first ? node.right : node.left, rows);
    }
  }

  void AddBucket(std::size_t n, Rows* rows) const {
    const auto& own = tree_.nodes()[rows->node];
    const auto& other = tree_.nodes()[n];
    double nothing[kBucket];
    for (std::size_t j = 0; j < kBucket; ++j)
      nothing[j] = j < other.end - other.begin ? 0.0 : std::numeric_limits<float>::max();
    double point[kMaxFeatureDimension];
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < own.end - own.begin; ++k) {
      for (std::size_t d = 0; d < tree_.dimension(); ++d)
        point[d] = points_[points_at_[rows->node] + d * kBucket + k];
      rows->sum[k] +=
          SumOfBucket(point, points_.data() + points_at_[n], tree_.dimension(), nothing);
      least = std::min(least, rows->sum[k]);
    }
    rows->least = least;
    rows->pairs += static_cast<double>((own.end - own.begin) * (other.end - other.begin));
  }

  BoxTree<double> tree_;
  std::vector<std::size_t> leaf_;
  std::vector<double> points_;          // (leaf, dimension, slot)
  std::vector<std::size_t> points_at_;  // where those of a leaf begin
};

}  // namespace

std::vector<double> GaussianRowSums(const GaussianKernel& kernel, const RowSumOptions& options) {
  CheckKernel(kernel);
  const SumTree tree(kernel);
  std::vector<double> sums(tree.size(), 0.0);
  const std::size_t batch = std::max<std::size_t>(128, tree.num_buckets() / 100);
  for (std::size_t begin = 0; begin < tree.num_buckets(); begin += batch) {
    const std::size_t count = std::min(batch, tree.num_buckets() - begin);
    ParallelFor(count, 1, [&](std::size_t k, std::size_t) {
      tree.SumRows(begin + k, options.tolerance, &sums);
    });
    const auto done = static_cast<double>(begin + count);
    if (options.on_progress &&
        !options.on_progress(done / static_cast<double>(tree.num_buckets()))) {
      throw Interrupted("the normalisation was interrupted before it had a result");
    }
  }
  return sums;
}

double EstimateRowSumPairs(const GaussianKernel& kernel, double tolerance) {
  CheckKernel(kernel);
  const SumTree tree(kernel);
  constexpr std::size_t kSample = 32;
  const std::size_t sample = std::min(kSample, tree.num_buckets());
  std::vector<double> unused(tree.size());
  const double pairs = ParallelSum(sample, 1, [&](std::size_t k, std::size_t) {
    return tree.SumRows(k * tree.num_buckets() / sample, tolerance, &unused);
  });
  return pairs * static_cast<double>(tree.num_buckets()) / static_cast<double>(sample);
}

}  // namespace submarine::internal
