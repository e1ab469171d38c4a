#include "submarine/solve/dense_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "submarine/base/error.h"
#include "submarine/filter/list/neighbour_list.h"
#include "submarine/solve/limits.h"
#include "submarine/solve/strategy.h"

namespace submarine::internal {
namespace {

// Cutoffs that a time limit may raise the given one to, as factors.
constexpr std::array<double, 6> kCutoffFactors = {1.0, 3.0, 10.0, 30.0, 100.0, 300.0};
constexpr double kLargestCutoff = 0.5;
constexpr double kFewVariables = 1024.0;
constexpr double kCutoffOfFew = 1e-30;

// How many N x L and N x cuts matrices of single precision a method holds at its peak, the unaries not
// counted: the state of the solver, the best bound with its proof, the best dual point, and mean field's.
struct Held {
  double labels;
  double cuts;
};

Held MatricesOf(Method method) {
  switch (method) {
    case Method::kMeanField:
      return {4.0, 0.0};
    case Method::kQuadratic:
      return {7.0, 4.0};
    case Method::kFrankWolfe:
      return {8.0, 3.0};  // and the steps of its proof, which have a limit of their own
    default:
      return {12.0, 6.3};
  }
}

std::string BytesText(double bytes) {
  return bytes >= 1e9   ? fmt::format("{:.1f} GB", bytes / 1e9)
         : bytes >= 1e6 ? fmt::format("{:.0f} MB", bytes / 1e6)
                        : fmt::format("{:.0f} kB", bytes / 1e3);
}

bool NeedsFlows(Method method) {
  return method != Method::kMeanField && method != Method::kQuadratic;
}

class Planner {
 public:
  Planner(const DenseSize& size, std::span<const WeightedKernel> kernels,
          const SolveOptions& options, double seconds_left)
      : size_(size),
        kernels_(kernels),
        options_(options),
        seconds_left_(seconds_left),
        plan_{.pairs = options.pairs} {}

  DensePlan Run() {
    OperatorOptions& pairs = plan_.pairs;
    const double others = Memory(0.0, true).Peak();
    pairs.max_bytes =
        static_cast<std::size_t>(std::clamp(static_cast<double>(options_.max_bytes) - others, 0.0,
                                            static_cast<double>(pairs.max_bytes)));
    if (HoldsAllPairs(size_) && pairs.kind == OperatorKind::kAuto &&
        pairs.cutoff == OperatorOptions().cutoff) {
      pairs.cutoff = kCutoffOfFew;
    }
    const bool lists =
        pairs.kind == OperatorKind::kAuto || pairs.kind == OperatorKind::kNeighbourList;
    const double pair_bytes = lists && !kernels_.empty() ? ChooseList() : 0.0;
    const bool listed = lists && pairs.kind != OperatorKind::kLattice &&
                        pair_bytes <= static_cast<double>(pairs.max_bytes);
    const DenseMemory memory = Memory(listed ? pair_bytes : 0.0, listed);
    plan_.estimated_bytes = memory.Peak();
    RequireMemory(memory, static_cast<double>(options_.max_bytes));
    return std::move(plan_);
  }

 private:
  DenseMemory Memory(double pair_bytes, bool lists) const {
    return EstimateDenseMemory(size_, kernels_, options_.method, pair_bytes, lists);
  }

  // The cutoff of lists, or lattices in their place; returns what the lists take.
  double ChooseList() {
    OperatorOptions& pairs = plan_.pairs;
    std::vector<double> cutoffs;
    for (const double factor : kCutoffFactors) {
      const double cutoff = factor * pairs.cutoff;
      if (factor == 1.0 || cutoff <= kLargestCutoff) cutoffs.push_back(cutoff);
    }
    const std::vector<double> entries = NeighbourList::EstimateEntries(kernels_, cutoffs);
    std::vector<double> unordered;
    for (const double count : entries) unordered.push_back(0.5 * count);
    const bool flows = NeedsFlows(options_.method);
    std::size_t chosen = 0;
    if (std::isfinite(options_.time_limit_seconds) && flows && !HoldsAllPairs(size_))
      chosen = ChooseCutoff(size_, unordered, seconds_left_);
    size_.pairs = unordered[chosen];
    const double by_list = LeastSeconds(size_);
    if (flows && !FitsTime(by_list, seconds_left_)) {
      TakeLattices(by_list);
      return 0.0;
    }
    if (chosen > 0) {
      plan_.notes.push_back(
          fmt::format("Pairs whose kernel is below {:g} instead of {:g} were left out to keep the "
                      "time limit.",
                      cutoffs[chosen], pairs.cutoff));
      pairs.cutoff = cutoffs[chosen];
    }
    for (std::size_t k = chosen; k < cutoffs.size(); ++k)
      plan_.known_pairs.emplace_back(cutoffs[k], unordered[k]);
    return NeighbourList::BytesFor(entries[chosen], static_cast<std::size_t>(size_.variables));
  }

  void TakeLattices(double by_list) {
    double corners = 0.0;
    for (const auto& [kernel, factor] : kernels_)
      corners += factor > 0.0 ? static_cast<double>(kernel->dimension() + 1) : 0.0;
    const double by_lattice = LeastSecondsByLattice(size_, corners, plan_.pairs.lattice.levels);
    const bool may_choose = plan_.pairs.kind == OperatorKind::kAuto;
    if (!may_choose || !FitsTime(by_lattice, seconds_left_))
      RefuseForTime(may_choose ? std::min(by_lattice, by_list) : by_list);
    plan_.notes.emplace_back("Lattices took the place of neighbour lists to keep the time limit.");
    plan_.pairs.kind = OperatorKind::kLattice;
  }

  [[noreturn]] void RefuseForTime(double seconds) const {
    throw TooLarge(fmt::format(
        "a first bound takes about {:.1f} s here, but {:.1f} s are left of the time limit; a "
        "smaller picture (--shrink), fewer labels, --method mf or {:.0f} s more would do",
        seconds, std::max(0.0, seconds_left_), std::ceil(seconds - seconds_left_)));
  }

  DenseSize size_;
  const std::span<const WeightedKernel> kernels_;
  const SolveOptions& options_;
  const double seconds_left_;
  DensePlan plan_;
};

}  // namespace

double DenseMemory::Peak() const { return model + std::max(pairs + matrices, verifier); }

DenseMemory EstimateDenseMemory(const DenseSize& size, std::span<const WeightedKernel> kernels,
                                Method method, double pair_bytes, bool lists) {
  const double variables = size.variables;
  const double row = 4.0 * size.labels;
  double features = 0.0;
  double corners = 0.0;
  for (const auto& [kernel, factor] : kernels) {
    features += 8.0 * static_cast<double>(kernel->dimension()) + 24.0;
    corners += static_cast<double>(kernel->dimension() + 1);
  }
  const Held held = MatricesOf(method);
  const double active = size.cuts;
  DenseMemory memory;
  memory.model = variables * (row + features);
  // With a list comes a sample of 96 neighbours of a variable, and what building it takes.
  constexpr double kBytesBesideList = 1050.0;
  // A lattice has a place and a weight for every corner of a variable's simplex, once in either order.
  constexpr double kBytesOfCorner = 24.0;
  memory.pairs = pair_bytes + variables * (lists ? kBytesBesideList : kBytesOfCorner * corners);
  memory.matrices = variables * (held.labels * row + held.cuts * 4.0 * active);
  // Sums per cut in double, a tree over the features, and the evidence.
  memory.verifier = variables * (8.0 * active + 4.0 * row + 200.0) + (lists ? 0.0 : pair_bytes);
  return memory;
}

void RequireMemory(const DenseMemory& memory, double max_bytes) {
  const double peak = memory.Peak();
  if (peak <= max_bytes) return;
  // Everything grows with the variables.
  const double shrink = std::ceil(std::sqrt(peak / max_bytes));
  throw TooLarge(fmt::format(
      "this needs about {} of memory, more than the limit of {}; 1/{:.0f} of the variables "
      "(stereo: "
      "--shrink {:.0f}), fewer labels, or --max-memory {:.2g} would fit",
      BytesText(peak), BytesText(max_bytes), shrink * shrink, shrink, 1.05 * peak / 1e9));
}

bool HoldsAllPairs(const DenseSize& size) { return size.variables <= kFewVariables; }

DensePlan PlanDense(DenseSize size, std::span<const WeightedKernel> kernels,
                    const SolveOptions& options, double seconds_left) {
  return Planner(size, kernels, options, seconds_left).Run();
}

}  // namespace submarine::internal
