#include "submarine/filter/neighbour_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/filter/feature_tree.h"
#include "submarine/filter/pair_kernels.h"

namespace submarine {
namespace {

constexpr std::size_t kBytesPerEntry = sizeof(std::uint32_t) + sizeof(float);
constexpr std::size_t kListGrain = 64;

// Pairs with a kernel value from here on are the strong ones. In a Gaussian of two dimensions they are
// half of the pairs within the default cutoff, and 98% of the weight.
constexpr float kStrong = 0.02F;

struct Entry {
  std::uint32_t neighbour;
  float weight;
};
struct Neighbours {
  std::vector<Entry> strong;
  std::vector<Entry> weak;
  std::size_t size() const { return strong.size() + weak.size(); }
  void Clear() {
    strong.clear();
    weak.clear();
  }
  void Append(const Neighbours& other) {
    strong.insert(strong.end(), other.strong.begin(), other.strong.end());
    weak.insert(weak.end(), other.weak.begin(), other.weak.end());
  }
};

// One kernel's pairs, found through a tree over its features.
class PairFinder {
 public:
  PairFinder(const WeightedKernel& weighted, double cutoff)
      : kernel_(*weighted.kernel),
        factor_(static_cast<float>(weighted.factor)),
        cutoff_(static_cast<float>(cutoff)),
        tree_(kernel_.features) {
    // A hair more than needed, as the values are compared in single precision.
    radius_ = std::sqrt(-2.0 * std::log(cutoff)) + 0.01;
  }

  const FeatureTree& tree() const { return tree_; }

  // Appends the neighbours of the k-th point of the bucket and their weights.
  void Find(std::size_t bucket, std::size_t k, const std::vector<std::uint32_t>& near,
            Neighbours* found) const {
    const std::uint32_t a = tree_.variables(bucket)[k];
    float point[kMaxFeatureDimension];
    for (std::size_t d = 0; d < tree_.dimension(); ++d) point[d] = kernel_.features(a, d);
    std::uint32_t index[FeatureTree::kBucketSize + kSelectSlack];
    float value[FeatureTree::kBucketSize + kSelectSlack];
    for (const std::uint32_t other : near) {
      const auto variables = tree_.variables(other);
      const std::size_t count =
          SelectNear(tree_.coordinate(0) + tree_.begin(other), kernel_.size(), tree_.dimension(),
                     point, variables.size(), cutoff_, index, value);
      for (std::size_t j = 0; j < count; ++j) {
        const std::uint32_t b = variables[index[j]];
        if (b == a) continue;
        // The product of scales first: it is the same for (a, b) and (b, a).
        const float weight = kernel_.scale.empty()
                                 ? factor_ * value[j]
                                 : factor_ * (kernel_.scale[a] * kernel_.scale[b]) * value[j];
        if (weight > 0.0F)
          (value[j] >= kStrong ? found->strong : found->weak).push_back({b, weight});
      }
    }
  }

  void Near(std::size_t bucket, std::vector<std::uint32_t>* near) const {
    tree_.Near(bucket, radius_, near);
  }

 private:
  const GaussianKernel& kernel_;
  float factor_;
  float cutoff_;
  FeatureTree tree_;
  double radius_;
};

void CheckList(std::span<const WeightedKernel> kernels, double cutoff) {
  if (kernels.empty()) throw InvalidInput("a neighbour list needs at least one kernel");
  if (!(cutoff > 0.0 && cutoff < 1.0)) {
    throw InvalidInput(fmt::format(
        "the cutoff of the neighbour list is {}, expected a number between 0 and 1", cutoff));
  }
  for (const WeightedKernel& weighted : kernels) {
    CheckKernel(*weighted.kernel);
    if (weighted.kernel->size() != kernels.front().kernel->size()) {
      throw InvalidInput(fmt::format("kernel \"{}\" has {} variables, but kernel \"{}\" has {}",
                                     weighted.kernel->name, weighted.kernel->size(),
                                     kernels.front().kernel->name, kernels.front().kernel->size()));
    }
    if (!(weighted.factor >= 0.0) || !std::isfinite(weighted.factor)) {
      throw InvalidInput(
          fmt::format("the factor of kernel \"{}\" is {}, expected a finite number >= 0",
                      weighted.kernel->name, weighted.factor));
    }
  }
}

}  // namespace

NeighbourList::NeighbourList(std::span<const WeightedKernel> kernels,
                             const NeighbourListOptions& options)
    : cutoff_(options.cutoff) {
  CheckList(kernels, options.cutoff);
  const double estimate = EstimateBytes(kernels, options.cutoff);
  if (estimate > static_cast<double>(options.max_bytes)) {
    throw TooLarge(
        fmt::format("the neighbour list at cutoff {:g} needs about {:.3g} GB of memory, more than "
                    "the limit of {:.3g} GB",
                    options.cutoff, estimate / 1e9, static_cast<double>(options.max_bytes) / 1e9));
  }
  const std::size_t n = kernels.front().kernel->size();
  auto rows = std::make_shared<Rows>();
  rows->self = SelfTerms(kernels);

  // Entries of all kernels, by variable; one kernel's variables come bucket by bucket.
  std::vector<Neighbours> entries(n);
  for (const WeightedKernel& weighted : kernels) {
    const PairFinder finder(weighted, options.cutoff);
    const FeatureTree& tree = finder.tree();
    ParallelFor(tree.num_buckets(), 4, [&](std::size_t begin, std::size_t end) {
      std::vector<std::uint32_t> near;
      Neighbours found;
      for (std::size_t bucket = begin; bucket < end; ++bucket) {
        finder.Near(bucket, &near);
        for (std::size_t k = 0; k < tree.variables(bucket).size(); ++k) {
          found.Clear();
          finder.Find(bucket, k, near, &found);
          entries[tree.variables(bucket)[k]].Append(found);
        }
      }
    });
    rows->order.clear();  // the last kernel's order: by custom the one with the most dimensions
    for (std::size_t bucket = 0; bucket < tree.num_buckets(); ++bucket) {
      const auto variables = tree.variables(bucket);
      rows->order.insert(rows->order.end(), variables.begin(), variables.end());
    }
  }

  rows->begin.resize(n + 1);
  rows->strong_end.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    const Neighbours& row = entries[rows->order[k]];
    rows->strong_end[k] = rows->begin[k] + row.strong.size();
    rows->begin[k + 1] = rows->begin[k] + row.size();
  }
  num_entries_ = rows->begin.back();
  rows->neighbour.resize(num_entries_);
  rows->weight.resize(num_entries_);
  ParallelFor(n, kListGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      Neighbours& row = entries[rows->order[k]];
      std::uint64_t at = rows->begin[k];
      for (const std::vector<Entry>* part : {&row.strong, &row.weak}) {
        for (const Entry& entry : *part) {
          rows->neighbour[at] = entry.neighbour;
          rows->weight[at++] = entry.weight;
        }
      }
      row = {};
    }
  });
  rows_ = std::move(rows);
}

NeighbourList::NeighbourList(std::shared_ptr<const Rows> rows, double strong_cutoff)
    : rows_(std::move(rows)), strong_only_(true), cutoff_(strong_cutoff) {
  for (std::size_t k = 0; k < size(); ++k) num_entries_ += Row(k).count;
}

std::unique_ptr<GaussianOperator> NeighbourList::Strongest() const {
  if (cutoff_ >= kStrong) return nullptr;
  return std::unique_ptr<GaussianOperator>(new NeighbourList(rows_, kStrong));
}

double NeighbourList::EstimateBytes(std::span<const WeightedKernel> kernels, double cutoff) {
  CheckList(kernels, cutoff);
  const std::size_t n = kernels.front().kernel->size();
  double entries = 0.0;
  for (const WeightedKernel& weighted : kernels) {
    const PairFinder finder(weighted, cutoff);
    const std::size_t buckets = finder.tree().num_buckets();
    const std::size_t stride = std::max<std::size_t>(1, buckets / 64);
    std::vector<std::uint32_t> near;
    Neighbours found;
    double sampled = 0.0;
    double count = 0.0;
    for (std::size_t bucket = 0; bucket < buckets; bucket += stride) {
      finder.Near(bucket, &near);
      for (std::size_t k = 0; k < finder.tree().variables(bucket).size(); k += 8) {
        found.Clear();
        finder.Find(bucket, k, near, &found);
        sampled += 1.0;
        count += static_cast<double>(found.size());
      }
    }
    entries += count / sampled * static_cast<double>(n);
  }
  // While the list is built, its entries exist twice.
  return entries * 2.0 * kBytesPerEntry + static_cast<double>(n) * 64.0;
}

template <class Body>
void NeighbourList::ForRows(const Body& body) const {
  ParallelFor(size(), kListGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) body(std::size_t{rows_->order[k]}, Row(k));
  });
}

void NeighbourList::AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const {
  ForRows([&](std::size_t a, const NeighbourRow& row) {
    thread_local std::vector<float> sum;
    sum.resize(x.cols());
    SumProducts(row, x.data(), x.cols(), sum.data());
    for (std::size_t c = 0; c < x.cols(); ++c) (*out)(a, c) += factor * sum[c];
  });
}

void NeighbourList::AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
                            Matrix<float>* out) const {
  const auto sum_row = shape == FlowShape::kClip ? SumClipped : SumSigns;
  ForRows([&](std::size_t a, const NeighbourRow& row) {
    thread_local std::vector<float> sum;
    sum.resize(v.cols());
    sum_row(row, v.data(), a, v.cols(), sum.data());
    for (std::size_t c = 0; c < v.cols(); ++c) (*out)(a, c) += factor * sum[c];
  });
}

std::vector<double> NeighbourList::TotalVariation(const Matrix<float>& x) const {
  constexpr std::size_t kGrain = 1024;
  Matrix<double> parts((size() + kGrain - 1) / kGrain, x.cols());
  ParallelFor(size(), kGrain, [&](std::size_t begin, std::size_t end) {
    std::vector<float> sum(x.cols());
    for (std::size_t k = begin; k < end; ++k) {
      SumDistances(Row(k), x.data(), rows_->order[k], x.cols(), sum.data());
      for (std::size_t c = 0; c < x.cols(); ++c) parts(begin / kGrain, c) += 0.5 * sum[c];
    }
  });
  std::vector<double> total(x.cols(), 0.0);
  for (std::size_t p = 0; p < parts.rows(); ++p) {
    for (std::size_t c = 0; c < x.cols(); ++c) total[c] += parts(p, c);
  }
  return total;
}

std::vector<float> NeighbourList::RowSumsWithSelf() const {
  std::vector<float> sums = Degrees(*this);
  for (std::size_t a = 0; a < sums.size(); ++a) sums[a] += rows_->self[a];
  return sums;
}

std::string NeighbourList::Description() const {
  return fmt::format("neighbour list, cutoff {:g}, {} pairs", cutoff_, num_pairs());
}

std::size_t NeighbourList::bytes() const {
  return rows_->neighbour.size() * kBytesPerEntry +
         size() * (2 * sizeof(std::uint64_t) + sizeof(std::uint32_t) + sizeof(float));
}

}  // namespace submarine
