#include "submarine/solve/candidate/dense_flows.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/loop_interrupt.h"
#include "submarine/solve/candidate/dense_candidates.h"
#include "submarine/solve/candidate/dense_mean_field.h"
#include "submarine/solve/candidate/dense_pairs.h"
#include "submarine/solve/method/policy.h"
#include "submarine/solver/common/line_search.h"
#include "submarine/solver/flow/dense_pdhg.h"
#include "submarine/solver/flow/quadratic.h"

namespace submarine::internal {
namespace {

using P = DensePolicy;

class Chain {
 public:
  explicit Chain(const DenseChainTask& task)
      : extension_(task.extension),
        exact_pairs_(task.exact_pairs),
        options_(task.options),
        clock_(task.clock),
        tell_(task.tell) {}

  // `run` calls one of those below.
  DenseEvidence Run(const std::function<void(Chain*)>& run) {
    run(this);
    return std::move(found_);
  }

  void RunSolver(std::string_view name, const DenseSolver& solver) {
    Take(solver(extension_, Configure<BoundOptions>(name, options_.max_iterations)));
    if (!Stopped()) PolishLower();
  }

  // Cheap flows first, then PDHG and mean field in turn. Mean field's value is also a dual value, and a
  // better one than PDHG's own marginals have before they are very accurate.
  void RunAuto() {
    if (!exact_pairs_) {
      Take(SolveQuadratic(extension_,
                          Configure<QuadraticOptions>("quadratic", options_.max_iterations)));
    }
    SolveSample();
    bool stalled = false;
    calls_mean_field_ = true;
    const auto unfinished = [&] {
      return !stalled && Gap() > options_.relative_gap && RoomFor(1) && !Stopped();
    };
    // Where nothing is proven yet, one stage is begun in any case.
    bool first = !std::isfinite(bound().upper);
    for (int stage = P::kFirstStage; first || unfinished(); stage *= 2) {
      first = false;
      const double gap_before = Gap();
      SolvePairs(stage);
      if (!Stopped() && Gap() <= P::kCallMeanField * options_.relative_gap) {
        calls_mean_field_ = false;
        if (MeanFieldMayHelp(bound().energy, bound().dual)) PolishLower();
      }
      stalled = Stalled(stage, gap_before, Gap());
    }
    if (!polished_ && !Stopped()) PolishLower();
    // The stages end by iterations of their own, and mean field may have been the last to run.
    found_.termination = Gap() <= options_.relative_gap ? Termination::kGapReached
                         : stopped_                     ? Termination::kInterrupted
                         : SecondsLeft() <= 0.0         ? Termination::kTimeLimit
                         : stalled                      ? Termination::kStalled
                                                        : Termination::kIterationLimit;
  }

  void RunMeanField() {
    DenseMeanFieldResult result = MeanFieldFrom({}, options_.max_iterations,
                                                P::kToleranceOfMeanField, options_.classic_updates);
    found_.termination = result.converged       ? Termination::kConverged
                         : stopped_             ? Termination::kInterrupted
                         : SecondsLeft() <= 0.0 ? Termination::kTimeLimit
                                                : Termination::kIterationLimit;
    if (options_.classic_updates) {  // nobody has looked at its bound
      found_.mean_field = std::move(result.marginals);
    } else {
      KeepLower(std::move(result));
    }
  }

 private:
  double SecondsLeft() const { return options_.deadline - clock_.Seconds(); }
  bool Stopped() const { return stopped_ || SecondsLeft() <= 0.0; }
  bool RoomFor(int iterations) const { return iterations_ + iterations <= options_.max_iterations; }

  DenseResult& bound() { return found_.bound; }
  double Gap() const {
    return RelativeGap(found_.bound.upper, std::max(found_.bound.dual, found_.lower));
  }
  // Where a solver of the upper bound stops: early where mean field takes over.
  double StopGap() const {
    return (calls_mean_field_ ? P::kCallMeanField : 1.0) * options_.relative_gap;
  }

  void SolvePairs(int iterations) {
    auto solver = Configure<DensePdhgOptions>(
        "pdhg", std::clamp(options_.max_iterations - iterations_, 1, iterations));
    solver.start = std::move(bound().state);
    Take(SolvePdhg(extension_, solver));
  }

  // Iterations on a sample of the pairs take a fraction of the time and come as far: on average it has the
  // same sums. Only their state is taken; one iteration on all pairs tells what it proves.
  void SolveSample() {
    if (!exact_pairs_) return;
    SolvePairs(P::kIterationsBeforeSample);
    if (Stopped() || Gap() <= options_.relative_gap) return;
    const std::unique_ptr<GaussianOperator> sample = Sample();
    if (sample == nullptr) return;
    const DenseExtension extension(extension_.model(), *sample, extension_.interrupted());
    const double aim = std::max(options_.relative_gap, P::kGapOfSample);
    double gap = std::numeric_limits<double>::infinity();
    double gap_before = gap;
    for (int stage = P::kFirstLook;
         gap > aim && !(gap > P::kStallRatio * gap_before) && !Stopped() && RoomFor(stage);
         stage *= 2) {
      DensePdhgOptions solver;
      solver.temperature = options_.temperature;
      solver.relative_gap = aim;
      solver.max_iterations = stage - 1;
      solver.time_limit_seconds = std::max(0.0, SecondsLeft());
      solver.keeps_evidence = false;
      solver.start = std::move(bound().state);
      const double begin = clock_.Seconds();
      const int before = iterations_;
      solver.on_iteration = [&](const SolveRecord& record) {
        return Tell("pdhg on a sample of the pairs",
                    {before + record.k, begin + record.seconds, IfFinite(bound().upper),
                     IfFinite(bound().dual)});
      };
      DenseResult result = SolvePdhg(extension, solver);
      gap_before = std::exchange(gap, RelativeGap(result.upper, result.dual));
      iterations_ += result.iterations;
      bound().state = std::move(result.state);
      if (result.termination == Termination::kInterrupted) Interrupt();
      if (stopped_) return;  // what was proven before has to do
      SolvePairs(1);
    }
    bound().state.iterations = std::min(bound().state.iterations, P::kBalanceAfterSample);
  }

  std::unique_ptr<GaussianOperator> Sample() {
    const LoopInterrupt scope(extension_.interrupted());
    try {
      return extension_.pairs().Sample(P::kSampleNeighbours);
    } catch (const Interrupted&) {
      Interrupt();
      return nullptr;
    }
  }

  // Options of an upper solver that ends when the gap is reached with what mean field has found, too.
  template <class Options>
  Options Configure(std::string_view phase, int iterations) {
    Options solver;
    solver.temperature = options_.temperature;
    solver.relative_gap = StopGap();
    solver.max_iterations = iterations;
    solver.time_limit_seconds = std::max(0.0, SecondsLeft());
    const double begin = clock_.Seconds();
    const int before = iterations_;
    solver.on_iteration = [this, phase, begin, before](const SolveRecord& record) {
      const double upper = std::min(record.upper.value_or(kUnlimited), bound().upper);
      const double dual = std::max({record.dual.value_or(-kUnlimited), bound().dual, found_.lower});
      const bool go_on = Tell(phase, {before + record.k, begin + record.seconds, IfFinite(upper),
                                      IfFinite(dual), IfFinite(found_.lower)});
      return go_on && RelativeGap(upper, dual) > StopGap();
    };
    return solver;
  }

  bool Tell(std::string_view phase, const SolveRecord& record) {
    found_.records.push_back(record);
    stopped_ = stopped_ || !tell_(phase, record);
    return !stopped_;
  }

  // Keeps the better of what was known before and now.
  void Take(DenseResult result) {
    iterations_ += result.iterations;
    found_.termination = result.termination;
    TakeUpper(&result);
    if (result.dual > bound().dual) {
      bound().dual = result.dual;
      bound().dual_point = std::move(result.dual_point);
    }
    if (result.energy < bound().energy) {
      bound().energy = result.energy;
      bound().labels = std::move(result.labels);
    }
    bound().marginals = std::move(result.marginals);
    bound().state = std::move(result.state);
    polished_ = false;
    if (found_.termination != Termination::kInterrupted) return;
    // Not interrupted by the user where the gap is reached with what was known before.
    if (!stopped_ && Gap() <= StopGap()) {
      found_.termination = Termination::kGapReached;
    } else {
      Interrupt();
    }
  }

  // A pass over the pairs was interrupted: by the watch, unless the time is up.
  void Interrupt() { stopped_ = stopped_ || SecondsLeft() > 0.0; }

  // The best point on the segment between what was known and what is new, with its proof.
  void TakeUpper(DenseResult* result) {
    // Between bounds far apart there is nothing to find, and every term of a proof takes time to verify.
    const double least = std::min(bound().upper, result->upper);
    const double share = options_.relative_gap * std::max(1.0, std::abs(least));
    const bool near = std::abs(bound().upper - result->upper) <= share;
    if (near && bound().proof.size() + result->proof.size() <= P::kMaxHullTerms) {
      Matrix<float> s = bound().modular;
      Matrix<float> direction = result->modular;
      for (std::size_t j = 0; j < s.size(); ++j) direction.data()[j] -= s.data()[j];
      const double t = ExactLineSearch(s, direction, options_.temperature);
      for (std::size_t j = 0; j < s.size(); ++j)
        s.data()[j] += static_cast<float>(t) * direction.data()[j];
      const double upper = extension_.Upper(s, options_.temperature);
      if (upper < least - P::kWorthwhileGain * share) {
        for (FlowTerm& term : bound().proof) term.share *= 1.0 - t;
        for (FlowTerm& term : result->proof) {
          term.share *= t;
          bound().proof.push_back(std::move(term));
        }
        bound().upper = upper;
        bound().modular = std::move(s);
        return;
      }
    }
    if (result->upper < bound().upper) {
      bound().upper = result->upper;
      bound().proof = std::move(result->proof);
      bound().modular = std::move(result->modular);
    }
  }

  // log Z >= -E(x) for every labeling, and mean field from there only improves on it.
  void PolishLower() {
    try {
      ImproveLower();
    } catch (const Interrupted&) {
      Interrupt();
    }
  }

  void ImproveLower() {
    // Gains that are small beside the gap asked for are not worth their time.
    const double tolerance =
        std::max(P::kToleranceBesideFlows, P::kWorthwhileGain * options_.relative_gap);
    KeepLower(MeanFieldFrom(MeanFieldStart(tolerance), P::kMeanFieldIterations, tolerance));
    polished_ = true;
    std::vector<int> labels = ArgmaxLabels(found_.mean_field);
    const double energy = extension_.Energy(labels);
    if (energy < bound().energy) {
      bound().energy = energy;
      bound().labels = std::move(labels);
    }
  }

  // One step from the marginals tells whether they or their labels are the better start.
  Matrix<float> MeanFieldStart(double tolerance) {
    DenseMeanFieldResult step = MeanFieldFrom(bound().marginals, 1, tolerance);
    const std::vector<int> rounded = ArgmaxLabels(bound().marginals);
    if (step.lower > -extension_.Energy(rounded)) return std::move(step.marginals);
    return Indicator(rounded, extension_.num_labels());
  }

  DenseMeanFieldResult MeanFieldFrom(Matrix<float> start, int iterations, double tolerance,
                                     bool classic = false) {
    DenseMeanFieldOptions mean_field;
    mean_field.temperature = options_.temperature;
    mean_field.start = std::move(start);
    mean_field.max_iterations = iterations;
    mean_field.tolerance = tolerance;
    mean_field.damped = !classic;
    mean_field.measured = !classic;
    mean_field.time_limit_seconds = std::max(0.0, SecondsLeft());
    const double begin = clock_.Seconds();
    int told = -1;
    const auto tell = [&](int k, double seconds, double lower) {
      told = k;
      const double best = std::max(lower, found_.lower);
      SolveRecord record{k, begin + seconds, std::nullopt, std::nullopt, IfFinite(best)};
      if (std::isfinite(bound().upper)) {
        record.k = iterations_;
        record.upper = bound().upper;
        record.dual = IfFinite(std::max(bound().dual, best));
      }
      return Tell("mean field", record);
    };
    mean_field.on_iteration = tell;
    DenseMeanFieldResult result = SolveMeanField(extension_, mean_field);
    // Mean field does not ask whether to go on after its last iteration.
    if (told < result.iterations) tell(result.iterations, clock_.Seconds() - begin, result.lower);
    return result;
  }

  void KeepLower(DenseMeanFieldResult result) {
    if (!(result.lower > found_.lower)) return;
    found_.lower = result.lower;
    found_.mean_field = std::move(result.marginals);
  }

  const DenseExtension& extension_;
  const bool exact_pairs_;
  const DenseChainOptions& options_;
  const Stopwatch& clock_;
  const DenseTell& tell_;
  bool stopped_ = false;
  bool polished_ = false;          // mean field has seen the last marginals
  bool calls_mean_field_ = false;  // the solver of the upper bound stops for it
  int iterations_ = 0;
  DenseEvidence found_;
};

// What was found before flows, where it says more.
void KeepMeanField(const DenseExtension& extension, DenseEvidence before, DenseEvidence* found) {
  if (!(before.lower > found->lower)) return;
  if (!found->empty()) TakeLabels(extension, LabelsOf(before), found);
  found->lower = before.lower;
  found->mean_field = std::move(before.mean_field);
}

}  // namespace

DenseEvidence ChainAuto(const DenseChainTask& task) { return Chain(task).Run(&Chain::RunAuto); }
DenseEvidence ChainSolver(const DenseChainTask& task, const DenseSolver& solver) {
  return Chain(task).Run([&](Chain* chain) { chain->RunSolver(task.name, solver); });
}
DenseEvidence ChainMeanField(const DenseChainTask& task) {
  return Chain(task).Run(&Chain::RunMeanField);
}

std::vector<int> LabelsOf(const DenseEvidence& evidence) {
  const DenseResult& bound = evidence.bound;
  if (!bound.labels.empty()) return bound.labels;
  return ArgmaxLabels(std::isfinite(bound.upper) ? bound.marginals : evidence.mean_field);
}

void FindFlows(DenseState* state) {
  state->has_flows = true;
  if (!UsePairs(state)) return;
  const SolveOptions& options = state->options;
  const DenseView view = ViewOf(*state);
  DenseChainOptions chain;
  chain.temperature = options.temperature;
  chain.harmonic_steps = options.harmonic_steps;
  // Only `auto` aims at the gap of the certificate; the others stop at their own.
  chain.relative_gap =
      SolverGap(state->gap, view.method == Method::kAuto && CertifiesExactly(view));
  chain.max_iterations = options.limits.max_iterations.value_or(state->method.traits.iterations);
  chain.max_proof_bytes = options.limits.max_bytes / 2;
  chain.deadline = DeadlineOf(*state, ReserveOfFlows(view));
  const DenseTell tell = [state, &view](std::string_view phase, const SolveRecord& record) {
    if (!state->budget.Tell(phase, record)) return false;
    if (!record.upper || !record.dual) return true;
    DenseView now = view;
    now.left = state->budget.SecondsLeft();
    now.upper = *record.upper;
    now.dual = *record.dual;
    now.lower = std::max(view.lower, record.lower.value_or(view.lower));
    state->plain_is_wide = EndsFlows(now);
    return !state->plain_is_wide;
  };
  DenseEvidence before = std::move(state->found);
  state->found = state->method.chain({state->method.name, *state->extension, state->pairs.exact,
                                      chain, state->budget.clock(), tell});
  // Ended by us, not by the user.
  if (state->plain_is_wide) state->found.termination = Termination::kStalled;
  KeepMeanField(*state->extension, std::move(before), &state->found);
  TakeRecords(state);
  if (!state->found.empty()) state->Change();
}

double DeadlineOf(const DenseState& state, double reserve) {
  const bool limited = std::isfinite(state.options.limits.time_limit_seconds);
  return limited ? state.budget.deadline() - reserve : std::numeric_limits<double>::infinity();
}

void TakeRecords(DenseState* state) {
  for (SolveRecord& record : state->found.records) state->records.push_back(record);
  state->found.records.clear();
}

bool MeanFieldMayHelp(double energy, double dual) {
  return -energy >= dual - P::kMeanFieldReach * std::abs(dual);
}

bool Stalled(int stage, double gap_before, double gap) {
  return stage > P::kFirstStage && gap > P::kStallRatio * gap_before;
}

}  // namespace submarine::internal
