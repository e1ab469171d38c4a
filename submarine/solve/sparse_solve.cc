#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/loop_interrupt.h"
#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"
#include "submarine/bound/verify/sparse/forest_lower.h"
#include "submarine/bound/verify/sparse/routed_forest_verifier.h"
#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/model/forest.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/method/times.h"
#include "submarine/solve/registry.h"
#include "submarine/solver/flow/rounding.h"
#include "submarine/solver/forest/forest_packing.h"
#include "submarine/solver/forest/routed/routed_hybrid.h"
#include "submarine/solver/forest/routed/triangles.h"
#include "submarine/solver/forest/trw.h"
#include "submarine/solver/mean_field/forest_mean_field.h"
#include "submarine/solver/mean_field/mean_field.h"

namespace submarine::internal {
namespace {

// Mean field after an upper bound.
constexpr int kMeanFieldSweeps = 200;
constexpr double kMeanFieldTolerance = 1e-6;
constexpr double kClosed = 1e-9;  // relative width at which an interval counts as closed

// Marginals that put all mass on a labeling: as a start of mean field, their value is minus the
// labeling's energy.
Matrix<double> Indicator(const std::vector<int>& labels, std::size_t num_labels) {
  Matrix<double> y(labels.size(), num_labels);
  for (std::size_t a = 0; a < labels.size(); ++a) y(a, static_cast<std::size_t>(labels[a])) = 1.0;
  return y;
}

template <class Result>
void TakeRecords(const Result& result, double begin, SolveResult* solved) {
  for (const IterationRecord& record : result.records) {
    const std::optional<double> dual =
        std::isfinite(record.dual) ? std::optional(record.dual) : std::nullopt;
    solved->records.push_back({record.k, begin + record.seconds, record.upper, dual, std::nullopt});
  }
}

int CheapestLabel(const Matrix<double>& unary) {
  std::vector<double> total(unary.cols(), 0.0);
  for (std::size_t a = 0; a < unary.rows(); ++a) {
    for (std::size_t i = 0; i < unary.cols(); ++i) total[i] += unary(a, i);
  }
  return static_cast<int>(std::min_element(total.begin(), total.end()) - total.begin());
}

// "gap reached" would promise a certified gap, which TRW does not compute.
Termination TrwTermination(Termination termination) {
  return termination == Termination::kGapReached ? Termination::kConverged : termination;
}

// One solve of a model with a submodular extension.
class SparseRun {
 public:
  explicit SparseRun(const SolveTask<SparseCrf>& task)
      : model_(task.model),
        options_(task.options),
        clock_(task.clock),
        watch_(task.watch),
        size_(SizeOf(model_, options_.temperature)),
        costs_(SparseCosts(size_)),
        gap_(options_.relative_gap.value_or(DefaultGap(options_.method, ModelKind::kSparse))),
        max_iterations_(options_.max_iterations.value_or(
            DefaultIterations(options_.method, ModelKind::kSparse))) {}

  // `run` calls one of the functions below.
  SolveResult Solve(const std::function<void(SparseRun*)>& run) {
    solved_.certificate.model = model_.Description();
    solved_.method = options_.method;
    try {
      const LoopInterrupt scope(too_late_);
      run(this);
    } catch (const Interrupted&) {
      BoundByUnaries();
    }
    if (solved_.termination == Termination::kGapReached && !KeepsGap(solved_.certificate, gap_)) {
      solved_.termination = Termination::kStalled;
      solved_.notes.emplace_back(
          "The gap was reached in the solver's own arithmetic; the certified gap is larger because "
          "of rounding.");
    }
    return std::move(solved_);
  }

  void BoundByUnaries() {
    const Matrix<double>& unary = model_.unary();
    const double T = options_.temperature > 0.0 ? options_.temperature : 1.0;
    Matrix<double> y(unary.rows(), unary.cols());
    ParallelFor(y.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t a = begin; a < end; ++a)
        SoftmaxRow(unary.row(a).data(), unary.cols(), 1.0 / T, y.row(a).data());
    });
    solved_.certificate.upper = VerifiedUnaryUpper(model_, options_.temperature);
    Labeling best{ArgmaxLabels(y), 0.0};
    best.energy = model_.Energy(best.labels);
    std::vector<int> constant(unary.rows(), CheapestLabel(unary));
    const double energy = model_.Energy(constant);
    if (energy < best.energy) best = {std::move(constant), energy};
    TakeLabels(std::move(best));
    solved_.certificate.lower = Negated(*solved_.energy);
    solved_.marginals = std::move(y);
    solved_.termination = Termination::kTimeLimit;
    solved_.notes.emplace_back(
        "The time limit is too short for a solver's first bound: labels, marginals and bounds come "
        "from the unaries.");
  }

  void SolveByFlows(const FlowSolver& solver) {
    BoundOptions limits;
    Configure(costs_.flow_certificate + costs_.lower_certificate, &limits);
    limits.relative_gap = gap_;
    const double begin = clock_.Seconds();
    TakeFlows(solver(model_, limits), begin);
  }

  void SolveByTrw() {
    TrwOptions trw;
    Configure(costs_.forest_certificate + costs_.lower_certificate, &trw);
    trw.tolerance = gap_;
    trw.seed = options_.seed;
    trw.rho = options_.rho;
    trw.rho_steps = options_.rho_steps;
    const double begin = clock_.Seconds();
    TrwResult result = SolveTrw(model_, trw);
    Tell("certifying", Latest(result.upper));
    solved_.certificate.upper = VerifiedTrwUpper(model_, result.evidence, options_.temperature);
    solved_.termination = TrwTermination(result.termination);
    TakeRecords(result, begin, &solved_);
    LabelAndBoundBelow(std::move(result.marginals));
  }

  void SolveByHybrid() {
    const bool routed = options_.method == Method::kRouted;
    RoutedHybridOptions hybrid;
    Configure(
        (routed ? costs_.routed_certificate : costs_.forest_certificate) + costs_.lower_certificate,
        &hybrid);
    hybrid.relative_gap = gap_;
    hybrid.forest = Forest();
    const double begin = clock_.Seconds();
    HybridResult result = routed ? SolveRoutedHybrid(model_, hybrid) : SolveHybrid(model_, hybrid);
    Tell("certifying", Latest(result.upper));
    std::vector<WeightedBound> upper;
    for (const HybridPart& part : result.parts)
      upper.push_back({part.weight, VerifiedRoutedUpper(model_, part, options_.temperature)});
    solved_.certificate.upper = MeanOfUpper(upper);
    if (SecondsLeft() > costs_.hybrid_dual &&
        (!stopped_ || costs_.hybrid_dual < options_.interrupt_seconds)) {
      std::vector<WeightedBound> dual;
      for (const HybridPart& part : result.parts)
        dual.push_back({part.weight, VerifiedRoutedDual(model_, part, options_.temperature)});
      solved_.certificate.dual = MeanOfLower(dual);
    } else {
      solved_.notes.emplace_back("There was no time to certify the dual value.");
    }
    if (routed) SayWhatWasRouted(result.parts);
    solved_.termination = result.termination;
    TakeRecords(result, begin, &solved_);
    LabelAndBoundBelow(std::move(result.marginals));
  }

  void SolveByMeanField() {
    MeanFieldOptions mean_field;
    mean_field.max_iterations = max_iterations_;
    MeanFieldResult result = ImproveLower(std::move(mean_field));
    for (const MeanFieldRecord& record : result.records) {
      solved_.records.push_back(
          {record.k, record.seconds, std::nullopt, std::nullopt, record.lower});
    }
    bool converged = result.converged;
    if (options_.mean_field == MeanFieldKind::kForest) {
      ForestMeanFieldOptions forest;
      forest.max_iterations = max_iterations_;
      forest.tolerance = kMeanFieldTolerance;
      const double begin = clock_.Seconds();
      if (auto better = ImproveLowerByForest({result.marginals}, std::move(forest))) {
        for (const auto& record : better->records) {
          solved_.records.push_back({++result.iterations, begin + record.seconds, std::nullopt,
                                     std::nullopt, record.lower});
        }
        result.marginals = std::move(better->marginals);
        converged = better->converged;
      }
    }
    solved_.termination = converged              ? Termination::kConverged
                          : stopped_             ? Termination::kInterrupted
                          : SecondsLeft() <= 0.0 ? Termination::kTimeLimit
                                                 : Termination::kIterationLimit;
    TakeLabels(Rounded(result.marginals));
    solved_.marginals = std::move(result.marginals);
  }

 private:
  // Estimates may be wrong, or the machine busy: whether, without a first bound, the time limit has
  // been exceeded by so much that only the unaries' bound still fits.
  bool TooLate() const {
    constexpr double kShareOfOverrun = 0.5;
    return !has_bound_ && SecondsLeft() < -kShareOfOverrun * Overrun(options_.time_limit_seconds);
  }
  double SecondsLeft() const { return options_.time_limit_seconds - clock_.Seconds(); }
  // The time left for a solver if `reserve` seconds of work must follow it.
  double SecondsFor(double reserve) const { return std::max(0.0, SecondsLeft() - reserve); }

  bool Tell(std::string_view phase, const SolveRecord& record) {
    has_bound_ = true;
    phase_ = phase;
    latest_ = record;
    stopped_ = stopped_ || (watch_ && !watch_(phase, record));
    return !stopped_;
  }
  // Called within an iteration: passes the last record to the watch again.
  bool StopAsked() {
    stopped_ = stopped_ || (watch_ && !watch_(phase_, latest_));
    return stopped_;
  }

  template <class Options>
  void Configure(double reserve, Options* bound) {
    bound->temperature = options_.temperature;
    bound->max_iterations = max_iterations_;
    bound->time_limit_seconds = SecondsFor(reserve);
    const double begin = clock_.Seconds();
    bound->on_iteration = [this, begin](const IterationRecord& record) {
      const std::optional<double> dual =
          std::isfinite(record.dual) ? std::optional(record.dual) : std::nullopt;
      return Tell(ToString(options_.method),
                  {record.k, begin + record.seconds, record.upper, dual, std::nullopt});
    };
    bound->interrupted = [this] { return StopAsked(); };
  }

  // Takes what the flows of a solver prove, which started at time `begin`.
  void TakeFlows(BoundResult bound, double begin) {
    solved_.certificate.extension =
        options_.extension == ExtensionKind::kOptimal ? "optimal" : "alternate";
    Tell("certifying", Latest(bound.upper));
    solved_.certificate.upper =
        VerifiedUpper(model_, options_.extension, bound.flow, options_.temperature);
    solved_.certificate.dual =
        VerifiedDual(model_, options_.extension, bound.marginals, options_.temperature);
    solved_.termination = bound.termination;
    TakeRecords(bound, begin, &solved_);
    LabelAndBoundBelow(std::move(bound.marginals));
  }

  void SayWhatWasRouted(const std::vector<HybridPart>& parts) {
    double routed = 0.0;
    for (const HybridPart& part : parts) {
      for (const EdgeRoute& route : part.routes) routed += part.weight * 2.0 * route.amount;
    }
    double total = 0.0;
    for (const Edge& edge : model_.edges()) total += edge.weight;
    if (routed > 0.0) {
      solved_.notes.push_back(fmt::format("Of the edges' weight, {:.1f}% was routed to the forest.",
                                          100.0 * routed / total));
    } else if (TriangleFinder(model_).Any()) {
      solved_.notes.emplace_back("Routing does not pay here: the bound is that of hybrid.");
    } else if (HasTriangles(model_)) {
      solved_.notes.emplace_back(
          "Routing needs a triangle whose three edges have positive weight and the same metric, "
          "and the graph has none: the bound is that of hybrid.");
    } else {
      solved_.notes.emplace_back(
          "The graph has no triangles, so routing cannot gain: the bound is that of hybrid.");
    }
  }

  HybridForest Forest() const {
    if (options_.forest == HybridForest::kLookAlikes) {
      throw InvalidInput(
          "the forest look-alikes is for dense models; use best, rows, columns, average or "
          "spanning");
    }
    if (options_.forest) return *options_.forest;
    const auto grid = DetectGrid(Links(model_), model_.num_variables());
    return grid && grid->connectivity == 4 ? HybridForest::kBest : HybridForest::kSpanning;
  }

  // The best labeling found from the marginals of an upper bound, and the lower bound: T log Z_T >=
  // -E(x) for every labeling. Mean field started there, or at the marginals, only improves on it,
  // and so does mean field between trees started from that result.
  void LabelAndBoundBelow(Matrix<double> marginals) {
    TakeLabels(Rounded(marginals));
    solved_.certificate.lower = Negated(*solved_.energy);
    if (options_.temperature > 0.0 && options_.starts > 0 && !stopped_ &&
        SecondsLeft() > LeastSeconds(Method::kMeanField, size_)) {
      MeanFieldOptions mean_field;
      mean_field.extra_starts = {Indicator(solved_.labels, model_.unary().cols()), marginals};
      mean_field.max_iterations = kMeanFieldSweeps;
      mean_field.tolerance = kMeanFieldTolerance;
      MeanFieldResult lower = ImproveLower(std::move(mean_field));
      // Mean field's mode is often a better labeling than the rounded one.
      TakeModeIfBetter(lower.marginals);
      if (options_.mean_field.value_or(MeanFieldKind::kForest) == MeanFieldKind::kForest) {
        ForestMeanFieldOptions forest;
        forest.max_iterations = kMeanFieldSweeps;
        forest.tolerance = kMeanFieldTolerance;
        if (const auto better =
                ImproveLowerByForest({std::move(lower.marginals), marginals}, std::move(forest)))
          TakeModeIfBetter(better->marginals);
      }
    }
    solved_.marginals = std::move(marginals);
  }

  void TakeModeIfBetter(const Matrix<double>& marginals) {
    std::vector<int> labels = ArgmaxLabels(marginals);
    const double energy = model_.Energy(labels);
    if (energy < *solved_.energy) TakeLabels({std::move(labels), energy});
  }

  template <class Options>
  void ConfigureLower(std::string_view phase, double reserve, Options* mean_field) {
    mean_field->temperature = options_.temperature;
    mean_field->time_limit_seconds = SecondsFor(reserve);
    const double begin = clock_.Seconds();
    mean_field->on_iteration = [this, phase, begin](int k, double seconds, double lower) {
      std::optional<double> upper;
      if (solved_.certificate.upper) upper = *solved_.certificate.upper;
      return Tell(phase, {k, begin + seconds, upper, std::nullopt, lower});
    };
    mean_field->interrupted = [this] { return StopAsked(); };
  }

  MeanFieldResult ImproveLower(MeanFieldOptions mean_field) {
    ConfigureLower("mean field", costs_.lower_certificate, &mean_field);
    mean_field.starts = options_.starts;
    mean_field.seed = options_.seed;
    MeanFieldResult result = SolveMeanField(model_, mean_field);
    TakeLower(VerifiedLower(model_, result.marginals, options_.temperature));
    return result;
  }

  // None if there is nothing to gain, or no time for a sweep and its certificate.
  std::optional<ForestMeanFieldResult> ImproveLowerByForest(
      const std::vector<Matrix<double>>& starts, ForestMeanFieldOptions forest) {
    if (model_.num_edges() == 0 || stopped_ || IsClosed() ||
        SecondsLeft() < costs_.forest_sweep + costs_.forest_lower)
      return std::nullopt;
    ConfigureLower("forest mean field", costs_.forest_lower, &forest);
    ForestMeanFieldResult result = SolveForestMeanField(model_, starts, forest);
    if (!std::isfinite(result.lower)) return std::nullopt;
    TakeLower(VerifiedForestLower(model_, result.distribution, options_.temperature));
    return result;
  }

  // Whether no lower bound can be better by more than rounding.
  bool IsClosed() const {
    const Certificate& certificate = solved_.certificate;
    return certificate.upper && certificate.lower &&
           *certificate.upper - *certificate.lower <=
               kClosed * std::max(1.0, std::abs(certificate.upper->value()));
  }

  void TakeLower(const Bound& lower) {
    if (!solved_.certificate.lower || lower > *solved_.certificate.lower)
      solved_.certificate.lower = lower;
  }

  Labeling Rounded(const Matrix<double>& marginals) {
    return RoundMarginals(
        model_, marginals, options_.rounding_draws, options_.seed,
        StopCheck(SecondsFor(costs_.lower_certificate), [this] { return StopAsked(); }));
  }

  void TakeLabels(Labeling labeling) {
    solved_.energy = VerifiedEnergy(model_, labeling.labels);
    solved_.labels = std::move(labeling.labels);
  }

  SolveRecord Latest(double upper) const { return {-1, clock_.Seconds(), upper, {}, {}}; }

  const SparseCrf& model_;
  const SolveOptions& options_;
  const Stopwatch& clock_;
  const Watch& watch_;
  const SparseSize size_;
  const SparseCostEstimate costs_;
  const double gap_;
  const int max_iterations_;
  const std::function<bool()> too_late_ = [this] { return TooLate(); };
  bool has_bound_ = false;
  bool stopped_ = false;
  std::string phase_ = "preparing";
  SolveRecord latest_{.k = -1};
  SolveResult solved_;
};

}  // namespace

SolveResult SparseByFlows(const SolveTask<SparseCrf>& task, const FlowSolver& solver) {
  return SparseRun(task).Solve([&](SparseRun* run) { run->SolveByFlows(solver); });
}
SolveResult SparseByTrw(const SolveTask<SparseCrf>& task) {
  return SparseRun(task).Solve(&SparseRun::SolveByTrw);
}
SolveResult SparseByHybrid(const SolveTask<SparseCrf>& task) {
  return SparseRun(task).Solve(&SparseRun::SolveByHybrid);
}
SolveResult SparseByMeanField(const SolveTask<SparseCrf>& task) {
  return SparseRun(task).Solve(&SparseRun::SolveByMeanField);
}
SolveResult SparseByUnaries(const SolveTask<SparseCrf>& task) {
  return SparseRun(task).Solve(&SparseRun::BoundByUnaries);
}

// There is no mean field for tables, but every labeling gives a lower bound.
SolveResult TablesByTrw(const SolveTask<FactorGraph>& task) {
  const FactorGraph& graph = task.model;
  const SolveOptions& options = task.options;
  const Stopwatch& clock = task.clock;
  const Watch& watch = task.watch;
  TrwOptions trw;
  trw.temperature = options.temperature;
  trw.tolerance = options.relative_gap.value_or(DefaultGap(Method::kTrw, ModelKind::kTables));
  trw.max_iterations =
      options.max_iterations.value_or(DefaultIterations(Method::kTrw, ModelKind::kTables));
  const double begin = clock.Seconds();
  trw.time_limit_seconds =
      std::max(0.0, options.time_limit_seconds - begin - TableCertificateSeconds(graph));
  trw.seed = options.seed;
  trw.rho = options.rho;
  trw.rho_steps = options.rho_steps;
  trw.on_iteration = [&](const IterationRecord& record) {
    return !watch || watch("trw", {record.k, begin + record.seconds, record.upper, {}, {}});
  };
  trw.interrupted = [&] { return watch && !watch("trw", {.k = -1, .seconds = clock.Seconds()}); };
  const TrwResult result = SolveTrw(graph, trw);
  SolveResult solved;
  solved.method = Method::kTrw;
  solved.certificate.model = Describe(graph);
  solved.certificate.upper = VerifiedTrwUpper(graph, result.evidence, options.temperature);
  solved.termination = TrwTermination(result.termination);
  TakeRecords(result, begin, &solved);
  std::vector<std::vector<double>> rows;
  for (std::size_t a = 0; a < graph.cardinality.size(); ++a) {
    const auto row = result.marginals.row(a).first(static_cast<std::size_t>(graph.cardinality[a]));
    rows.emplace_back(row.begin(), row.end());
    solved.labels.push_back(
        static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  const Bound energy = VerifiedEnergy(graph, solved.labels);
  if (std::isfinite(energy.value())) {  // otherwise the labeling is forbidden and proves nothing
    solved.energy = energy;
    solved.certificate.lower = Negated(energy);
  }
  solved.marginals = ToMatrixIfEven(std::move(rows));
  return solved;
}

}  // namespace submarine::internal
