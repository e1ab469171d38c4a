// A dense solve is a loop over candidates: the first one that is worth its time finds evidence, which is certified, and the
// best verified value of each side of each model is kept, until nothing is left to gain or to spend.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/freed_memory.h"
#include "submarine/bound/verify/dense/normalisation.h"
#include "submarine/solve/candidate/dense_candidates.h"
#include "submarine/solve/candidate/dense_pairs.h"
#include "submarine/solve/method/policy.h"
#include "submarine/solve/registry.h"

namespace submarine::internal {
namespace {

struct Candidate {
  std::string_view name;
  bool (*is_wanted)(const DenseView& view);
  void (*run)(DenseState* state);
  int most_runs = 1;
};

// In the order of preference; a row is all that a new candidate needs here.
constexpr Candidate kCandidates[] = {
    {"mean field", WantsMeanField, FindMeanField},
    {"fluctuations", WantsFluctuations, BoundFluctuations},
    {"flows", WantsFlows, FindFlows},
    {"fewer labels", WantsFewerLabels, FindFewerLabels},
    {"routes of listed pairs", WantsListedRoutes, RouteListedPairs},
    {"routes", WantsRoutes, RouteAllPairs},
    {"certificate about the operator", WantsOperatorCertificate, CertifyOperator, 3},
    {"certificate about exact Gaussians", WantsExactCertificate, CertifyExactGaussians, 3},
    {"routes after all", WantsRoutesAfterAll, RouteAllPairs},
};

SolveResult RunPortfolio(DenseState* state) {
  std::array<int, std::size(kCandidates)> runs{};
  for (std::size_t k = 0; k < std::size(kCandidates);) {
    const Candidate& candidate = kCandidates[k];
    if (runs[k] == candidate.most_runs || !candidate.is_wanted(ViewOf(*state))) {
      ++k;
      continue;
    }
    candidate.run(state);
    ++runs[k];
    k = 0;
  }
  return TakeResult(state);
}

// Where exact row sums would take longer than what they are for, the operator's have to do.
NormalisationOptions NormalisationFor(const SolveTask<DenseCrf>& task) {
  const SolveOptions& options = task.options;
  const double share = DensePolicy::kForOneStep * options.limits.time_limit_seconds;
  NormalisationOptions normalisation;
  normalisation.pairs = options.dense.pairs;
  if (options.dense.certify == Certify::kExact) {
    normalisation.source = RowSumSource::kExact;
  } else if (options.dense.certify != Certify::kAuto || options.method == Method::kMeanField) {
    normalisation.max_seconds = 0.0;
  } else {
    normalisation.max_seconds = std::min(normalisation.max_seconds, share);
  }
  normalisation.on_progress = [&task, share](double done) {
    SolveRecord record{.k = -1, .seconds = task.clock.Seconds()};
    record.done = done;
    return record.seconds < share && (!task.watch || task.watch("normalising kernels", record));
  };
  return normalisation;
}

SolveResult SolveNormalised(const SolveTask<DenseCrf>& task, bool normalised) {
  const SolveOptions& options = task.options;
  Budget budget(task.clock, options, task.watch);
  const DenseEntry& entry = EntryOf(options.method).dense;
  DenseState state(task.model, options, {ToString(options.method), entry.chain, entry.traits},
                   options.limits.gap.value_or(DefaultGap(options.method, ModelKind::kDense)),
                   normalised, task.labels, &budget);
  state.cliques = task.cliques;
  if (options.dense.marginals == DenseMarginals::kRouted && !RoutesFirst(state.view)) {
    throw InvalidInput(
        "the marginals of the routed bound are asked for, but this solve does not route; use the "
        "method routed, or the marginals of the upper bound");
  }
  return RunPortfolio(&state);
}

}  // namespace

DenseCrf NormalisedInTime(const SolveTask<DenseCrf>& task) {
  if (!NeedsNormalisation(task.model)) return task.model;
  RequireMemoryFor(task.model, task.options, EntryOf(task.options.method).dense.traits);
  DenseCrf normalised = WithNormalisation(task.model, NormalisationFor(task));
  ReturnFreedMemory();
  return normalised;
}

SolveResult SolveDense(const SolveTask<DenseCrf>& task) {
  if (!NeedsNormalisation(task.model)) return SolveNormalised(task, false);
  const DenseCrf normalised = NormalisedInTime(task);
  return SolveNormalised(
      {normalised, task.options, task.clock, task.watch, task.labels, task.cliques}, true);
}

}  // namespace submarine::internal
