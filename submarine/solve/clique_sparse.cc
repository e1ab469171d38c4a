#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "submarine/base/argmax.h"
#include "submarine/base/error.h"
#include "submarine/base/stop_check.h"
#include "submarine/base/stopwatch.h"
#include "submarine/bound/verify/cliques/clique_verifier.h"
#include "submarine/bound/verify/sparse/verifier.h"
#include "submarine/extension/clique_extension.h"
#include "submarine/solve/method/policy.h"
#include "submarine/solve/registry.h"
#include "submarine/solve/solve.h"
#include "submarine/solve/sparse_portfolio.h"
#include "submarine/solver/common/progress.h"
#include "submarine/solver/exact/elimination_order.h"
#include "submarine/solver/flow/frank_wolfe.h"
#include "submarine/solver/flow/pdhg.h"
#include "submarine/solver/flow/rounding.h"
#include "submarine/solver/mean_field/clique_holders.h"

namespace submarine {
namespace {

using internal::BoundResult;
using internal::CliqueExtension;
using internal::DualFrom;
using internal::EliminationOrder;
using internal::EnergyFrom;
using internal::FindEliminationOrder;
using internal::HoldersAt;
using internal::HoldersOf;
using internal::LowerFrom;
using internal::PairsAbove;
using internal::PairsBelow;
using internal::RequireRoom;
using internal::RoundMarginals;
using internal::SolveTask;
using internal::SparsePolicy;
using internal::StopCheck;
using internal::Stopwatch;
using internal::TiltedPlace;
using internal::TiltedUpper;
using internal::VerifiedDual;
using internal::VerifiedEnergy;
using internal::VerifiedLower;
using internal::VerifiedUnaryUpper;
using internal::VerifiedUpper;
using internal::ViewOf;

class SparseCliqueSolve {
 public:
  explicit SparseCliqueSolve(const SolveTask<CliqueCrf<SparseCrf>>& task)
      : model_(task.model), options_(task.options), watch_(task.watch), clock_(task.clock) {}

  SolveResult Run() {
    if (options_.method == Method::kExact) return Exactly(options_.limits.time_limit_seconds);
    if (IsSmall()) {
      try {
        return Exactly(SparsePolicy::kShareForExact * options_.limits.time_limit_seconds);
      } catch (const TimeLimit&) {  // it took longer than estimated
      } catch (const Interrupted&) {
        stopped_ = true;
      }
    }
    const bool smooth = options_.method == Method::kTrw || options_.method == Method::kMeanField;
    if (smooth) internal::RequirePositiveTemperature(options_.temperature);
    solved_.method = options_.method;
    std::vector<int> cheapest(model_.num_variables());
    for (std::size_t a = 0; a < cheapest.size(); ++a) {
      const auto row = model_.pairs().unary().row(a);
      cheapest[a] = static_cast<int>(std::min_element(row.begin(), row.end()) - row.begin());
    }
    TakeLabels(std::move(cheapest));
    if (options_.method != Method::kMeanField) FindUpper();
    if (options_.temperature > 0.0) FindLower();  // at 0 labelings are all there is
    if (options_.expectations) {
      solved_.mean_field = mean_field_;
      // Cliques cost nothing or more.
      if (!solved_.tilted)
        VerifiedUnaryUpper(model_.pairs(), options_.temperature, &solved_.tilted);
    }
    solved_.marginals = marginals_.size() > 0 ? std::move(marginals_) : std::move(mean_field_);
    if (stopped_) solved_.termination = Termination::kInterrupted;
    solved_.certificate.model = model_.Description();
    return std::move(solved_);
  }

 private:
  double Left() const {
    return stopped_ ? 0.0 : std::max(0.0, options_.limits.time_limit_seconds - clock_.Seconds());
  }
  bool Tell(std::string_view phase, SolveRecord record, double begin) {
    record.seconds += begin;
    stopped_ = stopped_ || (watch_ && !watch_(phase, record));
    return !stopped_;
  }

  // Whether `auto` eliminates.
  bool IsSmall() const {
    if (options_.method != Method::kAuto) return false;
    const double entries = CliqueTableEntries(model_.cliques(), model_.num_labels());
    if (!(entries <= SparsePolicy::kCheapTables)) return false;
    double error = 0.0;
    const FactorGraph graph = ToFactorGraph(model_, &error);
    const EliminationOrder plan = FindEliminationOrder(graph, SparsePolicy::kCheapBytes);
    return plan.complete && plan.table_entries <= SparsePolicy::kCheapEntries;
  }

  SolveResult Exactly(double time_limit) {
    double error = 0.0;
    const FactorGraph graph = ToFactorGraph(model_, &error);
    SolveOptions options = options_;
    options.method = Method::kExact;
    options.limits.time_limit_seconds = time_limit;
    SolveResult solved = Solve(graph, options, watch_);
    Certificate& certificate = solved.certificate;
    certificate.upper = Raised(*certificate.upper, error);
    certificate.lower = Lowered(*certificate.lower, error);
    certificate.model = model_.Description();
    solved.tilted = internal::RaisedBy(error, std::move(solved.tilted));
    solved.energy = Raised(*solved.energy, error);
    return solved;
  }

  void TakeLabels(std::vector<int> labels) {
    const Bound energy =
        EnergyFrom(model_, model_.pairs(), VerifiedEnergy(model_.pairs(), labels), labels);
    if (solved_.energy && !(energy < *solved_.energy)) return;
    solved_.energy = energy;
    solved_.labels = std::move(labels);
    TakeLower(Negated(energy));
  }
  void TakeLower(const Bound& lower) {
    std::optional<Bound>& best = solved_.certificate.lower;
    if (!best || lower > *best) best = lower;
  }
  bool TakeUpper(const Bound& upper, std::shared_ptr<const TiltedUpper> tilted) {
    KeepTighter(std::move(tilted), &solved_.tilted);
    std::optional<Bound>& best = solved_.certificate.upper;
    if (best && !(upper < *best)) return false;
    best = upper;
    return true;
  }

  // Flows of the pairs and evidence of the cliques together; then trees on the pairs that the evidence leaves. Trees on latent
  // labels first: these prove more where cliques are strong.
  void FindUpper() {
    const CliqueExtension cliques(model_.cliques(), model_.num_variables(),
                                  static_cast<std::size_t>(model_.num_labels()));
    const bool frank_wolfe = options_.method == Method::kFrankWolfe;
    RequireMemory(frank_wolfe ? Method::kFrankWolfe : Method::kPdhg, cliques.num_memberships());
    const bool trees = options_.temperature > 0.0 &&
                       (options_.method == Method::kTrw || options_.method == Method::kAuto);
    if (trees) FindLatent();
    BoundResult found = frank_wolfe ? SolveFrankWolfe(model_.pairs(), cliques, FrankWolfeLimits())
                                    : SolvePdhg(model_.pairs(), cliques, PdhgLimits(trees));
    const SparseCrf below = PairsBelow(model_, found.flow.cliques);
    std::shared_ptr<const TiltedUpper> tilted;
    const TiltedPlace place = options_.expectations ? &tilted : nullptr;
    const double T = options_.temperature;
    const Bound upper = VerifiedUpper(below, ExtensionKind::kOptimal, found.flow, T, place);
    const bool best = TakeUpper(upper, std::move(tilted));
    if (best) {
      solved_.termination = found.termination;
      if (options_.method == Method::kAuto) solved_.method = Method::kPdhg;
      solved_.certificate.extension = "optimal";
      solved_.certificate.dual = DualFrom(
          model_, VerifiedDual(model_.pairs(), ExtensionKind::kOptimal, found.marginals, T),
          found.marginals);
    }
    found.flow = {};
    TakeMarginals(std::move(found.marginals), best);
    if (trees && Left() > 0.0) FindTrees(below);
  }

  // What the solver takes beside the evidence of the cliques, which is held three times.
  void RequireMemory(Method method, std::size_t memberships) const {
    constexpr double kHeld = 3.0;
    const double evidence = kHeld * static_cast<double>(sizeof(double) * memberships) *
                            static_cast<double>(model_.num_labels());
    SolveOptions options = options_;
    options.method = method;
    RequireRoom(ViewOf(options, internal::SizeOf(model_.pairs(), options.temperature),
                       static_cast<double>(options.limits.max_bytes) - evidence));
  }

  template <class Options>
  Options Limits(double share, double default_gap) {
    Options solver;
    solver.temperature = options_.temperature;
    solver.relative_gap = options_.limits.gap.value_or(default_gap);
    solver.max_iterations = options_.limits.max_iterations.value_or(
        DefaultIterations(Method::kPdhg, ModelKind::kSparse));
    solver.time_limit_seconds = share * Left();
    const double begin = clock_.Seconds();
    solver.on_iteration = [this, begin](const SolveRecord& record) {
      SolveRecord told = record;
      told.lower.reset();
      solved_.records.push_back(told);
      return Tell("flows and cliques", told, begin);
    };
    solver.interrupted = [this] { return stopped_; };
    return solver;
  }
  internal::FrankWolfeOptions FrankWolfeLimits() {
    auto solver = Limits<internal::FrankWolfeOptions>(
        SparsePolicy::kForCliqueFlows, DefaultGap(Method::kFrankWolfe, ModelKind::kSparse));
    if (options_.harmonic_steps) solver.step = internal::FrankWolfeStep::kHarmonic;
    return solver;
  }
  // Trees replace the flows; only the evidence of the cliques stays.
  internal::PdhgOptions PdhgLimits(bool trees) {
    auto solver = Limits<internal::PdhgOptions>(SparsePolicy::kForCliqueFlows,
                                                DefaultGap(Method::kPdhg, ModelKind::kSparse));
    if (options_.limits.deterministic)
      solver.seconds_between_evaluations = std::numeric_limits<double>::infinity();
    if (trees && options_.method == Method::kTrw)
      solver.relative_gap = DefaultGap(Method::kPdhg, ModelKind::kSparse);
    return solver;
  }

  void FindTrees(const SparseCrf& below) {
    SolveResult found = Inner(below, Method::kTrw, SparsePolicy::kForCliqueTrees);
    if (TakeTrees(&found))
      TakeMarginals(std::get<Matrix<double>>(std::move(found.marginals)), true);
  }

  void FindLatent() {
    const std::optional<SparseCrf> latent =
        internal::WithLatentLabels(model_, options_.temperature);
    if (!latent) return;
    std::optional<SolveResult> found;
    try {
      found = Inner(*latent, Method::kTrw, SparsePolicy::kForLatentTrees);
    } catch (const TooLarge&) {  // flows and trees on the model's own pairs take less
      return;
    }
    const std::size_t variables = model_.num_variables();
    const auto labels = static_cast<std::size_t>(model_.num_labels());
    found->tilted = internal::OfMembers(variables, labels, std::move(found->tilted));
    if (!TakeTrees(&*found)) return;
    const auto& all = std::get<Matrix<double>>(found->marginals);
    Matrix<double> marginals(variables, labels);
    for (std::size_t a = 0; a < variables; ++a) {
      double total = 0.0;
      for (std::size_t i = 0; i < labels; ++i) total += all(a, i);
      for (std::size_t i = 0; i < labels; ++i) marginals(a, i) = all(a, i) / total;
    }
    TakeMarginals(std::move(marginals), true);
  }

  bool TakeTrees(SolveResult* found) {
    if (!found->certificate.upper ||
        !TakeUpper(*found->certificate.upper, std::move(found->tilted)))
      return false;
    solved_.certificate.extension.clear();
    solved_.certificate.dual.reset();  // that of the extension says nothing about trees
    if (options_.method == Method::kAuto) solved_.method = Method::kTrw;
    solved_.termination = found->termination;
    return true;
  }

  // Without bounds of its own for what the other model is for.
  SolveResult Inner(const SparseCrf& pairs, Method method, double share) {
    SolveOptions options = options_;
    options.method = method;
    options.limits.time_limit_seconds = share * Left();
    if (method == Method::kTrw) {
      options.limits.gap = {};
      options.sparse.starts = 0;
    } else {
      options.expectations = false;
    }
    const double begin = clock_.Seconds();
    SolveResult found =
        Solve(pairs, options, [this, begin](std::string_view phase, const SolveRecord& record) {
          return Tell(phase, record, begin);
        });
    if (found.termination == Termination::kInterrupted) stopped_ = true;
    return found;
  }

  // Their labels in any case, themselves where they are those of the best bound.
  void TakeMarginals(Matrix<double> marginals, bool best) {
    const StopCheck stop(Left(), [this] { return stopped_; });
    TakeLabels(RoundMarginals(model_.pairs(), marginals, options_.sparse.rounding_draws,
                              options_.sparse.seed, stop)
                   .labels);
    TakeLabels(internal::ArgmaxLabels(marginals));
    if (best) marginals_ = std::move(marginals);
  }

  // Mean field with the holders of the best labels, then with those of marginals until the bound stays where it is.
  void FindLower() {
    const bool alone = options_.method == Method::kMeanField;
    const std::vector<Clique>& cliques = model_.cliques();
    Matrix<double> holders =
        HoldersOf(cliques, solved_.labels, static_cast<std::size_t>(model_.num_labels()));
    double before = -std::numeric_limits<double>::infinity();
    for (int round = 0; round < SparsePolicy::kCliqueRounds; ++round) {
      if (!(alone && round == 0) && Left() <= 0.0) break;
      SolveResult found = Inner(PairsAbove(model_, holders), Method::kMeanField,
                                1.0 / static_cast<double>(SparsePolicy::kCliqueRounds - round));
      const auto& marginals = std::get<Matrix<double>>(found.marginals);
      Bound lower =
          LowerFrom(model_, model_.pairs(),
                    VerifiedLower(model_.pairs(), marginals, options_.temperature), marginals);
      if (found.certificate.lower && *found.certificate.lower > lower)
        lower = *found.certificate.lower;
      const bool better = !solved_.certificate.lower || lower > *solved_.certificate.lower;
      TakeLower(lower);
      TakeLabels(std::move(found.labels));
      if (alone) solved_.termination = found.termination;
      const bool from_upper = round == 0 && marginals_.size() > 0;
      holders = HoldersAt(cliques, from_upper ? marginals_ : marginals);
      if (better || mean_field_.size() == 0)
        mean_field_ = std::get<Matrix<double>>(std::move(found.marginals));
      const double gain = lower - before;
      if (round > 1 && gain < SparsePolicy::kTolerance * std::max(1.0, std::abs(before))) break;
      before = lower;
    }
  }

  const CliqueCrf<SparseCrf>& model_;
  const SolveOptions& options_;
  const Watch& watch_;
  const Stopwatch& clock_;
  bool stopped_ = false;
  SolveResult solved_;
  Matrix<double> marginals_;   // of the upper bound
  Matrix<double> mean_field_;  // of the best lower bound by mean field
};

}  // namespace

SolveResult internal::SolveCliques(const SolveTask<CliqueCrf<SparseCrf>>& task) {
  return SparseCliqueSolve(task).Run();
}

}  // namespace submarine
