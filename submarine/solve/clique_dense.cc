#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/freed_memory.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/constant_labeling.h"
#include "submarine/bound/verify/cliques/clique_verifier.h"
#include "submarine/bound/verify/dense/normalisation.h"
#include "submarine/extension/clique_extension.h"
#include "submarine/solve/candidate/dense_certify.h"
#include "submarine/solve/candidate/dense_pairs.h"
#include "submarine/solve/classic_updates.h"
#include "submarine/solve/method/policy.h"
#include "submarine/solve/registry.h"
#include "submarine/solve/solve.h"
#include "submarine/solver/common/progress.h"
#include "submarine/solver/flow/dense_pdhg.h"
#include "submarine/solver/mean_field/clique_holders.h"

namespace submarine {
namespace {

using internal::Budget;
using internal::CliqueExtension;
using internal::DensePdhgOptions;
using internal::DensePolicy;
using internal::DenseResult;
using internal::DenseState;
using internal::EnergyFrom;
using internal::EntryOf;
using internal::HoldersAt;
using internal::NeedsNormalisation;
using internal::NormalisedInTime;
using internal::PairsAbove;
using internal::PairsBelow;
using internal::SolveClassic;
using internal::SolveTask;
using internal::Stopwatch;
using internal::UsePairs;
using internal::WithNormalisation;

class DenseCliqueSolve {
 public:
  explicit DenseCliqueSolve(const SolveTask<CliqueCrf<DenseCrf>>& task)
      : given_(task.model), options_(task.options), watch_(task.watch), clock_(task.clock) {
    internal::CheckDenseTemperature(options_.temperature);
    if (!EntryOf(options_.method).dense.traits.zero_temperature)
      internal::RequirePositiveTemperature(options_.temperature);
  }

  SolveResult Run() {
    if (options_.expectations && options_.dense.certify == Certify::kNone)
      throw InvalidInput("expectations are proven from the certificate, and none is asked for");
    if (options_.dense.marginals == DenseMarginals::kRouted)
      throw InvalidInput("the marginals of the routed bound are not for models with cliques");
    if (options_.method == Method::kExact) return Finish(Exactly());
    std::optional<SolveResult> updated;
    if (options_.dense.updates > 0) {
      updated = Updated();
      if (options_.dense.certify == Certify::kNone || stopped_) return Finish(*std::move(updated));
    }
    const bool lower_only =
        options_.method == Method::kMeanField || options_.dense.certify == Certify::kLower;
    return Finish(lower_only ? Lower(std::move(updated)) : Interval(std::move(updated)));
  }

 private:
  SolveResult Finish(SolveResult solved) const {
    Certificate& certificate = solved.certificate;
    if (certificate.model.empty()) certificate.model = given_.pairs().Description();
    certificate.model = given_.Described(certificate.model);
    if (stopped_) solved.termination = Termination::kInterrupted;
    // Cliques cost nothing or more.
    if (options_.expectations && !solved.tilted)
      internal::UnaryUpper(given_.pairs(), options_.temperature, &solved.tilted);
    solved.method = options_.method;
    return solved;
  }

  double Deadline(double share) const { return share * options_.limits.time_limit_seconds; }
  // As the caller's, but that this notices when it asks to stop.
  Watch Told() {
    return [this](std::string_view phase, const SolveRecord& record) {
      stopped_ = stopped_ || (watch_ && !watch_(phase, record));
      return !stopped_;
    };
  }
  SolveOptions Until(double deadline) const {
    SolveOptions options = options_;
    options.limits.time_limit_seconds = deadline;
    return options;
  }
  SolveResult SolvePairs(const DenseCrf& pairs, SolveOptions options,
                         const std::vector<int>* labels = nullptr,
                         const CliqueCrf<DenseCrf>* cliques = nullptr) {
    if (options.dense.marginals == DenseMarginals::kMean)
      options.dense.marginals = DenseMarginals::kUpperBound;
    options.dense.updates = 0;
    const Watch told = Told();
    return internal::SolveDense({pairs, options, clock_, told, labels, cliques});
  }

  // --- Labels of updates of mean field

  SolveResult Updated() {
    SolveOptions options = options_;
    options.method = Method::kMeanField;
    options.dense.certify = Certify::kNone;
    options.dense.marginals = DenseMarginals::kMeanField;
    options.expectations = false;
    if (options.dense.pairs.kind == OperatorKind::kAuto)
      options.dense.pairs.kind = OperatorKind::kLattice;
    const Watch told = Told();
    if (internal::IsClassic(given_.pairs(), options))
      return SolveClassic({given_.pairs(), options, clock_, told}, given_.cliques());
    // Where updates cannot be watched one by one: all of them with the holders of the marginals before.
    Matrix<double> holders(given_.cliques().size(), Labels());
    std::optional<SolveResult> solved;
    for (int round = 0; round < DensePolicy::kCliqueRounds && !stopped_; ++round) {
      const DenseCrf above = PairsAbove(given_, holders);
      solved = internal::SolveDense({above, options, clock_, told});
      holders = HoldersAt(given_.cliques(), std::get<Matrix<float>>(solved->marginals));
    }
    return *std::move(solved);
  }

  // --- Bounds

  // Whether mean field with the cliques held like this raised the bound, or is the first to give one. `best` has the
  // larger bounds of all calls; `holders` are those of its marginals then.
  bool RaiseLower(const CliqueCrf<DenseCrf>& model, const SolveOptions& options,
                  const std::vector<int>* labels, Matrix<double>* holders,
                  std::optional<SolveResult>* best) {
    const DenseCrf above = PairsAbove(model, *holders);
    SolveResult found = SolvePairs(above, options, labels, &model);
    TakeEnergy(model, above, &found);
    if (found.energy) KeepLarger(Negated(*found.energy), &found.certificate.lower);
    *holders = HoldersAt(model.cliques(), std::get<Matrix<float>>(found.marginals));
    if (*best && (*best)->certificate.lower && found.certificate.lower) {
      const double before = *(*best)->certificate.lower;
      if (*found.certificate.lower - before <
          DensePolicy::kGainOfCliqueRound * std::max(1.0, std::abs(before)))
        return false;
    }
    *best = std::move(found);
    return true;
  }

  // Marginals of updates hold the cliques as those of a second round would.
  static int Rounds(const std::optional<SolveResult>& updated) {
    return updated ? 1 : DensePolicy::kCliqueRounds;
  }

  // A lower bound alone, round by round with the holders of its own marginals.
  SolveResult Lower(std::optional<SolveResult> updated) {
    const CliqueCrf<DenseCrf> model = Normalised();
    Matrix<double> holders(model.cliques().size(), Labels());
    if (updated) holders = HoldersAt(model.cliques(), std::get<Matrix<float>>(updated->marginals));
    const std::vector<int>* const labels = updated ? &updated->labels : nullptr;
    std::optional<SolveResult> best;
    for (int round = 0; round == 0 || (round < Rounds(updated) && !stopped_); ++round) {
      SolveOptions options = Until(Deadline((round + 1.0) / Rounds(updated)));
      options.method = Method::kMeanField;
      if (!RaiseLower(model, options, labels, &holders, &best) && round > 0) break;
    }
    if (updated) {
      best->labels = std::move(updated->labels);
      best->marginals = std::move(updated->marginals);
    }
    return *std::move(best);
  }

  SolveResult Interval(std::optional<SolveResult> updated) {
    const CliqueCrf<DenseCrf> model = Normalised();
    const std::vector<int>* const labels = updated ? &updated->labels : nullptr;
    SolveResult upper = [&] {
      const DenseCrf below = PairsBelow(model, FindEvidence(model));
      SolveResult found =
          SolvePairs(below, Until(Deadline(DensePolicy::kEndOfCliqueUpper)), labels);
      // Its lower bounds are about too small energies.
      found.certificate.lower.reset();
      found.certificate.dual.reset();
      TakeEnergy(model, below, &found);
      if (found.energy) found.certificate.lower = Negated(*found.energy);
      return found;
    }();
    // A labeling of any solve, and mean field with the cliques held by its own marginals.
    SolveOptions options = Until(options_.limits.time_limit_seconds);
    options.method = Method::kMeanField;
    options.expectations = false;
    const bool exact = upper.certificate.model.ends_with("exact Gaussians");
    if (options_.dense.certify != Certify::kNone)
      options.dense.certify = exact ? Certify::kExact : Certify::kLower;
    if (!exact && options.dense.pairs.kind == OperatorKind::kAuto)
      options.dense.pairs.kind = OperatorKind::kLattice;
    std::optional<SolveResult> lower;
    Matrix<double> holders = HoldersAt(
        model.cliques(), std::get<Matrix<float>>(updated ? updated->marginals : upper.marginals));
    double took = 0.0;
    for (int round = 0; round < Rounds(updated) && !stopped_; ++round) {
      const double begin = clock_.Seconds();
      if (options_.dense.certify == Certify::kNone || begin + took > Deadline(1.0)) break;
      if (!RaiseLower(model, options, labels, &holders, &lower) && round > 0) break;
      took = clock_.Seconds() - begin;
    }
    if (lower && lower->certificate.model == upper.certificate.model) {
      if (lower->certificate.lower) KeepLarger(*lower->certificate.lower, &upper.certificate.lower);
      if (!labels && lower->energy && (!upper.energy || *lower->energy < *upper.energy)) {
        upper.energy = lower->energy;
        upper.labels = lower->labels;
      }
    }
    if (!upper.certificate.lower) KeepLarger(OneLabel(model), &upper.certificate.lower);
    // Every lower bound on log Z lies below all upper bounds.
    if (upper.certificate.upper) upper.certificate.dual = upper.certificate.lower;
    // The gap of the pairs from below is not that of the model.
    const double gap = options_.limits.gap.value_or(DefaultGap(options_.method, ModelKind::kDense));
    if (upper.termination == Termination::kGapReached &&
        !internal::KeepsGap(upper.certificate, gap))
      upper.termination = Termination::kStalled;
    if (lower && options_.expectations) upper.mean_field = std::move(lower->marginals);
    if (updated) {
      upper.labels = std::move(updated->labels);
      upper.marginals = std::move(updated->marginals);
      upper.updates = options_.dense.updates;
    }
    return upper;
  }

  static void KeepLarger(const Bound& bound, std::optional<Bound>* kept) {
    if (!*kept || bound > **kept) *kept = bound;
  }

  // One label for all, which costs no clique and no pair anything.
  static Bound OneLabel(const CliqueCrf<DenseCrf>& model) {
    const internal::ConstantLabeling one = internal::BestConstantLabeling(model.pairs());
    return Negated(one.energy);
  }

  // The energy of labels that another model of pairs was solved for.
  static void TakeEnergy(const CliqueCrf<DenseCrf>& model, const DenseCrf& known,
                         SolveResult* found) {
    if (found->energy) found->energy = EnergyFrom(model, known, *found->energy, found->labels);
  }

  std::size_t Labels() const { return static_cast<std::size_t>(given_.num_labels()); }

  CliqueCrf<DenseCrf> Normalised() {
    if (!NeedsNormalisation(given_.pairs())) return given_;
    const Watch told = Told();
    return {NormalisedInTime({given_.pairs(), options_, clock_, told}), given_.cliques()};
  }

  // By the primal-dual method on the flows of the pairs and the evidence of the cliques together. Only the latter is kept:
  // the pairs that it leaves are solved like any others.
  Matrix<float> FindEvidence(const CliqueCrf<DenseCrf>& model) {
    const CliqueExtension cliques(model.cliques(), model.num_variables(), Labels());
    Matrix<float> neutral = cliques.Neutral<float>();
    SolveOptions options = Until(Deadline(DensePolicy::kEndOfCliqueEvidence));
    options.method = Method::kPdhg;
    options.dense.updates = 0;
    options.expectations = false;
    const auto held = 3 * sizeof(float) * neutral.size();
    if (held > options.limits.max_bytes / 2) {
      throw TooLarge(fmt::format(
          "the evidence of the cliques needs {:.3g} GB of memory, more than half the limit of "
          "{:.3g} GB",
          static_cast<double>(held) / 1e9, static_cast<double>(options.limits.max_bytes) / 1e9));
    }
    options.limits.max_bytes -= held;
    const Watch told = Told();
    Budget budget(clock_, options, told);
    const internal::DenseEntry& entry = EntryOf(Method::kPdhg).dense;
    DenseState state(model.pairs(), options, {ToString(Method::kPdhg), entry.chain, entry.traits},
                     options.limits.gap.value_or(DefaultGap(Method::kPdhg, ModelKind::kDense)),
                     false, nullptr, &budget);
    if (!UsePairs(&state)) return neutral;
    DensePdhgOptions solver;
    solver.temperature = options.temperature;
    solver.relative_gap =
        0.5 * options.limits.gap.value_or(DefaultGap(Method::kPdhg, ModelKind::kDense));
    solver.max_iterations = options.limits.max_iterations.value_or(DensePolicy::kCliqueIterations);
    solver.time_limit_seconds = std::max(0.0, budget.SecondsLeft());
    solver.cliques = &cliques;
    const double begin = clock_.Seconds();
    solver.on_iteration = [&](SolveRecord record) {
      record.seconds += begin;
      record.lower.reset();
      return budget.Tell("flows and cliques", record);
    };
    DenseResult found = SolvePdhg(*state.extension, solver);
    return found.cliques.size() > 0 ? std::move(found.cliques) : std::move(neutral);
  }

  SolveResult Exactly() {
    DenseCrf pairs = given_.pairs();
    if (NeedsNormalisation(pairs))
      pairs = WithNormalisation(std::move(pairs), {.source = internal::RowSumSource::kExact});
    const double error = EnergyError(pairs);
    SolveResult solved =
        Solve(CliqueCrf<SparseCrf>(ToSparseCrf(pairs), given_.cliques()), options_, Told());
    Certificate& certificate = solved.certificate;
    certificate.lower = Lowered(*certificate.lower, error);
    certificate.upper = Raised(*certificate.upper, error);
    certificate.model = pairs.Description() + ", exact Gaussians";
    solved.energy = Raised(*solved.energy, error);
    solved.tilted = internal::RaisedBy(error, std::move(solved.tilted));
    const auto& y = std::get<Matrix<double>>(solved.marginals);
    Matrix<float> rounded(y.rows(), y.cols());
    std::transform(y.data(), y.data() + y.size(), rounded.data(),
                   [](double p) { return static_cast<float>(p); });
    solved.marginals = std::move(rounded);
    return solved;
  }

  const CliqueCrf<DenseCrf>& given_;
  SolveOptions options_;
  const Watch& watch_;
  const Stopwatch& clock_;
  bool stopped_ = false;
};

}  // namespace

SolveResult internal::SolveCliques(const SolveTask<CliqueCrf<DenseCrf>>& task) {
  return DenseCliqueSolve(task).Run();
}

}  // namespace submarine
