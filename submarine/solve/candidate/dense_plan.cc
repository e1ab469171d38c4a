#include "submarine/solve/candidate/dense_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "submarine/base/error.h"
#include "submarine/base/matrix.h"
#include "submarine/filter/lattice_memory.h"
#include "submarine/filter/list/neighbour_list.h"
#include "submarine/solve/candidate/dense_flows.h"
#include "submarine/solve/method/dense_memory.h"
#include "submarine/solve/method/policy.h"

namespace submarine::internal {
namespace {

using P = DensePolicy;

class Planner {
 public:
  Planner(const DenseSize& size, std::span<const WeightedKernel> kernels,
          const SolveOptions& options, const PlanInput& situation)
      : size_(size),
        kernels_(kernels),
        options_(options),
        method_(situation.method),
        normalises_(situation.normalises),
        seconds_left_(situation.seconds_left),
        plan_{.pairs = options.dense.pairs} {}

  DensePlan Run() {
    OperatorOptions& pairs = plan_.pairs;
    const auto limit = static_cast<double>(options_.limits.max_bytes);
    // What lists may take beside the model and the solver.
    const DenseMemory others = Memory({});
    if (others.Peak() > limit) RefuseByAPart(limit);
    const double room = limit - others.model - others.solving;
    const std::size_t most = pairs.max_bytes;
    pairs.max_bytes = static_cast<std::size_t>(std::clamp(room, 0.0, static_cast<double>(most)));
    if (HoldsAllPairs(size_) && pairs.kind == OperatorKind::kAuto &&
        pairs.cutoff == OperatorOptions().cutoff) {
      pairs.cutoff = P::kCutoffOfFew;
    }
    std::vector<double> entries(kernels_.size(), 0.0);
    if (pairs.kind == OperatorKind::kAuto || pairs.kind == OperatorKind::kNeighbourList)
      entries = ChooseList();
    ChooseKinds(entries);
    PairMemory taken;
    for (std::size_t m = 0; m < kernels_.size(); ++m) {
      if (kernels_[m].factor == 0.0) continue;
      if (plan_.kinds[m] == OperatorKind::kNeighbourList) taken.list_entries += entries[m];
      if (plan_.kinds[m] == OperatorKind::kLattice)
        taken.lattices.push_back(CountLattice(*kernels_[m].kernel, pairs.lattice));
    }
    const DenseMemory memory = Memory(taken);
    plan_.routes_listed =
        memory.routing > 0.0 && options_.temperature > 0.0 &&
        memory.PeakWithRouting() <= static_cast<double>(options_.limits.max_bytes);
    plan_.estimated_bytes = plan_.routes_listed ? memory.PeakWithRouting() : memory.Peak();
    RequireMemory(memory, size_.variables, limit);
    // The sum is known to fit; operators, which know less, need not doubt it.
    pairs.max_bytes = std::min(most, options_.limits.max_bytes);
    return std::move(plan_);
  }

 private:
  DenseMemory Memory(const PairMemory& pairs) const {
    DenseDemand demand{.size = size_, .method = method_.memory};
    demand.classic_updates = options_.dense.updates > 0;
    demand.iterations = options_.limits.max_iterations.value_or(method_.iterations);
    // Tilted bounds, about both models, and mean field's marginals.
    if (options_.expectations) demand.method.evidence.labels += 3.0;
    demand.normalises = normalises_;
    demand.sample_neighbours = P::kSampleNeighbours;
    const Certify certify = options_.dense.certify;
    demand.by_pairs = certify == Certify::kExact || (certify == Certify::kAuto && by_pairs_);
    demand.by_operator = certify == Certify::kOperator || certify == Certify::kLower ||
                         (certify == Certify::kAuto && !certainly_by_pairs_);
    demand.lattice = options_.dense.pairs.lattice;
    return EstimateDenseMemory(demand, kernels_, pairs);
  }

  // Where not even the model and its solver fit. Counting the pairs of tens of millions of variables takes minutes: those of
  // the first ones, neighbours in a picture, say how many there could be.
  void RefuseByAPart(double limit) const {
    if (size_.variables <= P::kEnoughVariables) return;  // counted in no time
    std::vector<GaussianKernel> first;
    for (const WeightedKernel& weighted : kernels_) {
      const GaussianKernel& all = *weighted.kernel;
      GaussianKernel& part = first.emplace_back();
      part.weight = all.weight;
      part.features = Matrix<double>(P::kEnoughVariables, all.dimension());
      std::copy_n(all.features.data(), part.features.size(), part.features.data());
    }
    std::vector<WeightedKernel> kernels;
    for (std::size_t m = 0; m < first.size(); ++m)
      kernels.push_back({&first[m], kernels_[m].factor});
    const double share = P::kEnoughVariables / size_.variables;
    DenseSize size = size_;
    size.variables = P::kEnoughVariables;
    SolveOptions options = options_;
    options.limits.max_bytes = std::numeric_limits<std::size_t>::max();
    options.dense.pairs.max_bytes =
        std::min(options.dense.pairs.max_bytes, static_cast<std::size_t>(share * limit));
    const DensePlan plan =
        Planner(size, kernels, options, {.method = method_, .normalises = normalises_}).Run();
    RequireMemory({.model = plan.estimated_bytes / share}, size_.variables, limit);
  }

  void ChooseKinds(std::span<const double> entries) {
    std::vector<double> list_bytes;
    for (const double of_kernel : entries)
      list_bytes.push_back(
          NeighbourList::BytesFor(of_kernel, static_cast<std::size_t>(size_.variables)));
    plan_.kinds = internal::ChooseKinds(
        kernels_, list_bytes, {static_cast<std::size_t>(size_.labels), method_.applies_flows},
        plan_.pairs);
  }

  // The cutoff of lists, or lattices in their place; returns the entries that a list of each kernel has.
  std::vector<double> ChooseList() {
    OperatorOptions& pairs = plan_.pairs;
    std::vector<double> cutoffs;
    for (const double factor : P::kCutoffFactors) {
      const double cutoff = factor * pairs.cutoff;
      if (factor == 1.0 || cutoff <= P::kLargestCutoff) cutoffs.push_back(cutoff);
    }
    Matrix<double> entries(kernels_.size(), cutoffs.size(), 0.0);
    std::vector<double> unordered(cutoffs.size(), 0.0);
    for (std::size_t m = 0; m < kernels_.size(); ++m) {
      if (kernels_[m].factor == 0.0) continue;
      const std::vector<double> found = NeighbourList::EstimateEntries({&kernels_[m], 1}, cutoffs);
      std::copy(found.begin(), found.end(), entries.row(m).begin());
      for (std::size_t k = 0; k < cutoffs.size(); ++k) unordered[k] += 0.5 * found[k];
    }
    const bool flows = method_.applies_flows;
    std::size_t chosen = 0;
    if (std::isfinite(options_.limits.time_limit_seconds) && flows && !HoldsAllPairs(size_))
      chosen = ChooseCutoff(size_, unordered, seconds_left_);
    size_.pairs = unordered[chosen];
    const double by_list = LeastSeconds(size_);
    if (flows && (LatticesPay(cutoffs[chosen]) || !FitsTime(by_list, seconds_left_))) {
      CheckTimeForLattices(by_list);
      return TakeLattices(entries);
    }
    if (chosen > 0) {
      plan_.notes.push_back(
          fmt::format("Pairs whose kernel is below {:g} instead of {:g} were left out to keep the "
                      "time limit.",
                      cutoffs[chosen], pairs.cutoff));
      pairs.cutoff = cutoffs[chosen];
    }
    plan_.listed_pairs = size_.pairs;
    DecideVerifier();
    std::vector<double> chosen_entries;
    for (std::size_t m = 0; m < kernels_.size(); ++m) chosen_entries.push_back(entries(m, chosen));
    return chosen_entries;
  }

  // Where a list takes most of the time, or leaves out too much.
  bool LatticesPay(double cutoff) const {
    if (plan_.pairs.kind != OperatorKind::kAuto ||
        !std::isfinite(options_.limits.time_limit_seconds) || HoldsAllPairs(size_) ||
        SecondsByLattice() >= LeastSeconds(size_))
      return false;
    const double with_list = ListSeconds(size_) + P::kFewIterations * IterationSeconds(size_) +
                             CertificateSeconds(size_);
    return cutoff > P::kCoarseCutoff || with_list > P::kShareOfList * seconds_left_;
  }

  // As the solve will, once it knows how fast the machine is.
  void DecideVerifier() {
    const double patience =
        std::min(P::kPatience, P::kForCertificate * std::max(0.0, seconds_left_));
    by_pairs_ = CertificateSeconds(size_) <= patience;
    certainly_by_pairs_ = by_pairs_;
  }

  double SecondsByLattice() const {
    return LeastSecondsByLattice(size_, NumCorners(kernels_), plan_.pairs.lattice.levels);
  }

  void CheckTimeForLattices(double by_list) {
    const double by_lattice = SecondsByLattice();
    const bool may_choose = plan_.pairs.kind == OperatorKind::kAuto;
    if (may_choose && FitsTime(by_lattice, seconds_left_)) return;
    plan_.has_time = false;
    if (options_.method != Method::kAuto)
      RefuseForTime(may_choose ? std::min(by_lattice, by_list) : by_list);
  }

  // In place of lists, but for kernels so narrow that a list of their own is faster than a lattice.
  std::vector<double> TakeLattices(const Matrix<double>& entries) {
    plan_.notes.emplace_back("Lattices took the place of neighbour lists to keep the time limit.");
    std::vector<double> listed(kernels_.size(), 0.0);
    for (std::size_t m = 0; m < kernels_.size(); ++m) {
      DenseSize size = size_;
      size.pairs = 0.5 * entries(m, 0);
      const double list = ListSeconds(size) + P::kManyIterations * IterationSeconds(size);
      const double lattice =
          LatticeSeconds(size) +
          P::kManyIterations * IterationSecondsByLattice(size, NumCorners(kernels_.subspan(m, 1)),
                                                         plan_.pairs.lattice.levels);
      const bool narrow = list <= lattice;
      listed[m] = narrow ? entries(m, 0) : std::numeric_limits<double>::infinity();
    }
    return listed;
  }

  [[noreturn]] void RefuseForTime(double seconds) const {
    const double share = std::max(0.0, seconds_left_) / seconds;
    throw TooLarge(fmt::format("a first bound takes about {:.1f} s here, but {:.1f} s are left of "
                               "the time limit",
                               seconds, std::max(0.0, seconds_left_)),
                   {.variables = std::floor(share * size_.variables),
                    .given_variables = size_.variables,
                    .fewer_labels = true,
                    .methods = {std::string(ToString(Method::kMeanField))},
                    .more_seconds = std::ceil(seconds - seconds_left_)});
  }

  DenseSize size_;
  const std::span<const WeightedKernel> kernels_;
  const SolveOptions& options_;
  const DenseMethodTraits method_;
  const bool normalises_;
  const double seconds_left_;
  // Which verifier kAuto will take: where nobody has counted pairs, either.
  bool by_pairs_ = true;
  bool certainly_by_pairs_ = false;
  DensePlan plan_;
};

}  // namespace

double NumCorners(std::span<const WeightedKernel> kernels) {
  double corners = 0.0;
  for (const auto& [kernel, factor] : kernels)
    corners += factor > 0.0 ? static_cast<double>(kernel->dimension() + 1) : 0.0;
  return corners;
}

bool HoldsAllPairs(const DenseSize& size) { return size.variables <= P::kFewVariables; }

DensePlan PlanDense(DenseSize size, std::span<const WeightedKernel> kernels,
                    const SolveOptions& options, const PlanInput& situation) {
  return Planner(size, kernels, options, situation).Run();
}

}  // namespace submarine::internal
