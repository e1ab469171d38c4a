#include "submarine/solve/sparse_solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"
#include "submarine/bound/verify/sparse/hybrid_dual.h"
#include "submarine/bound/verify/sparse/trw_verifier.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/model/forest.h"
#include "submarine/solve/limits.h"
#include "submarine/solve/times.h"
#include "submarine/solver/exact/exact.h"
#include "submarine/solver/flow/frank_wolfe.h"
#include "submarine/solver/flow/pdhg.h"
#include "submarine/solver/flow/rounding.h"
#include "submarine/solver/forest/forest_packing.h"
#include "submarine/solver/forest/hybrid.h"
#include "submarine/solver/forest/trw.h"
#include "submarine/solver/mean_field/mean_field.h"

namespace submarine::internal {
namespace {

MarginalRows ToMatrixIfEven(std::vector<std::vector<double>> rows) {
  for (const std::vector<double>& row : rows) {
    if (row.size() != rows.front().size()) return rows;
  }
  Matrix<double> matrix(rows.size(), rows.empty() ? 0 : rows.front().size());
  for (std::size_t a = 0; a < rows.size(); ++a)
    std::copy(rows[a].begin(), rows[a].end(), matrix.row(a).begin());
  return matrix;
}

// All mass on the labels of a labeling: as a start of mean field its value is minus the labeling's
// energy.
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

// "gap reached" would promise a certified gap, which TRW does not know.
Termination TrwTermination(Termination termination) {
  return termination == Termination::kGapReached ? Termination::kConverged : termination;
}

// One solve of a model with a submodular extension.
class SparseRun {
 public:
  SparseRun(const SparseCrf& model, const SolveOptions& options, const Stopwatch& clock,
            const Watch& watch)
      : model_(model),
        options_(options),
        clock_(clock),
        watch_(watch),
        size_(SizeOf(model, options.temperature)),
        costs_(SparseCosts(size_)),
        gap_(options.relative_gap.value_or(DefaultGap(options.method, ModelKind::kSparse))),
        max_iterations_(options.max_iterations.value_or(
            DefaultIterations(options.method, ModelKind::kSparse))) {}

  SolveResult Solve() {
    solved_.certificate.model = model_.Description();
    solved_.method = options_.method;
    switch (options_.method) {
      case Method::kAuto:
        BoundByUnaries();
        break;
      case Method::kMeanField:
        SolveByMeanField();
        break;
      case Method::kTrw:
        SolveByTrw();
        break;
      case Method::kHybrid:
        SolveByHybrid();
        break;
      default:
        SolveByBound();
    }
    if (solved_.termination == Termination::kGapReached && !KeepsGap(solved_.certificate, gap_)) {
      solved_.termination = Termination::kStalled;
      solved_.notes.emplace_back(
          "The gap was reached in the solver's own arithmetic; rounding leaves the certificate "
          "more.");
    }
    return std::move(solved_);
  }

 private:
  double SecondsLeft() const { return options_.time_limit_seconds - clock_.Seconds(); }
  // What is left for a solver when the given work still has to follow it.
  double SecondsFor(double reserve) const { return std::max(0.0, SecondsLeft() - reserve); }

  bool Tell(std::string_view phase, const SolveRecord& record) {
    phase_ = phase;
    latest_ = record;
    stopped_ = stopped_ || (watch_ && !watch_(phase, record));
    return !stopped_;
  }
  // Within an iteration: shows the last record again.
  bool Interrupted() {
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
    bound->interrupted = [this] { return Interrupted(); };
  }

  BoundResult SolveUpper() {
    const double reserve = costs_.flow_certificate + costs_.lower_certificate;
    if (options_.method == Method::kPdhg) {
      PdhgOptions pdhg;
      Configure(reserve, &pdhg);
      pdhg.relative_gap = gap_;
      if (options_.deterministic)
        pdhg.seconds_between_evaluations = std::numeric_limits<double>::infinity();
      return SolvePdhg(model_, pdhg);
    }
    FrankWolfeOptions frank_wolfe;
    Configure(reserve, &frank_wolfe);
    frank_wolfe.relative_gap = gap_;
    frank_wolfe.extension = options_.extension;
    frank_wolfe.step =
        options_.harmonic_steps ? FrankWolfeStep::kHarmonic : FrankWolfeStep::kLineSearch;
    return options_.method == Method::kFrankWolfe ? SolveFrankWolfe(model_, frank_wolfe)
                                                  : SolveBlockFrankWolfe(model_, frank_wolfe);
  }

  // What can be said at once.
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
        "The time limit is too short for a first bound by any solver here: labels, marginals and "
        "bounds are those of the unaries.");
  }

  void SolveByBound() {
    const double begin = clock_.Seconds();
    BoundResult bound = SolveUpper();
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
    HybridOptions hybrid;
    Configure(costs_.forest_certificate + costs_.lower_certificate, &hybrid);
    hybrid.relative_gap = gap_;
    hybrid.forest = Forest();
    const double begin = clock_.Seconds();
    HybridResult result = SolveHybrid(model_, hybrid);
    Tell("certifying", Latest(result.upper));
    std::vector<WeightedBound> upper;
    for (const HybridPart& part : result.parts) {
      upper.push_back(
          {part.weight, VerifiedHybridUpper(model_, part.forest, part.flow, options_.temperature)});
    }
    solved_.certificate.upper = MeanOfUpper(upper);
    if (SecondsLeft() > costs_.hybrid_dual) {
      std::vector<WeightedBound> dual;
      for (const HybridPart& part : result.parts) {
        dual.push_back({part.weight,
                        VerifiedHybridDual(model_, part.forest, part.costs, options_.temperature)});
      }
      solved_.certificate.dual = MeanOfLower(dual);
    } else {
      solved_.notes.emplace_back("There was no time to certify the dual value.");
    }
    solved_.termination = result.termination;
    TakeRecords(result, begin, &solved_);
    LabelAndBoundBelow(std::move(result.marginals));
  }

  HybridForest Forest() const {
    if (options_.forest) return *options_.forest;
    const auto grid = DetectGrid(Links(model_), model_.num_variables());
    return grid && grid->connectivity == 4 ? HybridForest::kBest : HybridForest::kSpanning;
  }

  void SolveByMeanField() {
    MeanFieldOptions mean_field;
    mean_field.max_iterations = max_iterations_;
    MeanFieldResult result = ImproveLower(std::move(mean_field));
    solved_.termination = result.converged       ? Termination::kConverged
                          : stopped_             ? Termination::kInterrupted
                          : SecondsLeft() <= 0.0 ? Termination::kTimeLimit
                                                 : Termination::kIterationLimit;
    for (const MeanFieldRecord& record : result.records) {
      solved_.records.push_back(
          {record.k, record.seconds, std::nullopt, std::nullopt, record.lower});
    }
    TakeLabels(Rounded(result.marginals));
    solved_.marginals = std::move(result.marginals);
  }

  // The best labeling found from the marginals of an upper bound, and the lower bound:
  // T log Z_T >= -E(x) for every labeling; mean field started there, or at the marginals, only
  // improves on it.
  void LabelAndBoundBelow(Matrix<double> marginals) {
    TakeLabels(Rounded(marginals));
    solved_.certificate.lower = Negated(*solved_.energy);
    if (options_.temperature > 0.0 && !stopped_ &&
        SecondsLeft() > LeastSeconds(Method::kMeanField, size_)) {
      MeanFieldOptions mean_field;
      mean_field.extra_starts = {Indicator(solved_.labels, model_.unary().cols()), marginals};
      mean_field.max_iterations = 200;
      mean_field.tolerance = 1e-6;
      const MeanFieldResult lower = ImproveLower(std::move(mean_field));
      // Mean field's mode is often a better labeling than the rounded one.
      std::vector<int> labels = ArgmaxLabels(lower.marginals);
      const double energy = model_.Energy(labels);
      if (energy < *solved_.energy) TakeLabels({std::move(labels), energy});
    }
    solved_.marginals = std::move(marginals);
  }

  MeanFieldResult ImproveLower(MeanFieldOptions mean_field) {
    const double begin = clock_.Seconds();
    mean_field.temperature = options_.temperature;
    mean_field.starts = options_.starts;
    mean_field.seed = options_.seed;
    mean_field.time_limit_seconds = SecondsFor(costs_.lower_certificate);
    mean_field.on_iteration = [&](int k, double seconds, double lower) {
      std::optional<double> upper;
      if (solved_.certificate.upper) upper = *solved_.certificate.upper;
      return Tell("mean field", {k, begin + seconds, upper, std::nullopt, lower});
    };
    mean_field.interrupted = [this] { return Interrupted(); };
    MeanFieldResult result = SolveMeanField(model_, mean_field);
    const Bound lower = VerifiedLower(model_, result.marginals, options_.temperature);
    if (!solved_.certificate.lower || lower > *solved_.certificate.lower)
      solved_.certificate.lower = lower;
    return result;
  }

  Labeling Rounded(const Matrix<double>& marginals) {
    return RoundMarginals(
        model_, marginals, options_.rounding_draws, options_.seed,
        StopCheck(SecondsFor(costs_.lower_certificate), [this] { return Interrupted(); }));
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
  bool stopped_ = false;
  std::string phase_ = "preparing";
  SolveRecord latest_{.k = -1};
  SolveResult solved_;
};

template <class Model>
SolveResult Eliminate(const Model& model, std::string description, const SolveOptions& options,
                      const Stopwatch& clock, const Watch& watch) {
  ExactOptions exact;
  exact.temperature = options.temperature;
  exact.max_bytes = static_cast<std::int64_t>(options.max_bytes);
  exact.time_limit_seconds = std::max(0.0, options.time_limit_seconds - clock.Seconds());
  exact.interrupted = [&] {
    return watch && !watch("exact inference", {.k = -1, .seconds = clock.Seconds()});
  };
  ExactResult result = SolveExact(model, exact);
  SolveResult solved;
  solved.method = Method::kExact;
  solved.termination = Termination::kExact;
  solved.certificate.model = std::move(description);
  const auto [lower, upper] = ExactBounds(result.log_partition, result.error);
  solved.certificate.lower = lower;
  solved.certificate.upper = upper;
  solved.energy = VerifiedEnergy(model, result.map_labeling);
  solved.labels = std::move(result.map_labeling);
  solved.marginals = ToMatrixIfEven(std::move(result.marginals));
  return solved;
}

}  // namespace

std::string Describe(const FactorGraph& graph) {
  return fmt::format("factor graph with {} variables and {} factors", graph.cardinality.size(),
                     graph.factors.size());
}

SolveResult SolveSparse(const SparseCrf& model, double defect, const SolveOptions& options,
                        const Stopwatch& clock, const Watch& watch) {
  SolveResult solved = SparseRun(model, options, clock, watch).Solve();
  Certificate& certificate = solved.certificate;
  certificate.defect = defect;
  if (certificate.upper) certificate.upper = Raised(*certificate.upper, defect);
  if (certificate.lower) certificate.lower = Lowered(*certificate.lower, defect);
  if (solved.energy) solved.energy = Raised(*solved.energy, defect);
  return solved;
}

// There is no mean field for tables, but every labeling bounds from below.
SolveResult SolveTablesByTrw(const FactorGraph& graph, const SolveOptions& options,
                             const Stopwatch& clock, const Watch& watch) {
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
  if (std::isfinite(energy.value())) {  // else the labeling is impossible and says nothing
    solved.energy = energy;
    solved.certificate.lower = Negated(energy);
  }
  solved.marginals = ToMatrixIfEven(std::move(rows));
  return solved;
}

SolveResult SolveByElimination(const FactorGraph& graph, std::string description,
                               const SolveOptions& options, const Stopwatch& clock,
                               const Watch& watch) {
  return Eliminate(graph, std::move(description), options, clock, watch);
}

SolveResult SolveByElimination(const SparseCrf& model, std::string description,
                               const SolveOptions& options, const Stopwatch& clock,
                               const Watch& watch) {
  return Eliminate(model, std::move(description), options, clock, watch);
}

}  // namespace submarine::internal
