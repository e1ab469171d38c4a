#include "submarine/filter/list/neighbour_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/filter/list/feature_tree.h"
#include "submarine/filter/list/pair_kernels.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kBytesPerEntry = sizeof(std::uint32_t) + sizeof(float);
constexpr std::size_t kListGrain = 64;

// One kernel's pairs, found through a tree over its features.
class PairFinder {
 public:
  PairFinder(const WeightedKernel& weighted, double cutoff)
      : kernel_(*weighted.kernel),
        factor_(static_cast<float>(weighted.factor)),
        cutoff_(static_cast<float>(cutoff)),
        tree_(SinglePrecisionFeatures(kernel_)) {
    // Slightly more than needed, as the values are compared in single precision.
    radius_ = std::sqrt(-2.0 * std::log(cutoff)) + 0.01;
  }

  const FeatureTree& tree() const { return tree_; }

  // Calls found(b, weight) for all neighbours of the k-th point of the bucket.
  template <class Found>
  void Find(std::size_t bucket, std::size_t k, const std::vector<std::uint32_t>& near,
            const Found& found) const {
    const std::uint32_t a = tree_.variables(bucket)[k];
    Select(bucket, k, near, [&](std::uint32_t b, float value) {
      // Multiply the scales first: their product is the same for (a, b) and (b, a).
      const float scale =
          kernel_.scale.empty() ? 1.0F : static_cast<float>(kernel_.scale[a] * kernel_.scale[b]);
      const float weight = factor_ * scale * value;
      if (weight > 0.0F) found(b, weight);
    });
  }

  // Calls found(k_ab without scale) for all of them.
  template <class Found>
  void FindValues(std::size_t bucket, std::size_t k, const std::vector<std::uint32_t>& near,
                  const Found& found) const {
    Select(bucket, k, near, [&](std::uint32_t, float value) { found(value); });
  }

  void Near(std::size_t bucket, std::vector<std::uint32_t>* near) const {
    tree_.Near(bucket, radius_, near);
  }

  // Calls body(a, for_neighbours) for all variables, in parallel; for_neighbours takes the callback
  // of Find. report(fraction done) is called in between, on the caller's thread.
  template <class Body, class Report>
  void ForAll(const Body& body, const Report& report) const {
    const std::size_t buckets = tree_.num_buckets();
    const std::size_t batch = std::max<std::size_t>(64, buckets / 100);
    for (std::size_t first = 0; first < buckets; first += batch) {
      const std::size_t count = std::min(batch, buckets - first);
      ParallelFor(count, 4, [&](std::size_t begin, std::size_t end) {
        std::vector<std::uint32_t> near;
        for (std::size_t bucket = first + begin; bucket < first + end; ++bucket) {
          Near(bucket, &near);
          for (std::size_t k = 0; k < tree_.variables(bucket).size(); ++k) {
            body(tree_.variables(bucket)[k],
                 [&](const auto& found) { Find(bucket, k, near, found); });
          }
        }
      });
      report(static_cast<double>(first + count) / static_cast<double>(buckets));
    }
  }

 private:
  // Calls selected(b, exp(-|f_a - f_b|^2 / 2)) where that is at least the cutoff.
  template <class Selected>
  void Select(std::size_t bucket, std::size_t k, const std::vector<std::uint32_t>& near,
              const Selected& selected) const {
    const std::uint32_t a = tree_.variables(bucket)[k];
    float point[kMaxFeatureDimension];
    for (std::size_t d = 0; d < tree_.dimension(); ++d)
      point[d] = tree_.coordinate(d)[tree_.begin(bucket) + k];
    std::uint32_t index[FeatureTree::kBucketSize + kSelectSlack];
    float value[FeatureTree::kBucketSize + kSelectSlack];
    for (const std::uint32_t other : near) {
      const auto variables = tree_.variables(other);
      const std::size_t count =
          SelectNear(tree_.coordinate(0) + tree_.begin(other), kernel_.size(), tree_.dimension(),
                     point, variables.size(), cutoff_, index, value);
      for (std::size_t j = 0; j < count; ++j) {
        if (variables[index[j]] != a) selected(variables[index[j]], value[j]);
      }
    }
  }

  const GaussianKernel& kernel_;
  float factor_;
  float cutoff_;
  FeatureTree tree_;
  double radius_;
};

// Whether an entry is kept: always from the threshold on, and below it with a probability
// proportional to its weight. Deterministic, and the same for both directions of a pair.
bool IsDrawn(std::size_t a, std::uint32_t b, float weight, float threshold) {
  if (weight >= threshold) return true;
  // A hash of the pair and the weight, which differs if two kernels have the same pair.
  std::uint64_t bits =
      (std::uint64_t{std::min<std::size_t>(a, b)} << 32) ^ std::max<std::size_t>(a, b);
  bits = (bits ^ std::bit_cast<std::uint32_t>(weight)) * 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93U;
  bits = (bits ^ (bits >> 29)) * 0xC2B2AE3D27D4EB4FU;
  return static_cast<float>(bits >> 40) * 0x1p-24F * threshold < weight;
}

void CheckList(std::span<const WeightedKernel> kernels, double cutoff) {
  if (kernels.empty()) throw InvalidInput("a neighbour list needs at least one kernel");
  if (!(cutoff > 0.0 && cutoff < 1.0)) {
    throw InvalidInput(fmt::format(
        "the cutoff of the neighbour list is {}, expected a number between 0 and 1", cutoff));
  }
  for (const WeightedKernel& weighted : kernels) {
    CheckKernel(*weighted.kernel);
    CheckNormalised(*weighted.kernel);
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
  std::deque<PairFinder> finders;
  for (const WeightedKernel& weighted : kernels) finders.emplace_back(weighted, options.cutoff);

  rows_.self = SelfTerms(kernels);
  // The order of the last kernel, which by convention has the most dimensions.
  for (std::size_t bucket = 0; bucket < finders.back().tree().num_buckets(); ++bucket) {
    const auto variables = finders.back().tree().variables(bucket);
    rows_.order.insert(rows_.order.end(), variables.begin(), variables.end());
  }
  std::vector<std::uint32_t> row_of(n);
  for (std::size_t k = 0; k < n; ++k) row_of[rows_.order[k]] = static_cast<std::uint32_t>(k);

  // Every finder runs twice.
  double finished = 0.0;
  const auto report = [&](double done) {
    if (done >= 1.0) finished += 1.0;
    const double share =
        (done >= 1.0 ? finished : finished + done) / (2.0 * static_cast<double>(finders.size()));
    if (options.on_progress && !options.on_progress(share))
      throw Interrupted("the neighbour list was interrupted before it was complete");
  };
  // Two passes over all pairs, to count and to store: cheaper than collecting them first, which
  // would take twice the memory.
  rows_.begin.assign(n + 1, 0);
  rows_.of_kernel.assign(n * finders.size(), 0);
  for (std::size_t m = 0; m < finders.size(); ++m) {
    finders[m].ForAll(
        [&](std::uint32_t a, const auto& for_neighbours) {
          std::uint32_t count = 0;
          for_neighbours([&](std::uint32_t, float) { ++count; });
          rows_.of_kernel[row_of[a] * finders.size() + m] = count;
          rows_.begin[row_of[a] + 1] += count;
        },
        report);
  }
  rows_.Allocate();
  std::vector<std::uint64_t> next(rows_.begin.begin(), rows_.begin.end() - 1);
  for (const PairFinder& finder : finders) {
    finder.ForAll(
        [&](std::uint32_t a, const auto& for_neighbours) {
          std::uint64_t at = next[row_of[a]];
          for_neighbours([&](std::uint32_t b, float weight) {
            (*rows_.neighbour)[at] = b;
            rows_.weight[at++] = weight;
          });
          next[row_of[a]] = at;
        },
        report);
  }
}

void NeighbourList::Rows::Allocate() {
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  neighbour = std::make_shared<Neighbours>(begin.back());
  weight.resize(begin.back());
}

std::unique_ptr<NeighbourList> NeighbourList::Reweighted(const WeightRule& rule) const {
  Rows rows{rows_.order, rows_.begin, rows_.neighbour, {}, rows_.self, rows_.of_kernel};
  rows.weight.resize(rows_.weight.size());
  const std::size_t kernels = rows.of_kernel.size() / size();
  ForRows([&](std::size_t k, std::size_t a, const NeighbourRow& row) {
    std::size_t first = 0;
    for (std::size_t m = 0; m < kernels; ++m) {
      const std::size_t count = rows_.of_kernel[k * kernels + m];
      rule(a, m, {row.neighbour + first, row.weight + first, count},
           rows.weight.data() + rows.begin[k] + first);
      first += count;
    }
  });
  return std::unique_ptr<NeighbourList>(new NeighbourList(std::move(rows), cutoff_));
}

double NeighbourList::SampleThreshold(double per_row) const {
  const std::size_t stride = std::max<std::size_t>(1, size() / 1024);
  const auto left = [&](double threshold) {
    double expected = 0.0;
    double rows = 0.0;
    for (std::size_t k = 0; k < size(); k += stride) {
      const NeighbourRow row = Row(k);
      for (std::size_t j = 0; j < row.count; ++j)
        expected += std::min(1.0, row.weight[j] / threshold);
      rows += 1.0;
    }
    return expected / rows;
  };
  double low = 0.0;
  double high = 1.0;
  while (left(high) > per_row) high *= 2.0;
  for (int step = 0; step < 16; ++step) {
    const double middle = 0.5 * (low + high);
    (left(middle) > per_row ? low : high) = middle;
  }
  return high;
}

std::unique_ptr<GaussianOperator> NeighbourList::Sample(double neighbours) const {
  const auto n = static_cast<double>(size());
  if (static_cast<double>(rows_.neighbour->size()) < kWorthSampling * neighbours * n)
    return nullptr;
  const auto threshold = static_cast<float>(SampleThreshold(neighbours));
  Rows rows;
  rows.order = rows_.order;
  rows.self = rows_.self;
  rows.begin.assign(size() + 1, 0);
  ForRows([&](std::size_t k, std::size_t a, const NeighbourRow& row) {
    for (std::size_t j = 0; j < row.count; ++j)
      rows.begin[k + 1] += IsDrawn(a, row.neighbour[j], row.weight[j], threshold) ? 1 : 0;
  });
  rows.Allocate();
  ForRows([&](std::size_t k, std::size_t a, const NeighbourRow& row) {
    std::uint64_t at = rows.begin[k];
    for (std::size_t j = 0; j < row.count; ++j) {
      if (!IsDrawn(a, row.neighbour[j], row.weight[j], threshold)) continue;
      (*rows.neighbour)[at] = row.neighbour[j];
      rows.weight[at++] = std::max(row.weight[j], threshold);
    }
  });
  return std::unique_ptr<GaussianOperator>(new NeighbourList(std::move(rows), cutoff_));
}

double NeighbourList::BytesFor(double entries, std::size_t num_variables) {
  return entries * kBytesPerEntry + static_cast<double>(num_variables) * 64.0;
}

double NeighbourList::EstimateBytes(std::span<const WeightedKernel> kernels, double cutoff) {
  const double entries = EstimateEntries(kernels, {&cutoff, 1}).front();  // checks the input
  return BytesFor(entries, kernels.front().kernel->size());
}

std::vector<double> NeighbourList::EstimateEntries(std::span<const WeightedKernel> kernels,
                                                   std::span<const double> cutoffs) {
  const double least = cutoffs.front();
  CheckList(kernels, least);
  if (!std::is_sorted(cutoffs.begin(), cutoffs.end()))
    throw InvalidInput("the cutoffs of a neighbour list are expected in ascending order");
  const auto n = static_cast<double>(kernels.front().kernel->size());
  std::vector<double> entries(cutoffs.size(), 0.0);
  for (const WeightedKernel& weighted : kernels) {
    const PairFinder finder(weighted, least);
    const std::size_t buckets = finder.tree().num_buckets();
    // Row lengths differ by factors of a hundred where parts of an image are flat: sample few rows
    // each from many buckets.
    const std::size_t stride = std::max<std::size_t>(1, buckets / 512);
    // Where kernels are wide, a part of the buckets near each of them says enough, as it is another one every time.
    constexpr std::size_t kEnoughNear = 256;
    const std::size_t sampled_buckets = (buckets + stride - 1) / stride;
    std::vector<double> rows(sampled_buckets, 0.0);
    Matrix<double> count(sampled_buckets, cutoffs.size());
    ParallelFor(sampled_buckets, 4, [&](std::size_t begin, std::size_t end) {
      std::vector<std::uint32_t> near;
      for (std::size_t k = begin; k < end; ++k) {
        finder.Near(k * stride, &near);
        const std::size_t step = std::max<std::size_t>(1, near.size() / kEnoughNear);
        const auto all = static_cast<double>(near.size());
        std::size_t kept = 0;
        for (std::size_t i = k % step; i < near.size(); i += step) near[kept++] = near[i];
        near.resize(kept);
        const double weight = all / static_cast<double>(kept);
        for (std::size_t j = 0; j < finder.tree().variables(k * stride).size(); j += 16) {
          rows[k] += 1.0;
          finder.FindValues(k * stride, j, near, [&](float value) {
            for (std::size_t c = 0; c < cutoffs.size() && value >= cutoffs[c]; ++c)
              count(k, c) += weight;
          });
        }
      }
    });
    const double sampled = std::accumulate(rows.begin(), rows.end(), 0.0);
    for (std::size_t c = 0; c < cutoffs.size(); ++c) {
      double found = 0.0;
      for (std::size_t k = 0; k < sampled_buckets; ++k) found += count(k, c);
      entries[c] += found / sampled * n;
    }
  }
  return entries;
}

template <class Body>
void NeighbourList::ForRows(const Body& body) const {
  ParallelFor(size(), kListGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) body(k, std::size_t{rows_.order[k]}, Row(k));
  });
}

void NeighbourList::AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const {
  ForRows([&](std::size_t, std::size_t a, const NeighbourRow& row) {
    thread_local std::vector<float> sum;
    sum.resize(x.cols());
    SumProducts(row, x.data(), x.cols(), sum.data());
    for (std::size_t c = 0; c < x.cols(); ++c) (*out)(a, c) += factor * sum[c];
  });
}

void NeighbourList::AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
                            Matrix<float>* out) const {
  const auto sum_row = shape == FlowShape::kClip ? SumClipped : SumSigns;
  ForRows([&](std::size_t, std::size_t a, const NeighbourRow& row) {
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
      SumDistances(Row(k), x.data(), rows_.order[k], x.cols(), sum.data());
      for (std::size_t c = 0; c < x.cols(); ++c) parts(begin / kGrain, c) += 0.5 * sum[c];
    }
  });
  std::vector<double> total(x.cols(), 0.0);
  for (std::size_t p = 0; p < parts.rows(); ++p) {
    for (std::size_t c = 0; c < x.cols(); ++c) total[c] += parts(p, c);
  }
  return total;
}

std::optional<double> NeighbourList::LabelCost(const std::vector<int>& labels,
                                               const Matrix<double>& distance) const {
  return ParallelSum(size(), kListGrain, [&](std::size_t begin, std::size_t end) {
    double sum = 0.0;
    for (std::size_t k = begin; k < end; ++k) {
      const NeighbourRow row = Row(k);
      const double* to = distance.row(static_cast<std::size_t>(labels[rows_.order[k]])).data();
      for (std::size_t j = 0; j < row.count; ++j)
        sum += static_cast<double>(row.weight[j]) * to[labels[row.neighbour[j]]];
    }
    return 0.5 * sum;
  });
}

std::vector<float> NeighbourList::RowSumsWithSelf() const {
  std::vector<float> sums = Degrees(*this);
  for (std::size_t a = 0; a < sums.size(); ++a) sums[a] += rows_.self[a];
  return sums;
}

std::string NeighbourList::Description() const {
  return fmt::format("neighbour list, cutoff {:g}, {} pairs", cutoff_, num_pairs());
}

std::size_t NeighbourList::bytes() const {
  return rows_.neighbour->size() * kBytesPerEntry +
         size() * (2 * sizeof(std::uint64_t) + sizeof(std::uint32_t) + sizeof(float)) +
         rows_.of_kernel.size() * sizeof(std::uint32_t);
}

}  // namespace submarine::internal
