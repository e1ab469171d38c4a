// A sparse solve is a loop over candidates: the first one that is worth its time and memory finds bounds, which are verified,
// and the best verified value of each side is kept, until nothing is left to gain or to spend.
#include "submarine/solve/sparse_portfolio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/freed_memory.h"
#include "submarine/base/loop_interrupt.h"
#include "submarine/base/machine.h"
#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/candidate/sparse_candidates.h"
#include "submarine/solve/registry.h"

namespace submarine::internal {
namespace {

void FindUpper(SparseState* state);

struct SparseCandidate {
  std::string_view name;
  bool (*is_wanted)(const SparseView& view);
  void (*run)(SparseState* state);
};

// In the order of preference. Each runs once; a row is all that a new candidate needs here, and a
// method of its own is an entry of the registry.
constexpr SparseCandidate kSparseCandidates[] = {
    {"bounds by the unaries", WantsUnaries, BoundByUnaries},
    {"exact inference", WantsExact, FindExact},
    {"upper bound", WantsUpper, FindUpper},
    {"mean field", WantsMeanField, FindSparseMeanField},
    {"mean field between trees", WantsForestMeanField, FindForestMeanField},
    {"better forests", WantsBetterForests, FindBetterForests},
};

void RunSparsePortfolio(SparseState* state) {
  for (std::size_t k = 0; k < std::size(kSparseCandidates);) {
    const SparseCandidate& candidate = kSparseCandidates[k];
    if (!candidate.is_wanted(ViewOf(*state))) {
      ++k;
      continue;
    }
    candidate.run(state);
    ReturnFreedMemory();
    k = 0;
  }
}

// Estimates may be wrong, or the machine busy: without a first bound in time, only the unaries'
// bound still fits.
void Find(Method method, SparseState* state) {
  const SparseMethod& entry = EntryOf(method).sparse;
  state->phase = ToString(method);
  state->gap = state->options.limits.gap.value_or(entry.gap);
  const std::function<bool()> gives_up = [state] {
    if (state->has_first_bound) return false;
    state->budget.AsksToStop();
    return GivesUp(ViewOf(*state));
  };
  try {
    const LoopInterrupt scope(gives_up);
    entry.find(state);
  } catch (const Interrupted&) {
    state->view.gave_up = true;
  }
}

void FindUpper(SparseState* state) {
  const SparseView view = ViewOf(*state);
  state->view.tried_upper = true;
  const bool any = view.method == Method::kAuto;
  const Method method = any ? TightestThatFits(view) : view.method;
  state->view.upper_by = method;
  Find(method, state);
}

Matrix<double> MarginalsOfUnaries(const SparseState& state) {
  const Matrix<double>& unary = state.model.unary();
  const double T = state.options.temperature > 0.0 ? state.options.temperature : 1.0;
  Matrix<double> y(unary.rows(), unary.cols());
  ParallelFor(y.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a)
      SoftmaxRow(unary.row(a).data(), unary.cols(), 1.0 / T, y.row(a).data());
  });
  return y;
}

Termination TerminationOf(const SparseState& state) {
  if (state.budget.stopped()) return Termination::kInterrupted;
  const SolveResult& solved = state.solved;
  return solved.termination == Termination::kGapReached && !KeepsGap(solved.certificate, state.gap)
             ? Termination::kStalled
             : solved.termination;
}

SolveResult TakeResult(SparseState* state) {
  SolveResult& solved = state->solved;
  if (state->view.is_exact) return std::move(solved);
  if (state->options.expectations) {
    solved.mean_field = state->mean_field;
    if (!solved.tilted)
      VerifiedUnaryUpper(state->model, state->options.temperature, &solved.tilted);
  }
  const bool alone = state->options.method == Method::kMeanField;
  if (alone && state->mean_field.size() > 0) state->TakeLabels(state->Rounded(state->mean_field));
  solved.certificate.model = state->model.Description();
  solved.method =
      state->options.method == Method::kAuto ? state->view.upper_by : state->options.method;
  if (state->marginals.size() == 0) state->marginals = std::move(state->mean_field);
  if (state->marginals.size() == 0) {
    state->marginals = MarginalsOfUnaries(*state);
    solved.termination = Termination::kTimeLimit;
    solved.notes.push_back(
        fmt::format("{}: labels, marginals and bounds come from the unaries.",
                    state->budget.stopped() ? "It was interrupted before a solver had a first bound"
                    : FitsMemory(ViewOf(*state), Method::kFrankWolfe)
                        ? "The time limit is too short for a solver's first bound"
                        : "The memory limit is too low for a solver"));
  }
  const Termination termination = TerminationOf(*state);
  if (termination == Termination::kStalled && solved.termination == Termination::kGapReached) {
    solved.notes.emplace_back(
        "The gap was reached in the solver's own arithmetic; the certified gap is larger because "
        "of rounding.");
  }
  solved.termination = termination;
  solved.marginals = std::move(state->marginals);
  return std::move(solved);
}

// Large models take gigabytes, and the time to get new memory depends on the state of the machine.
SparseSize MeasuredSize(const SparseCrf& model, const SolveOptions& options) {
  constexpr double kMatters = 0.25;  // seconds
  constexpr std::size_t kSample = std::size_t{64} << 20;
  constexpr double kMost = 10.0;
  SparseSize size = SizeOf(model, options.temperature);
  if (std::isfinite(options.limits.time_limit_seconds) && !options.limits.deterministic &&
      LeastSeconds(Method::kFrankWolfe, size) > kMatters) {
    const double usual = NewMemorySeconds(static_cast<double>(kSample));
    size.page_fault_factor = std::clamp(MeasuredNewMemorySeconds(kSample) / usual, 1.0, kMost);
  }
  return size;
}

}  // namespace

SparseView ViewOf(const SolveOptions& options, const SparseSize& size, double max_bytes) {
  SparseView view;
  view.method = options.method;
  view.zero_temperature = options.temperature == 0.0;
  view.starts = options.sparse.starts;
  view.between_trees =
      options.sparse.mean_field.value_or(options.method == Method::kMeanField
                                             ? MeanFieldKind::kNaive
                                             : MeanFieldKind::kForest) == MeanFieldKind::kForest;
  view.limit = view.left = options.limits.time_limit_seconds;
  view.room = max_bytes - ModelBytes(size);
  view.gap = options.limits.gap.value_or(EntryOf(Method::kPdhg).sparse.gap);
  view.size = size;
  for (const MethodInfo& info : Methods()) {
    const SparseMethod& entry = EntryOf(info.method).sparse;
    if (entry.find == nullptr || info.method == Method::kExact) continue;
    SparseCost& cost = view.costs[static_cast<std::size_t>(info.method)];
    cost.is_upper = info.method != Method::kAuto && info.method != Method::kMeanField;
    cost.zero_temperature = entry.zero_temperature;
    cost.seconds = LeastSeconds(info.method, size);
    cost.bytes = HeldBytes(entry.memory, size);
    if (options.expectations) cost.bytes += ModelBytes(size) + HeldBytes(kTiltedHeld, size);
  }
  return view;
}

void RequireRoom(const SparseView& view) {
  const Method method = view.method;
  if (method == Method::kExact) return;  // checks its own limits
  const SparseCost& cost = view.costs[static_cast<std::size_t>(method)];
  if (FitsMemory(view, method)) return;
  Remedy remedy;
  for (const MethodInfo& other : Methods()) {
    // `auto` comes last, and exact inference has limits of its own.
    if (!other.sparse || other.method == Method::kAuto || other.method == Method::kExact) continue;
    const bool accepts = !view.zero_temperature || EntryOf(other.method).sparse.zero_temperature;
    if (accepts && FitsMemory(view, other.method)) remedy.methods.emplace_back(other.name);
  }
  if (view.costs[static_cast<std::size_t>(Method::kAuto)].bytes <= view.room)
    remedy.methods.emplace_back(ToString(Method::kAuto));
  const double needed = ModelBytes(view.size) + cost.bytes;
  remedy.bytes = 1.01 * needed;
  throw TooLarge(
      fmt::format("the method {} needs about {:.3g} GB of memory here, more than the limit of "
                  "{:.3g} GB",
                  ToString(method), needed / 1e9, (view.room + ModelBytes(view.size)) / 1e9),
      std::move(remedy));
}

SolveResult SolveSparse(const SolveTask<SparseCrf>& task, double bytes_of_tables) {
  const SolveOptions& options = task.options;
  Budget budget(task.clock, options, task.watch);
  SparseState state(task.model, options, &budget);
  const SparseSize size = MeasuredSize(task.model, options);
  state.view = ViewOf(options, size, budget.max_bytes() - bytes_of_tables);
  state.view.left = budget.SecondsLeft();
  state.view.tried_exact = bytes_of_tables > 0.0 && options.method == Method::kAuto;
  state.costs = SparseCosts(size);
  state.max_iterations =
      options.limits.max_iterations.value_or(DefaultIterations(options.method, ModelKind::kSparse));
  RequireRoom(state.view);
  RunSparsePortfolio(&state);
  return TakeResult(&state);
}

}  // namespace submarine::internal
