#include "submarine/solve/method/dense_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "submarine/base/error.h"
#include "submarine/base/numbers.h"
#include "submarine/filter/lattice_memory.h"
#include "submarine/filter/list/neighbour_list.h"

namespace submarine::internal {
namespace {

// Bytes per pixel of a picture that the caller holds: its samples, its labels before and after.
constexpr double kPictureBytes = 16.0;
// Bytes per variable in extensions and solvers: degrees, self terms, damping, multipliers, labels.
constexpr double kVariableBytes = 24.0;
// Bytes per variable for building a list: a tree over the features, rows and write positions.
constexpr double kListBuildBytes = 280.0;
constexpr double kEntryBytes = 8.0;

DenseHeld HeldBySolver(const DenseDemand& demand, bool streamed) {
  DenseHeld held = demand.method.solving;
  if (demand.classic_updates && !demand.method.upper_bound) held.labels = streamed ? 1.0 : 2.0;
  if (demand.method.proof_per_iteration) held.cuts += demand.iterations;
  return held;
}

DenseHeld HeldAsEvidence(const DenseDemand& demand) {
  DenseHeld held = demand.method.evidence;
  if (demand.method.proof_per_iteration) held.cuts += demand.iterations;
  return held;
}

class Estimate {
 public:
  Estimate(const DenseDemand& demand, std::span<const WeightedKernel> kernels,
           const PairMemory& pairs)
      : demand_(demand),
        kernels_(kernels),
        pairs_(pairs),
        variables_(demand.size.variables),
        labels_(4.0 * demand.size.labels * variables_),
        cuts_(4.0 * demand.size.cuts * variables_),
        columns_(static_cast<std::size_t>(demand.size.labels)),
        flows_(demand.method.upper_bound) {}

  DenseMemory Sum() const {
    DenseMemory memory;
    memory.model = Model();
    memory.preparing = Preparing();
    memory.solving = Solving();
    memory.certifying = Certifying();
    if (demand_.method.draws_sample && HasList() && pairs_.lattices.empty() && demand_.by_pairs)
      memory.routing = Routing();
    return memory;
  }

 private:
  double Features() const {
    double bytes = 0.0;
    for (const auto& [kernel, factor] : kernels_)
      bytes += 8.0 * static_cast<double>(kernel->dimension());
    return bytes * variables_;
  }
  double Model() const {
    const double model = labels_ + Features() + kPictureBytes * variables_;
    const double scales = 8.0 * static_cast<double>(kernels_.size()) * variables_;
    return demand_.normalises ? model + labels_ + Features() + scales : model;
  }

  double HeldByLattices() const {
    double bytes = 0.0;
    for (const LatticeCounts& counts : pairs_.lattices)
      bytes += LatticeHeldBytes(counts, {columns_, flows_}, demand_.lattice);
    return bytes;
  }
  bool HasList() const { return pairs_.list_entries > 0.0; }
  double ListBytes() const {
    return HasList() ? NeighbourList::BytesFor(pairs_.list_entries,
                                               static_cast<std::size_t>(variables_)) +
                           kListBuildBytes * variables_
                     : 0.0;
  }
  double SampleBytes() const {
    const double entries = demand_.sample_neighbours * variables_;
    return demand_.method.draws_sample &&
                   pairs_.list_entries >= NeighbourList::kWorthSampling * entries
               ? kEntryBytes * entries
               : 0.0;
  }

  double Preparing() const {
    // The kernels are copied before the model is.
    double peak = demand_.normalises ? Features() : 0.0;
    double built = ListBytes();
    for (const LatticeCounts& counts : pairs_.lattices) {
      if (demand_.normalises) peak = std::max(peak, Features() + LatticeBuildBytes(counts));
      peak = std::max(peak, built + LatticeBuildBytes(counts));
      built += LatticeBytes(counts);
    }
    // Then degrees are summed, for which every lattice needs its diagonal.
    double used = ListBytes();
    for (const LatticeCounts& counts : pairs_.lattices)
      used += LatticeHeldBytes(counts, {1, false}, demand_.lattice);
    for (const LatticeCounts& counts : pairs_.lattices)
      peak = std::max(peak, used + LatticeDiagonalBytes(counts));
    return std::max(peak, used);
  }

  bool IsPlain() const { return demand_.size.cuts == demand_.size.labels; }
  // Of an extension, for conversions between labels and cuts. A sample has an extension of its own.
  double Scratch() const { return IsPlain() ? 0.0 : std::max(labels_, cuts_); }

  double Solving() const {
    const DenseHeld held = HeldBySolver(demand_, !HasList());
    double temporary = 0.0;
    temporary = (demand_.method.draws_sample ? 2.0 : 1.0) * Scratch();
    if (flows_) {
      // Flows and variations are computed before mean field allocates its matrices.
      double flow = 0.0;
      for (const LatticeCounts& counts : pairs_.lattices)
        flow = std::max(flow, LatticeFlowBytes(counts, columns_, demand_.lattice));
      constexpr double kOfMeanField = 3.0;
      temporary = std::max(temporary, flow - kOfMeanField * labels_);
    }
    return ListBytes() + SampleBytes() + HeldByLattices() + held.labels * labels_ +
           held.cuts * cuts_ + temporary + kVariableBytes * variables_;
  }

  // The list, the remaining weights and a sample of them; the evidence of the plain bound;
  // marginals along paths in double, costs, potentials, and the evidence of the routed bound.
  double Routing() const {
    constexpr double kLabels = 15.0;
    constexpr double kCuts = 8.0;
    return ListBytes() + 0.5 * kEntryBytes * pairs_.list_entries + SampleBytes() +
           kLabels * labels_ + kCuts * cuts_ + 2.0 * Scratch() + kVariableBytes * variables_;
  }

  double Certifying() const {
    const DenseHeld evidence = HeldAsEvidence(demand_);
    const double held =
        evidence.labels * labels_ + evidence.cuts * cuts_ + kVariableBytes * variables_;
    return held + std::max(demand_.by_pairs ? ByPairs(evidence.cuts) : 0.0,
                           demand_.by_operator ? ByOperator() : 0.0);
  }

  // Kernels are processed one by one: points and scales in the order of a tree with nearly full
  // leaves, and boxes.
  double Tree() const {
    double largest = 0.0;
    for (const auto& [kernel, factor] : kernels_)
      largest = std::max(largest, 9.0 * static_cast<double>(kernel->dimension()) + 20.0);
    return largest * variables_;
  }

  // In double: either sums per cut, with the potentials in tree order, or marginals and their sums
  // per cut and node.
  double ByPairs(double proofs) const {
    const double upper = flows_ ? proofs * cuts_ + 2.0 * cuts_ + 24.0 * variables_ : 0.0;
    constexpr double kNodes = 1.0 / 16.0;  // per variable
    const double point = 2.0 * labels_ + (IsPlain() ? 0.0 : 2.0 * cuts_) +
                         2.0 * kNodes * (labels_ + 2.0 * cuts_) + 8.0 * variables_;
    return Tree() + std::max(upper, point);
  }

  // In double: all lattices with their row sums and self terms, marginals or sums per cut, and
  // blocks of columns, which are labels or levels of a flow.
  double ByOperator() const {
    if (pairs_.lattices.empty()) return ByPairs(HeldAsEvidence(demand_).cuts);
    const auto levels = static_cast<std::size_t>(demand_.lattice.levels);
    double lattices = 0.0;
    double building = 0.0;
    double of_labels = 0.0;
    double of_levels = 0.0;
    for (const LatticeCounts& counts : pairs_.lattices) {
      lattices += ReferenceHeldBytes(counts) + 8.0 * variables_;
      building = std::max(building, ReferenceBuildBytes(counts));
      of_labels = std::max(of_labels, IsPlain() ? ReferenceSelfProductBytes(counts, columns_)
                                                : ReferenceProductBytes(counts, columns_));
      of_levels = std::max(of_levels, ReferenceProductBytes(counts, levels));
    }
    const double certain = flows_ ? labels_ : 0.0;  // the labels as marginals
    const double lower = 2.0 * labels_ + certain + of_labels + 9.0 * variables_;
    const double upper = flows_ ? 2.0 * cuts_ + of_levels + 24.0 * variables_ : 0.0;
    return lattices + std::max({building, lower, upper}) + (HasList() ? Tree() : 0.0);
  }

  const DenseDemand& demand_;
  const std::span<const WeightedKernel> kernels_;
  const PairMemory& pairs_;
  const double variables_;
  const double labels_;  // bytes of an N x L matrix
  const double cuts_;
  const std::size_t columns_;
  const bool flows_;
};

}  // namespace

double DenseMemory::Peak() const { return model + std::max({preparing, solving, certifying}); }
double DenseMemory::PeakWithRouting() const { return std::max(Peak(), model + routing); }

DenseMemory EstimateDenseMemory(const DenseDemand& demand, std::span<const WeightedKernel> kernels,
                                const PairMemory& pairs) {
  return Estimate(demand, kernels, pairs).Sum();
}

void RequireMemory(const DenseMemory& memory, double variables, double max_bytes) {
  const double peak = memory.Peak();
  if (peak <= max_bytes) return;
  throw TooLarge(fmt::format("this needs about {} of memory, more than the limit of {}",
                             BytesText(peak), BytesText(max_bytes)),
                 // All memory is proportional to the number of variables.
                 {.variables = std::floor(variables * max_bytes / peak),
                  .given_variables = variables,
                  .fewer_labels = true,
                  .bytes = 1.05 * peak});
}

}  // namespace submarine::internal
