// The exact Gaussian, cut off: of every kernel, the pairs with exp(-|f_a - f_b|^2 / 2) >= cutoff
// are stored, the others are left out. Leaving a pair out is flow 0, so upper bounds from this
// operator hold for the full model as well; dual and lower bounds have to count the pairs left out,
// which bound/verify/dense/dense_verifier.h does.
//
// One application of any flow costs O(pairs x columns) with the columns innermost, which for narrow
// kernels is less than one pass of a lattice, and it does not approximate.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "submarine/base/aligned_memory.h"
#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/kernel/gaussian_operator.h"
#include "submarine/filter/list/pair_kernels.h"

namespace submarine::internal {

struct NeighbourListOptions {
  double cutoff = 0.001;  // in (0, 1): pairs with exp(-|f_a - f_b|^2 / 2) below this are left out
  std::size_t max_bytes = std::size_t{4} << 30;
  // Called from time to time while the list is built, on the caller's thread, with the fraction of
  // the work done; return false to give up, which throws Interrupted.
  std::function<bool(double done)> on_progress = {};
};

class NeighbourList : public GaussianOperator {
 public:
  // Throws TooLarge, stating the size, when the list would take more than max_bytes.
  NeighbourList(std::span<const WeightedKernel> kernels, const NeighbourListOptions& options);

  // The bytes that the constructor would allocate, estimated from a sample of the variables.
  static double EstimateBytes(std::span<const WeightedKernel> kernels, double cutoff);
  // Entries (two per pair) at each of the cutoffs, which ascend, estimated from one sample of the
  // variables; and the memory that a number of entries takes.
  static std::vector<double> EstimateEntries(std::span<const WeightedKernel> kernels,
                                             std::span<const double> cutoffs);
  static double BytesFor(double entries, std::size_t num_variables);

  std::size_t size() const override { return rows_.order.size(); }
  void AddProduct(const Matrix<float>& x, float factor, Matrix<float>* out) const override;
  void AddFlow(const Matrix<float>& v, FlowShape shape, float factor,
               Matrix<float>* out) const override;
  std::vector<double> TotalVariation(const Matrix<float>& x) const override;
  std::optional<double> LabelCost(const std::vector<int>& labels,
                                  const Matrix<double>& distance) const override;
  std::vector<float> RowSumsWithSelf() const override;
  std::string Description() const override;
  std::unique_ptr<GaussianOperator> Sample(double neighbours) const override;
  // A list that is less than this many times as long as its sample is used instead of the sample.
  static constexpr double kWorthSampling = 2.0;
  std::size_t bytes() const override;

  // The same pairs with other weights. `rule` is called in parallel for every variable and kernel
  // (an index into the kernels of the list) with the neighbours by that kernel, and writes their
  // new weights, which must be symmetric and not negative.
  using WeightRule = std::function<void(std::size_t a, std::size_t kernel, const NeighbourRow& row,
                                        float* weight)>;
  std::unique_ptr<NeighbourList> Reweighted(const WeightRule& rule) const;

  // Unordered pairs held, summed over the kernels.
  std::uint64_t num_pairs() const { return rows_.neighbour->size() / 2; }
  double cutoff() const { return cutoff_; }

 private:
  // Calls body(a, row) for all variables, in parallel, in the order of storage.
  template <class Body>
  void ForRows(const Body& body) const;

  // Row k belongs to variable order[k]. Variables close in feature space are adjacent: they share
  // most of their neighbours, which are then still in the cache.
  struct Rows {
    std::vector<std::uint32_t> order;
    std::vector<std::uint64_t> begin;  // N + 1 of them
    // Both directions of every pair, twice if two kernels have it, kernel by kernel within a row.
    // Shared by lists that differ in weights only.
    using Neighbours = std::vector<std::uint32_t, UninitialisedAllocator<std::uint32_t>>;
    std::shared_ptr<Neighbours> neighbour;
    std::vector<float, UninitialisedAllocator<float>> weight;
    std::vector<float> self;               // sum over the kernels of factor_m r_a^2
    std::vector<std::uint32_t> of_kernel;  // rows x kernels: number of entries; empty in samples

    // Allocates the entries, given the number of entries of row k in begin[k + 1].
    void Allocate();
  };

  NeighbourList(Rows rows, double cutoff) : rows_(std::move(rows)), cutoff_(cutoff) {}

  NeighbourRow Row(std::size_t k) const {
    const std::uint64_t begin = rows_.begin[k];
    return {rows_.neighbour->data() + begin, rows_.weight.data() + begin,
            rows_.begin[k + 1] - begin};
  }
  // The weight below which entries are sampled, so that about `per_row` entries per row remain on
  // average.
  double SampleThreshold(double per_row) const;

  Rows rows_;
  double cutoff_;
};

}  // namespace submarine::internal
