#include "submarine/solve/dense_chain.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/loop_interrupt.h"
#include "submarine/bound/constant_labeling.h"
#include "submarine/solver/common/line_search.h"
#include "submarine/solver/flow/dense_pdhg.h"
#include "submarine/solver/flow/quadratic.h"
#include "submarine/solver/mean_field/label_merging.h"

namespace submarine::internal {
namespace {

std::optional<double> Finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

class Chain {
 public:
  explicit Chain(const DenseChainTask& task)
      : extension_(task.extension),
        exact_pairs_(task.exact_pairs),
        options_(task.options),
        strategy_(task.options.strategy),
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
    for (int stage = strategy_.first_stage; first || unfinished(); stage *= 2) {
      first = false;
      const double gap_before = Gap();
      SolvePairs(stage);
      if (!Stopped() && Gap() <= strategy_.call_mean_field * options_.relative_gap) {
        calls_mean_field_ = false;
        if (MeanFieldMayHelp(strategy_, bound().energy, bound().dual)) PolishLower();
      }
      stalled = Stalled(strategy_, stage, gap_before, Gap());
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
    DenseMeanFieldResult result =
        MeanFieldFrom({}, options_.max_iterations, 1e-6, options_.classic_updates);
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
    return (calls_mean_field_ ? strategy_.call_mean_field : 1.0) * options_.relative_gap;
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
    SolvePairs(strategy_.iterations_before_sample);
    if (Stopped() || Gap() <= options_.relative_gap) return;
    const std::unique_ptr<GaussianOperator> sample = Sample();
    if (sample == nullptr) return;
    const DenseExtension extension(extension_.model(), *sample, extension_.interrupted());
    const double aim = std::max(options_.relative_gap, strategy_.gap_of_sample);
    double gap = std::numeric_limits<double>::infinity();
    double gap_before = gap;
    for (int stage = strategy_.first_look;
         gap > aim && !(gap > strategy_.stall_ratio * gap_before) && !Stopped() && RoomFor(stage);
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
      solver.on_iteration = [&](const IterationRecord& record) {
        return Tell("pdhg on a sample of the pairs", {before + record.k, begin + record.seconds,
                                                      Finite(bound().upper), Finite(bound().dual)});
      };
      DenseResult result = SolvePdhg(extension, solver);
      gap_before = std::exchange(gap, RelativeGap(result.upper, result.dual));
      iterations_ += result.iterations;
      bound().state = std::move(result.state);
      if (result.termination == Termination::kInterrupted) Interrupt();
      if (stopped_) return;  // what was proven before has to do
      SolvePairs(1);
    }
    bound().state.iterations = std::min(bound().state.iterations, strategy_.balance_after_sample);
  }

  std::unique_ptr<GaussianOperator> Sample() {
    const LoopInterrupt scope(extension_.interrupted());
    try {
      return extension_.pairs().Sample(strategy_.sample_neighbours);
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
    solver.on_iteration = [this, phase, begin, before](const IterationRecord& record) {
      const double upper = std::min(record.upper, bound().upper);
      const double dual = std::max({record.dual, bound().dual, found_.lower});
      const bool go_on = Tell(phase, {before + record.k, begin + record.seconds, Finite(upper),
                                      Finite(dual), Finite(found_.lower)});
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
    if (near && bound().proof.size() + result->proof.size() <= strategy_.max_hull_terms) {
      Matrix<float> s = bound().modular;
      Matrix<float> direction = result->modular;
      for (std::size_t j = 0; j < s.size(); ++j) direction.data()[j] -= s.data()[j];
      const double t = ExactLineSearch(s, direction, options_.temperature);
      for (std::size_t j = 0; j < s.size(); ++j)
        s.data()[j] += static_cast<float>(t) * direction.data()[j];
      const double upper = extension_.Upper(s, options_.temperature);
      if (upper < least - strategy_.worthwhile_gain * share) {
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
    const double tolerance = std::max(1e-5, strategy_.worthwhile_gain * options_.relative_gap);
    KeepLower(MeanFieldFrom(MeanFieldStart(tolerance), strategy_.mean_field_iterations, tolerance));
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
      SolveRecord record{k, begin + seconds, std::nullopt, std::nullopt, Finite(best)};
      if (std::isfinite(bound().upper)) {
        record.k = iterations_;
        record.upper = bound().upper;
        record.dual = Finite(std::max(bound().dual, best));
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
  const DenseStrategy& strategy_;
  const Stopwatch& clock_;
  const DenseTell& tell_;
  bool stopped_ = false;
  bool polished_ = false;          // mean field has seen the last marginals
  bool calls_mean_field_ = false;  // the solver of the upper bound stops for it
  int iterations_ = 0;
  DenseEvidence found_;
};

// Where they have less energy than the labels known.
void TakeLabels(const DenseExtension& extension, std::vector<int> labels, DenseEvidence* evidence) {
  DenseResult& bound = evidence->bound;
  try {
    if (bound.labels.empty()) {
      std::vector<int> known = LabelsOf(*evidence);
      bound.energy = extension.Energy(known);
      bound.labels = std::move(known);
    }
    const double energy = extension.Energy(labels);
    if (!(energy < bound.energy)) return;
    bound.energy = energy;
    bound.labels = std::move(labels);
  } catch (const Interrupted&) {  // the labels are what they were
  }
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

void RestartMeanField(const DenseExtension& extension, const Matrix<float>& start,
                      const MeanFieldRestart& restart, Alarm* alarm, DenseEvidence* evidence) {
  DenseMeanFieldOptions again;
  again.temperature = restart.temperature;
  again.max_iterations = restart.max_iterations;
  again.tolerance = restart.tolerance;
  again.start = start;
  again.time_limit_seconds = kShareForRestart * std::max(0.0, alarm->SecondsLeft());
  again.on_iteration = [&](int k, double, double) {
    alarm->Progress("mean field", static_cast<double>(k) / restart.max_iterations, 0.0);
    return !alarm->stopped();
  };
  DenseMeanFieldResult result = SolveMeanField(extension, again);
  if (!(result.lower > evidence->lower)) return;
  evidence->lower = result.lower;
  evidence->mean_field = std::move(result.marginals);
  // Where there are no others, labels are mean field's.
  if (std::isfinite(evidence->bound.upper) || !evidence->bound.labels.empty())
    TakeLabels(extension, ArgmaxLabels(evidence->mean_field), evidence);
}

void RestartFromFewerLabels(const DenseExtension& extension, const MeanFieldRestart& restart,
                            Alarm* alarm, DenseEvidence* evidence) {
  const auto restart_from = [&](const std::vector<int>& labels) {
    RestartMeanField(extension, Indicator(labels, extension.num_labels()), restart, alarm,
                     evidence);
  };
  const std::vector<int> labels = LabelsOf(*evidence);
  try {
    const std::vector<int> merged = MergeLabels(extension, labels);
    if (merged != labels) restart_from(merged);
  } catch (const Interrupted&) {
    return;
  }
  const ConstantLabeling one = BestConstantLabeling(extension.model());
  const std::vector<int> one_for_all(labels.size(), one.label);
  if (MeanFieldMayHelp({}, one.energy, evidence->lower)) restart_from(one_for_all);
  TakeLabels(extension, one_for_all, evidence);
}

}  // namespace submarine::internal
