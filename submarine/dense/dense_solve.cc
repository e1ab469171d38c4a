#include "submarine/dense/dense_solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/operator_verifier.h"
#include "submarine/dense/dense_frank_wolfe.h"
#include "submarine/dense/dense_mean_field.h"
#include "submarine/dense/dense_pdhg.h"
#include "submarine/dense/normalisation.h"
#include "submarine/dense/quadratic.h"

namespace submarine {
namespace {

// Enumerating pairs costs about this per pair and cut on two cores; kAuto accepts a minute of it.
constexpr double kSecondsPerPairAndCut = 2e-9;
constexpr double kPatienceSeconds = 60.0;

// A convex combination of so many potentials may prove the upper bound: the verifier's time grows
// with them.
constexpr std::size_t kMaxHullTerms = 3;

// The proof of a Frank-Wolfe bound is all its steps, and checking one through a lattice takes several
// times as long as making it: up to the published number of steps within this memory they are kept.
constexpr int kMaxCheckedSteps = 20;
constexpr double kMaxCheckedBytes = 1e9;

// The certificate counts the pairs that the lists leave out; solving to less than the gap asked for
// makes room for them. At the default cutoff they cost some 0.3% of the bound.
constexpr double kShareForSolver = 0.5;
constexpr double kRoomForFarPairs = 0.004;

// What bounding far pairs in groups may cost the certificate, relative to the gap asked for and at most.
constexpr double kShareForGroups = 1.0 / 50.0;
constexpr double kMaxFarTolerance = 1e-3;

// A lower bound that is better than the labels' by less than this share of the gap asked for is left.
constexpr double kWorthVerifying = 1.0 / 20.0;

// What an iteration of mean field, or one more potential in a proof, must gain relative to the gap asked
// for.
constexpr double kWorthwhileGain = 1.0 / 25.0;

// `auto` begins on a sample of the pairs, with so many neighbours of a variable on average. Fewer, and
// its state takes longer to settle on all pairs; more, and the marginals are no longer what an iteration
// spends its time on. Gaps on a sample are those on all pairs but for its noise, which is of this size.
constexpr double kSampleNeighbours = 96.0;
constexpr double kGapOfSample = 0.03;
// Before, so many iterations on all pairs prove something at once; later, it looks at them after so many
// on the sample, then after twice as many.
constexpr int kIterationsBeforeSample = 3;
constexpr int kFirstLook = 64;
// What a sample has made of single variables is mended soonest with the balance of so early an iteration.
constexpr int kBalanceAfterSample = 10;

// Then it doubles its iterations from stage to stage, the gap should halve about. Where it falls by less
// than a tenth, more stages will not reach it, either.
constexpr int kFirstStage = 64;
constexpr double kStallRatio = 0.9;

// Mean field closes the last half of the gap faster than PDHG: it is called as soon as so much is left,
// and at the end of a stage; unless the labels are worse than the dual value by more than this share of it,
// which mean field does not make up for.
constexpr double kCallMeanField = 2.0;
constexpr double kMeanFieldReach = 0.02;

std::optional<double> Finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// One run: the pieces that the phases share.
class Run {
 public:
  Run(const DenseCrf& model, const DenseSolveOptions& options, const DenseWatch& watch)
      : model_(model),
        options_(options),
        watch_(watch),
        pairs_(BuildPairs()),
        problem_(model, *pairs_.op) {}

  DenseOutcome Solve() {
    if (options_.method == DenseMethod::kMeanField) {
      KeepLower(MeanFieldFrom({}, options_.max_iterations, 1e-6));
      outcome_.termination = mean_field_converged_ ? "converged" : "stopped before convergence";
    } else {
      BoundFromAbove();
    }
    Certify();
    outcome_.pairs = pairs_.op->Description();
    outcome_.seconds = clock_.Seconds();
    return std::move(outcome_);
  }

 private:
  // For the initialisation of pairs_: uses what stands before it only.
  ChosenOperator BuildPairs() {
    if (watch_) stopped_ = !watch_("preparing pairs", {.k = -1});
    const bool flows =
        options_.method != DenseMethod::kMeanField && options_.method != DenseMethod::kQuadratic;
    return MakeOperator(model_.num_variables(), PairWeights(model_),
                        {static_cast<std::size_t>(model_.num_labels()), flows}, options_.pairs);
  }

  double SecondsLeft() const { return options_.time_limit_seconds - clock_.Seconds(); }
  bool Stopped() const { return stopped_ || SecondsLeft() <= 0.0; }

  // Options of an upper solver that ends when the gap is reached with what mean field has proven, too.
  template <class Options>
  Options Configure(std::string_view phase, int iterations) {
    Options solver;
    solver.relative_gap = StopGap();
    solver.max_iterations = iterations;
    solver.time_limit_seconds = std::max(0.0, SecondsLeft());
    const double begin = clock_.Seconds();
    const int before = iterations_;
    solver.on_iteration = [this, phase, begin, before](const IterationRecord& record) {
      const double upper = std::min(record.upper, bound_.upper);
      const double dual = std::max({record.dual, bound_.dual, lower_});
      const bool go_on = Tell(phase, {before + record.k, begin + record.seconds, Finite(upper),
                                      Finite(dual), Finite(lower_)});
      return go_on && RelativeGap(upper, dual) > StopGap();
    };
    return solver;
  }

  bool Tell(std::string_view phase, const DenseRecord& record) {
    outcome_.records.push_back(record);
    stopped_ = stopped_ || (watch_ && !watch_(phase, record));
    return !stopped_;
  }

  // Keeps the better of what was proven before and now.
  void Take(DenseResult result) {
    iterations_ += result.iterations;
    // Interrupted by whom? Unless by the user, because the gap is reached with what was known before.
    const bool reached = result.termination == Termination::kInterrupted && !stopped_;
    outcome_.termination = ToString(reached ? Termination::kGapReached : result.termination);
    TakeUpper(&result);
    if (result.dual > bound_.dual) {
      bound_.dual = result.dual;
      bound_.dual_point = std::move(result.dual_point);
    }
    if (result.energy < bound_.energy) {
      bound_.energy = result.energy;
      bound_.labels = std::move(result.labels);
    }
    bound_.marginals = std::move(result.marginals);
    bound_.state = std::move(result.state);
    polished_ = false;
  }

  // The best point on the segment between what was known and what is new, with its proof.
  void TakeUpper(DenseResult* result) {
    // Between bounds far apart there is nothing to find, and every term of a proof takes time to verify.
    const double least = std::min(bound_.upper, result->upper);
    const double share = TargetGap() * std::max(1.0, std::abs(least));
    const bool near = std::abs(bound_.upper - result->upper) <= share;
    if (near && bound_.proof.size() + result->proof.size() <= kMaxHullTerms) {
      const double t = BestOnSegment(bound_.modular, result->modular);
      Matrix<float> s = bound_.modular;
      for (std::size_t j = 0; j < s.size(); ++j)
        s.data()[j] += static_cast<float>(t) * (result->modular.data()[j] - s.data()[j]);
      const double upper = problem_.Upper(s);
      if (upper < least - kWorthwhileGain * share) {
        for (FlowTerm& term : bound_.proof) term.share *= 1.0 - t;
        for (FlowTerm& term : result->proof) {
          term.share *= t;
          bound_.proof.push_back(std::move(term));
        }
        bound_.upper = upper;
        bound_.modular = std::move(s);
        return;
      }
    }
    if (result->upper < bound_.upper) {
      bound_.upper = result->upper;
      bound_.proof = std::move(result->proof);
      bound_.modular = std::move(result->modular);
    }
  }

  // Only `auto` aims at the gap of the certificate; the others stop at their own.
  double TargetGap() {
    const bool far_pairs = options_.method == DenseMethod::kAuto && CertifiesExactly();
    const double gap = options_.relative_gap;
    return far_pairs ? std::max(kShareForSolver * gap, gap - kRoomForFarPairs) : gap;
  }

  // Where a solver of the upper bound stops.
  double StopGap() { return (calls_mean_field_ ? kCallMeanField : 1.0) * TargetGap(); }

  double Gap() const { return RelativeGap(bound_.upper, std::max(bound_.dual, lower_)); }

  void BoundFromAbove() {
    switch (options_.method) {
      case DenseMethod::kFrankWolfe: {
        auto solver = Configure<DenseFrankWolfeOptions>("fw", options_.max_iterations);
        solver.step = options_.step;
        solver.keep_proof = has_proof_ = CertifiesExactly() || ChecksSteps();
        Take(SolveFrankWolfe(problem_, solver));
        break;
      }
      case DenseMethod::kQuadratic:
        Take(SolveQuadratic(problem_,
                            Configure<QuadraticOptions>("quadratic", options_.max_iterations)));
        break;
      case DenseMethod::kPdhg:
        Take(SolvePdhg(problem_, Configure<DensePdhgOptions>("pdhg", options_.max_iterations)));
        break;
      default:
        Chain();
        return;
    }
    PolishLower();
  }

  // `auto`: cheap flows first, then PDHG and mean field in turn. Mean field's value is also a dual
  // value, and a better one than PDHG's own marginals have before they are very accurate.
  void Chain() {
    if (!pairs_.exact) {
      Take(SolveQuadratic(problem_,
                          Configure<QuadraticOptions>("quadratic", options_.max_iterations)));
    }
    SolveSample();
    int stage = kFirstStage;
    bool stalled = false;
    calls_mean_field_ = true;
    const auto unfinished = [&] {
      return !stalled && Gap() > TargetGap() && iterations_ < options_.max_iterations && !Stopped();
    };
    // Something is proven even where there is no time for anything.
    while (!std::isfinite(bound_.upper) || unfinished()) {
      const double gap_before = Gap();
      SolvePairs(stage);
      if (!Stopped() && Gap() <= kCallMeanField * TargetGap()) {
        calls_mean_field_ = false;
        if (MeanFieldMayHelp()) PolishLower();
      }
      stalled = stage > kFirstStage && Gap() > kStallRatio * gap_before;
      stage *= 2;
    }
    if (!polished_) PolishLower();
    // The stages end by iterations of their own, and mean field may have been the last to run.
    outcome_.termination = ToString(Gap() <= TargetGap()   ? Termination::kGapReached
                                    : stopped_             ? Termination::kInterrupted
                                    : SecondsLeft() <= 0.0 ? Termination::kTimeLimit
                                    : stalled              ? Termination::kStalled
                                                           : Termination::kIterationLimit);
  }

  bool MeanFieldMayHelp() const {
    return -bound_.energy >= bound_.dual - kMeanFieldReach * std::abs(bound_.dual);
  }

  void SolvePairs(int iterations) {
    auto solver = Configure<DensePdhgOptions>(
        "pdhg", std::clamp(options_.max_iterations - iterations_, 1, iterations));
    solver.start = std::move(bound_.state);
    Take(SolvePdhg(problem_, solver));
  }

  // Iterations on a sample of the pairs take a fraction of the time and come as far: on average it has the
  // same sums. Only their state is taken; one iteration on all pairs tells what it proves.
  void SolveSample() {
    if (!pairs_.exact) return;
    SolvePairs(kIterationsBeforeSample);
    if (Stopped() || Gap() <= TargetGap()) return;
    const std::unique_ptr<GaussianOperator> sample = pairs_.op->Sample(kSampleNeighbours);
    if (sample == nullptr) return;
    const DenseProblem problem(model_, *sample);
    const double aim = std::max(TargetGap(), kGapOfSample);
    double gap = std::numeric_limits<double>::infinity();
    double gap_before = gap;
    for (int stage = kFirstLook;
         gap > aim && !(gap > kStallRatio * gap_before) && !Stopped() && RoomFor(stage);
         stage *= 2) {
      DensePdhgOptions solver;
      solver.relative_gap = aim;
      solver.max_iterations = stage - 1;
      solver.time_limit_seconds = std::max(0.0, SecondsLeft());
      solver.keeps_evidence = false;
      solver.start = std::move(bound_.state);
      const double begin = clock_.Seconds();
      const int before = iterations_;
      solver.on_iteration = [&](const IterationRecord& record) {
        return Tell("pdhg on a sample of the pairs", {before + record.k, begin + record.seconds,
                                                      Finite(bound_.upper), Finite(bound_.dual)});
      };
      DenseResult result = SolvePdhg(problem, solver);
      gap_before = std::exchange(gap, RelativeGap(result.upper, result.dual));
      iterations_ += result.iterations;
      bound_.state = std::move(result.state);
      SolvePairs(1);
    }
    bound_.state.iterations = std::min(bound_.state.iterations, kBalanceAfterSample);
  }

  bool RoomFor(int iterations) const { return iterations_ + iterations <= options_.max_iterations; }

  // log Z >= -E(x) for every labeling, and mean field from there only improves on it.
  void PolishLower() {
    // Gains that are small beside the gap asked for are not worth their time.
    const double tolerance = std::max(1e-5, kWorthwhileGain * TargetGap());
    KeepLower(MeanFieldFrom(MeanFieldStart(tolerance), options_.mean_field_iterations, tolerance));
    polished_ = true;
    std::vector<int> labels = ArgmaxLabels(mean_field_);
    const double energy = problem_.Energy(labels);
    if (energy < bound_.energy) {
      bound_.energy = energy;
      bound_.labels = std::move(labels);
    }
  }

  // One step from the marginals tells whether they or their labels are the better start.
  Matrix<float> MeanFieldStart(double tolerance) {
    DenseMeanFieldResult step = MeanFieldFrom(bound_.marginals, 1, tolerance);
    const std::vector<int> rounded = ArgmaxLabels(bound_.marginals);
    if (step.lower > -problem_.Energy(rounded)) return std::move(step.marginals);
    return Indicator(rounded, problem_.num_labels());
  }

  DenseMeanFieldResult MeanFieldFrom(Matrix<float> start, int iterations, double tolerance) {
    DenseMeanFieldOptions mean_field;
    mean_field.start = std::move(start);
    mean_field.max_iterations = iterations;
    mean_field.tolerance = tolerance;
    mean_field.time_limit_seconds = std::max(0.0, SecondsLeft());
    const double begin = clock_.Seconds();
    int told = -1;
    const auto tell = [&](int k, double seconds, double lower) {
      told = k;
      DenseRecord record{k, begin + seconds, std::nullopt, std::nullopt, std::max(lower, lower_)};
      if (std::isfinite(bound_.upper)) {
        record.k = iterations_;
        record.upper = bound_.upper;
        record.dual = std::max(bound_.dual, *record.lower);
      }
      return Tell("mean field", record);
    };
    mean_field.on_iteration = tell;
    DenseMeanFieldResult result = SolveMeanField(problem_, mean_field);
    // Mean field does not ask whether to go on after its last iteration.
    if (told < result.iterations) tell(result.iterations, clock_.Seconds() - begin, result.lower);
    return result;
  }

  void KeepLower(DenseMeanFieldResult result) {
    if (!(result.lower > lower_)) return;
    lower_ = result.lower;
    mean_field_ = std::move(result.marginals);
    mean_field_converged_ = result.converged;
  }

  // The pairs that the verifier enumerates: those of the lists, or a few more.
  PairOptions VerifierOptions(std::string_view phase) {
    PairOptions pairs;
    double least = std::numeric_limits<double>::infinity();
    for (const GaussianKernel& kernel : model_.kernels()) {
      if (kernel.weight > 0.0) least = std::min(least, kernel.weight);
    }
    pairs.cutoff = std::isfinite(least) ? options_.pairs.cutoff * least : options_.pairs.cutoff;
    pairs.on_progress = Reporter(phase);
    return pairs;
  }

  // For bounds, not for the energy of the labels, which others may be compared with.
  PairOptions BoundVerifierOptions(std::string_view phase) {
    PairOptions pairs = VerifierOptions(phase);
    pairs.far_tolerance =
        std::clamp(kShareForGroups * options_.relative_gap, pairs.far_tolerance, kMaxFarTolerance);
    return pairs;
  }

  std::function<bool(double)> Reporter(std::string_view phase) {
    return [this, phase](double done) {
      if (watch_ && !outcome_.records.empty()) {
        DenseRecord record = outcome_.records.back();
        record.k = -1;
        record.seconds = clock_.Seconds();
        watch_(fmt::format("{} {:.0f}%", phase, 100.0 * done), record);
      }
      return true;  // a bound without its check is worth nothing: this phase is not interrupted
    };
  }

  bool ChecksSteps() const {
    const double bytes = static_cast<double>(model_.num_variables()) * model_.num_cuts() *
                         options_.max_iterations * static_cast<double>(sizeof(float));
    return options_.max_iterations <= kMaxCheckedSteps && bytes <= kMaxCheckedBytes;
  }

  bool CertifiesExactly() {
    if (!certifies_exactly_) certifies_exactly_ = DecideCertificate();
    return *certifies_exactly_;
  }
  bool DecideCertificate() {
    if (options_.certify != submarine::Certify::kAuto) {
      return options_.certify == submarine::Certify::kExact;
    }
    const double pairs = EstimatePairs(model_, VerifierOptions("").cutoff);
    return pairs * model_.num_cuts() * kSecondsPerPairAndCut <= kPatienceSeconds;
  }

  void Certify() {
    const bool has_upper = std::isfinite(bound_.upper);
    if (has_upper) outcome_.certificate.extension = "optimal";
    outcome_.labels = has_upper ? bound_.labels : ArgmaxLabels(mean_field_);
    bound_.modular = {};  // room for the verifier
    bound_.state = {};
    if (CertifiesExactly()) {
      CertifyExactModel(has_upper);
    } else {
      CertifyOperatorModel(has_upper);
    }
    const bool of_upper = has_upper && options_.marginals == DenseMarginals::kUpperBound;
    outcome_.marginals = std::move(of_upper ? bound_.marginals : mean_field_);
  }

  void CertifyExactModel(bool has_upper) {
    Certificate& certificate = outcome_.certificate;
    certificate.model = model_.Description() + ", exact Gaussians";
    // No terms are a proof, too: of the bound without any flow.
    if (has_upper) {
      certificate.upper =
          VerifiedUpper(model_, bound_.proof, VerifierOptions("certify upper bound"));
    }
    const VerifiedPoint rounded =
        VerifiedAt(model_, outcome_.labels, VerifierOptions("certify energy"));
    outcome_.energy = -rounded.lower;
    certificate.lower = rounded.lower;
    if (has_upper) certificate.dual = rounded.dual;
    // Other points are verified where they say more than the labels, beyond what the gap asked for needs.
    const auto reaches_gap = [&] {
      return !has_upper ||
             RelativeGap(*certificate.upper, *certificate.dual) <= options_.relative_gap;
    };
    const bool own_dual = bound_.dual > std::max(lower_, -bound_.energy) && !reaches_gap();
    const double gain = (lower_ + outcome_.energy) / std::max(1.0, std::abs(outcome_.energy));
    if (!has_upper || gain > kWorthVerifying * options_.relative_gap ||
        !(own_dual || reaches_gap())) {
      const VerifiedPoint soft =
          VerifiedAt(model_, mean_field_, BoundVerifierOptions("certify lower bound"),
                     own_dual || reaches_gap() ? VerifiedValues::kLower : VerifiedValues::kBoth);
      certificate.lower = std::max(*certificate.lower, soft.lower);
      if (has_upper) certificate.dual = std::max(*certificate.dual, soft.dual);
    }
    if (own_dual) {
      const VerifiedPoint own = VerifiedAt(
          model_, bound_.dual_point, BoundVerifierOptions("certify dual"), VerifiedValues::kDual);
      certificate.dual = std::max(*certificate.dual, own.dual);
    }
  }

  void CertifyOperatorModel(bool has_upper) {
    Certificate& certificate = outcome_.certificate;
    certificate.model = fmt::format("{}, pair weights as applied by {}", model_.Description(),
                                    pairs_.op->Description());
    const OperatorVerifier verifier(model_, pairs_.kinds, options_.pairs);
    certificate.lower = verifier.Lower(mean_field_, Reporter("certify lower bound"));
    if (has_upper) {
      if (has_proof_) {
        certificate.upper = verifier.Upper(bound_.proof, Reporter("certify upper bound"));
      } else {
        certificate.upper = bound_.upper;
        certificate.model += "; upper bound in single precision";
      }
      // Every lower bound on log Z lies below all upper bounds, and mean field's point is a dual
      // point, too.
      const Matrix<float>& point = bound_.dual > lower_ ? bound_.dual_point : mean_field_;
      certificate.dual =
          std::max(*certificate.lower, verifier.Dual(point, Reporter("certify dual")));
    }
    outcome_.energy = verifier.Energy(outcome_.labels, Reporter("certify energy"));
  }

  const DenseCrf& model_;
  const DenseSolveOptions& options_;
  const DenseWatch& watch_;
  const Stopwatch clock_;
  bool stopped_ = false;
  ChosenOperator pairs_;
  DenseProblem problem_;
  DenseResult bound_;
  Matrix<float> mean_field_;
  double lower_ = -std::numeric_limits<double>::infinity();
  bool mean_field_converged_ = false;
  bool polished_ = false;          // mean field has seen the last marginals
  bool calls_mean_field_ = false;  // the solver of the upper bound stops for it
  std::optional<bool> certifies_exactly_;
  bool has_proof_ = true;  // of bound_.upper
  int iterations_ = 0;
  DenseOutcome outcome_;
};

}  // namespace

std::string_view ToString(DenseMethod method) {
  switch (method) {
    case DenseMethod::kAuto:
      return "auto";
    case DenseMethod::kPdhg:
      return "pdhg";
    case DenseMethod::kQuadratic:
      return "quadratic";
    case DenseMethod::kFrankWolfe:
      return "fw";
    case DenseMethod::kMeanField:
      return "mf";
  }
  return "unknown";
}

std::string_view ToString(DenseMarginals marginals) {
  return marginals == DenseMarginals::kUpperBound ? "upper-bound" : "mean-field";
}

std::string_view ToString(Certify certify) {
  switch (certify) {
    case Certify::kAuto:
      return "auto";
    case Certify::kExact:
      return "exact";
    case Certify::kOperator:
      return "operator";
  }
  return "unknown";
}

namespace {

// Where exact row sums would take longer than what they are for, the operator's have to do.
NormalisationOptions NormalisationFor(const DenseSolveOptions& options) {
  NormalisationOptions normalisation;
  normalisation.pairs = options.pairs;
  if (options.certify == Certify::kExact) {
    normalisation.source = RowSumSource::kExact;
  } else if (options.certify == Certify::kOperator || options.method == DenseMethod::kMeanField) {
    normalisation.max_seconds = 0.0;
  } else {
    constexpr double kShareOfTime = 0.2;
    normalisation.max_seconds =
        std::min(normalisation.max_seconds, kShareOfTime * options.time_limit_seconds);
  }
  return normalisation;
}

}  // namespace

DenseOutcome SolveDense(const DenseCrf& model, const DenseSolveOptions& options,
                        const DenseWatch& watch) {
  if (!NeedsNormalisation(model)) return Run(model, options, watch).Solve();
  const Stopwatch clock;
  NormalisationOptions normalisation = NormalisationFor(options);
  normalisation.on_progress = [&](double done) {
    const std::string phase = fmt::format("normalising kernels {:.0f}%", 100.0 * done);
    return clock.Seconds() < options.time_limit_seconds &&
           (!watch || watch(phase, {.k = -1, .seconds = clock.Seconds()}));
  };
  const DenseCrf normalised = WithNormalisation(model, normalisation);
  const double begin = clock.Seconds();
  DenseSolveOptions rest = options;
  rest.time_limit_seconds = std::max(0.0, options.time_limit_seconds - begin);
  const DenseWatch later = [&](std::string_view phase, DenseRecord record) {
    record.seconds += begin;
    return !watch || watch(phase, record);
  };
  DenseOutcome outcome = Run(normalised, rest, later).Solve();
  for (DenseRecord& record : outcome.records) record.seconds += begin;
  outcome.seconds += begin;
  return outcome;
}

}  // namespace submarine
