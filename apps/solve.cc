#include "apps/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/trw_verifier.h"
#include "submarine/bound/verifier.h"
#include "submarine/dense/normalisation.h"
#include "submarine/model/forest.h"
#include "submarine/model/recognise.h"
#include "submarine/solver/exact.h"
#include "submarine/solver/forest_packing.h"
#include "submarine/solver/frank_wolfe.h"
#include "submarine/solver/mean_field.h"
#include "submarine/solver/pdhg.h"
#include "submarine/solver/rounding.h"
#include "submarine/solver/trw.h"

namespace submarine::apps {
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

std::string Describe(const FactorGraph& graph) {
  return fmt::format("factor graph with {} variables and {} factors", graph.cardinality.size(),
                     graph.factors.size());
}

// Tables of a bundle's edges exist only once they are built, so what they take is checked before.
void CheckTableMemory(const SparseCrf& model, std::int64_t max_bytes) {
  const double labels = model.num_labels();
  const double bytes = 8.0 * labels * labels * static_cast<double>(model.num_edges());
  if (bytes > static_cast<double>(max_bytes)) {
    throw TooLarge(fmt::format(
        "exact inference needs {:.3g} GB of memory for the pair tables alone, more than the limit "
        "of {:.3g} GB",
        bytes / 1e9, static_cast<double>(max_bytes) / 1e9));
  }
}

SolveOutcome SolveExactly(ModelInput input, const SolveOptions& options) {
  if (input.crf) CheckTableMemory(*input.crf, options.max_exact_bytes);
  std::string description = input.crf ? input.crf->Description() : Describe(*input.graph);
  const FactorGraph graph = ToTables(std::move(input));
  ExactOptions exact;
  exact.temperature = options.temperature;
  exact.max_bytes = options.max_exact_bytes;
  ExactResult result = SolveExact(graph, exact);
  SolveOutcome outcome;
  outcome.certificate.model = std::move(description);
  outcome.certificate.lower = outcome.certificate.upper = result.log_partition;
  outcome.termination = "exact";
  outcome.energy = Energy(graph, result.map_labeling);
  outcome.labels = std::move(result.map_labeling);
  outcome.marginals = ToMatrixIfEven(std::move(result.marginals));
  return outcome;
}

// Every pair is an edge, so that elimination meets one table over all variables. Beyond 64 of them it
// has more than 2^64 entries, and building the pairs first would be in vain.
void CheckTableOfAll(const DenseCrf& model, std::int64_t max_bytes) {
  constexpr std::size_t kMostVariables = 64;
  if (model.num_variables() <= kMostVariables) return;
  const double digits = std::log10(8.0) + static_cast<double>(model.num_variables()) *
                                              std::log10(static_cast<double>(model.num_labels()));
  throw TooLarge(fmt::format(
      "exact inference needs about 10^{:.0f} GB of memory for a table over all {} fully connected "
      "variables, more than the limit of {:.3g} GB",
      digits - 9.0, model.num_variables(), static_cast<double>(max_bytes) / 1e9));
}

SolveOutcome SolveDenseExactly(ModelInput input, const SolveOptions& options) {
  CheckTableOfAll(*input.dense, options.max_exact_bytes);
  const DenseCrf model =
      WithNormalisation(std::move(*input.dense), {.source = RowSumSource::kExact});
  ModelInput sparse;
  sparse.crf = ToSparseCrf(model);
  SolveOutcome outcome = SolveExactly(std::move(sparse), options);
  outcome.certificate.model = model.Description() + ", exact Gaussians";
  const auto& y = std::get<Matrix<double>>(outcome.marginals);
  Matrix<float> rounded(y.rows(), y.cols());
  std::transform(y.data(), y.data() + y.size(), rounded.data(),
                 [](double p) { return static_cast<float>(p); });
  outcome.marginals = std::move(rounded);
  return outcome;
}

DenseMethod ToDenseMethod(Method method) {
  switch (method) {
    case Method::kAuto:
      return DenseMethod::kAuto;
    case Method::kPdhg:
      return DenseMethod::kPdhg;
    case Method::kQuadratic:
      return DenseMethod::kQuadratic;
    case Method::kFrankWolfe:
      return DenseMethod::kFrankWolfe;
    case Method::kMeanField:
      return DenseMethod::kMeanField;
    default:
      throw InvalidInput(
          fmt::format("the method {} is not for dense models; use auto, pdhg, quadratic, fw, mf or "
                      "exact",
                      ToString(method)));
  }
}

SolveOutcome SolveDenseModel(ModelInput input, const SolveOptions& options, const Stopwatch& clock,
                             const Watch& watch) {
  DenseSolveOptions dense;
  dense.method = ToDenseMethod(options.method);
  dense.step = options.harmonic_steps ? FrankWolfeStep::kHarmonic : FrankWolfeStep::kLineSearch;
  dense.relative_gap = options.relative_gap;
  dense.max_iterations = options.max_iterations;
  dense.pairs = options.pairs;
  dense.certify = options.certify;
  dense.marginals = options.marginals;
  const DenseCrf& model = *input.dense;
  const double begin = clock.Seconds();
  dense.time_limit_seconds = std::max(0.0, options.time_limit_seconds - begin);
  DenseOutcome result = SolveDense(model, dense, [&](std::string_view phase, SolveRecord record) {
    record.seconds += begin;
    return watch(phase, record);
  });
  for (SolveRecord& record : result.records) record.seconds += begin;
  SolveOutcome outcome;
  outcome.certificate = std::move(result.certificate);
  outcome.termination = std::move(result.termination);
  outcome.pairs = std::move(result.pairs);
  outcome.marginals = std::move(result.marginals);
  outcome.labels = std::move(result.labels);
  outcome.energy = result.energy;
  outcome.records = std::move(result.records);
  return outcome;
}

// Mean field from the given starts as well as from its own; sets the lower bound to what the
// verifier finds.
MeanFieldResult ImproveLower(const SparseCrf& model, const SolveOptions& options,
                             MeanFieldOptions mean_field, const Stopwatch& clock,
                             const Watch& watch, SolveOutcome* outcome) {
  const double begin = clock.Seconds();
  mean_field.temperature = options.temperature;
  mean_field.seed = options.seed;
  mean_field.time_limit_seconds = std::max(0.0, options.time_limit_seconds - begin);
  std::optional<double> upper = outcome->certificate.upper;
  mean_field.on_iteration = [&](int k, double seconds, double lower) {
    return watch("mean field", {k, begin + seconds, upper, std::nullopt, lower});
  };
  MeanFieldResult result = SolveMeanField(model, mean_field);
  outcome->certificate.lower = result.lower;  // which is the verifier's value
  return result;
}

SolveOutcome SolveByMeanField(const SparseCrf& model, const SolveOptions& options,
                              const Stopwatch& clock, const Watch& watch) {
  SolveOutcome outcome;
  outcome.certificate.model = model.Description();
  MeanFieldOptions mean_field;
  mean_field.starts = options.starts;
  mean_field.max_iterations = options.max_iterations;
  MeanFieldResult result = ImproveLower(model, options, mean_field, clock, watch, &outcome);
  outcome.termination = result.converged ? "converged" : "stopped before convergence";
  for (const MeanFieldRecord& record : result.records) {
    outcome.records.push_back({record.k, record.seconds, std::nullopt, std::nullopt, record.lower});
  }
  Labeling labeling = RoundMarginals(model, result.marginals, options.rounding_draws, options.seed);
  outcome.energy = labeling.energy;
  outcome.labels = std::move(labeling.labels);
  outcome.marginals = std::move(result.marginals);
  return outcome;
}

// The best labeling found from the marginals of an upper bound, and the lower bound.
void LabelAndBoundBelow(const SparseCrf& model, const Matrix<double>& marginals,
                        const SolveOptions& options, const Stopwatch& clock, const Watch& watch,
                        SolveOutcome* outcome) {
  Labeling labeling = RoundMarginals(model, marginals, options.rounding_draws, options.seed);
  outcome->energy = labeling.energy;
  outcome->labels = std::move(labeling.labels);

  // T log Z_T >= -E(x) for every labeling; mean field started there, or at the marginals, only
  // improves on it.
  if (options.temperature == 0.0) {
    outcome->certificate.lower = -*outcome->energy;
  } else {
    MeanFieldOptions mean_field;
    mean_field.extra_starts = {Indicator(outcome->labels, model.unary().cols()), marginals};
    mean_field.starts = options.starts;
    mean_field.max_iterations = 200;
    mean_field.tolerance = 1e-6;
    const MeanFieldResult lower = ImproveLower(model, options, mean_field, clock, watch, outcome);
    // Mean field's mode is often a better labeling than the rounded one.
    std::vector<int> labels = ArgmaxLabels(lower.marginals);
    const double energy = model.Energy(labels);
    if (energy < *outcome->energy) {
      outcome->energy = energy;
      outcome->labels = std::move(labels);
    }
  }
}

// `options` and `watch` must outlive the solve.
void ConfigureBound(const SolveOptions& options, const Watch& watch, BoundOptions* bound) {
  bound->temperature = options.temperature;
  bound->relative_gap = options.relative_gap;
  bound->max_iterations = options.max_iterations;
  bound->time_limit_seconds = options.time_limit_seconds;
  bound->on_iteration = [&](const IterationRecord& record) {
    return watch(ToString(options.method),
                 {record.k, record.seconds, record.upper, record.dual, std::nullopt});
  };
}

BoundResult SolveUpper(const SparseCrf& model, const SolveOptions& options, const Watch& watch) {
  if (options.method == Method::kQuadratic) {
    throw InvalidInput(
        "the method quadratic is for dense models; use auto, pdhg, fw, bcfw, trw, hybrid, mf or "
        "exact");
  }
  if (options.method == Method::kAuto || options.method == Method::kPdhg) {
    if (options.extension == ExtensionKind::kAlternate) {
      throw InvalidInput(
          "the alternate extension goes with the methods fw and bcfw, not with pdhg");
    }
    PdhgOptions pdhg;
    ConfigureBound(options, watch, &pdhg);
    if (options.deterministic)
      pdhg.seconds_between_evaluations = std::numeric_limits<double>::infinity();
    return SolvePdhg(model, pdhg);
  }
  FrankWolfeOptions frank_wolfe;
  ConfigureBound(options, watch, &frank_wolfe);
  frank_wolfe.extension = options.extension;
  frank_wolfe.step =
      options.harmonic_steps ? FrankWolfeStep::kHarmonic : FrankWolfeStep::kLineSearch;
  return options.method == Method::kFrankWolfe ? SolveFrankWolfe(model, frank_wolfe)
                                               : SolveBlockFrankWolfe(model, frank_wolfe);
}

SolveOutcome SolveByBound(const SparseCrf& model, const SolveOptions& options,
                          const Stopwatch& clock, const Watch& watch) {
  BoundResult bound = SolveUpper(model, options, watch);
  SolveOutcome outcome;
  outcome.certificate.model = model.Description();
  outcome.certificate.extension =
      options.extension == ExtensionKind::kOptimal ? "optimal" : "alternate";
  outcome.certificate.upper =
      VerifiedUpper(model, options.extension, bound.flow, options.temperature);
  outcome.certificate.dual =
      VerifiedDual(model, options.extension, bound.marginals, options.temperature);
  outcome.termination = submarine::ToString(bound.termination);
  for (const IterationRecord& record : bound.records) {
    outcome.records.push_back({record.k, record.seconds, record.upper, record.dual, std::nullopt});
  }
  LabelAndBoundBelow(model, bound.marginals, options, clock, watch, &outcome);
  outcome.marginals = std::move(bound.marginals);
  return outcome;
}

// "gap reached" would promise a certified gap, which TRW does not know.
std::string TrwTermination(Termination termination) {
  return termination == Termination::kGapReached ? "converged"
                                                 : std::string(submarine::ToString(termination));
}

TrwOptions ConfigureTrw(const SolveOptions& options, const Watch& watch) {
  TrwOptions trw;
  trw.temperature = options.temperature;
  trw.tolerance = options.relative_gap;
  trw.max_iterations = options.max_iterations;
  trw.time_limit_seconds = options.time_limit_seconds;
  trw.seed = options.seed;
  trw.rho = options.rho;
  trw.rho_steps = options.rho_steps;
  trw.on_iteration = [&](const IterationRecord& record) {
    return watch(ToString(options.method),
                 {record.k, record.seconds, record.upper, std::nullopt, std::nullopt});
  };
  return trw;
}

template <class Result>
void TakeRecords(const Result& result, SolveOutcome* outcome) {
  for (const IterationRecord& record : result.records) {
    const std::optional<double> dual =
        std::isfinite(record.dual) ? std::optional(record.dual) : std::nullopt;
    outcome->records.push_back({record.k, record.seconds, record.upper, dual, std::nullopt});
  }
}

// Tables without a submodular extension, such as spin glasses: there is no mean field for them, but
// every labeling bounds from below.
SolveOutcome SolveTablesByTrw(const FactorGraph& graph, const SolveOptions& options,
                              const Watch& watch) {
  const TrwResult trw = SolveTrw(graph, ConfigureTrw(options, watch));
  SolveOutcome outcome;
  outcome.certificate.model = Describe(graph);
  outcome.certificate.upper = VerifiedTrwUpper(graph, trw.evidence, options.temperature);
  outcome.termination = TrwTermination(trw.termination);
  TakeRecords(trw, &outcome);
  std::vector<std::vector<double>> rows;
  for (std::size_t a = 0; a < graph.cardinality.size(); ++a) {
    const auto row = trw.marginals.row(a).first(static_cast<std::size_t>(graph.cardinality[a]));
    rows.emplace_back(row.begin(), row.end());
    outcome.labels.push_back(
        static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  const double energy = Energy(graph, outcome.labels);
  if (std::isfinite(energy)) {  // else the labeling is impossible and says nothing
    outcome.energy = energy;
    outcome.certificate.lower = -energy;
  }
  outcome.marginals = ToMatrixIfEven(std::move(rows));
  return outcome;
}

SolveOutcome SolveByTrw(ModelInput input, const SolveOptions& options, const Stopwatch& clock,
                        const Watch& watch) {
  std::optional<SparseCrf> model = std::move(input.crf);
  if (!model) {
    try {
      model = RecogniseSparseCrf(*input.graph);
    } catch (const NotExpressible&) {
      return SolveTablesByTrw(*input.graph, options, watch);
    }
  }
  TrwResult trw = SolveTrw(*model, ConfigureTrw(options, watch));
  SolveOutcome outcome;
  outcome.certificate.model = model->Description();
  outcome.certificate.upper = VerifiedTrwUpper(*model, trw.evidence, options.temperature);
  outcome.termination = TrwTermination(trw.termination);
  TakeRecords(trw, &outcome);
  LabelAndBoundBelow(*model, trw.marginals, options, clock, watch, &outcome);
  outcome.marginals = std::move(trw.marginals);
  return outcome;
}

HybridForest ForestFor(const SparseCrf& model, const SolveOptions& options) {
  if (options.forest) return *options.forest;
  const auto grid = DetectGrid(Links(model), model.num_variables());
  return grid && grid->connectivity == 4 ? HybridForest::kBest : HybridForest::kSpanning;
}

SolveOutcome SolveByHybrid(const SparseCrf& model, const SolveOptions& options,
                           const Stopwatch& clock, const Watch& watch) {
  HybridOptions hybrid;
  ConfigureBound(options, watch, &hybrid);
  hybrid.forest = ForestFor(model, options);
  HybridResult result = SolveHybrid(model, hybrid);
  SolveOutcome outcome;
  outcome.certificate.model = model.Description();
  double upper = 0.0;
  for (const HybridPart& part : result.parts) {
    upper += part.weight * VerifiedHybridUpper(model, part.forest, part.flow, options.temperature);
  }
  outcome.certificate.upper = upper;
  outcome.certificate.dual = result.dual;
  outcome.termination = submarine::ToString(result.termination);
  TakeRecords(result, &outcome);
  LabelAndBoundBelow(model, result.marginals, options, clock, watch, &outcome);
  outcome.marginals = std::move(result.marginals);
  return outcome;
}

}  // namespace

std::string_view ToString(Method method) {
  switch (method) {
    case Method::kAuto:
      return "auto";
    case Method::kPdhg:
      return "pdhg";
    case Method::kQuadratic:
      return "quadratic";
    case Method::kFrankWolfe:
      return "fw";
    case Method::kBlockFrankWolfe:
      return "bcfw";
    case Method::kTrw:
      return "trw";
    case Method::kHybrid:
      return "hybrid";
    case Method::kMeanField:
      return "mf";
    case Method::kExact:
      return "exact";
  }
  return "unknown";
}

SolveOutcome Solve(ModelInput input, const SolveOptions& options, const Watch& watch) {
  const Stopwatch clock;
  const auto run = [&] {
    if (input.dense) {
      return options.method == Method::kExact
                 ? SolveDenseExactly(std::move(input), options)
                 : SolveDenseModel(std::move(input), options, clock, watch);
    }
    if (options.method == Method::kExact) return SolveExactly(std::move(input), options);
    if (options.method == Method::kTrw) return SolveByTrw(std::move(input), options, clock, watch);
    const SparseCrf model = ToSparseCrf(std::move(input));
    if (options.method == Method::kHybrid) return SolveByHybrid(model, options, clock, watch);
    if (options.method == Method::kMeanField) return SolveByMeanField(model, options, clock, watch);
    return SolveByBound(model, options, clock, watch);
  };
  SolveOutcome outcome = run();
  outcome.certificate.temperature = options.temperature;
  outcome.seconds = clock.Seconds();
  return outcome;
}

}  // namespace submarine::apps
