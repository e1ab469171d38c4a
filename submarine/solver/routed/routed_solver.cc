#include "submarine/solver/routed/routed_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/loop_interrupt.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/extension/submodular_bound_limit.h"
#include "submarine/solver/routed/momentum.h"
#include "submarine/solver/routed/routed_plan.h"
#include "submarine/solver/routed/routed_policy.h"
#include "submarine/solver/routed/routed_problem.h"
#include "submarine/solver/routed/routed_times.h"

namespace submarine::internal {
namespace {

// Steps are this over the curvature: two converge, and take half the time that one does.
constexpr double kStepByCurvature = 2.0;
// Where marginals hardly answer to flows: potentials are those of marginals that differ by 1e-4, and stay finite.
constexpr double kLongestStep = 1e4;
using Policy = RoutedPolicy;

// To begin power iterations with: the same every time.
Matrix<float> RandomDirection(std::size_t rows, std::size_t columns) {
  Matrix<float> direction(rows, columns);
  std::uint32_t state = 1;
  for (std::size_t n = 0; n < direction.size(); ++n) {
    state = state * 1664525U + 1013904223U;
    direction.data()[n] = static_cast<float>(state >> 8U) / static_cast<float>(1U << 24U) - 0.5F;
  }
  return direction;
}

class RoutedRun {
 public:
  RoutedRun(const DenseCrf& model, const RoutedOptions& options)
      : model_(model),
        options_(options),
        times_(model, options.by_square, options.leaves_time_to_verify),
        plan_(PlanRoutes(model, options, clock_, &times_)),
        problem_(model, plan_.paths, options.temperature, plan_.squares),
        direction_(RandomDirection(problem_.num_cuts(), problem_.size())) {}

  RoutedResult Solve() {
    result_.order = plan_.order;
    result_.cutoff = problem_.pairs().cutoff();
    const Matrix<float> no_potentials(problem_.num_cuts(), problem_.size());
    v_ = no_potentials;
    const Routing routing = HasTimeToLearn() ? LearnRouting() : FirstRouting();
    bool go_on = Begin(routing, v_, false) && IterateToTheEnd();
    // Never looser than the plain bound: proven, or tried (by square, where routing is).
    if (go_on && HasTimeForARound() &&
        result_.upper > SubmodularBoundLimit(model_, options_.temperature)) {
      Routing nothing = RoutingEverywhere();
      nothing.share = 0.0;
      if (Begin(nothing, no_potentials, true)) IterateToTheEnd();
    }
    v_ = std::move(best_v_);
    if (HasFlows()) result_.proof.flows = {{1.0, FlowShape::kClip, problem_.Evidence(v_)}};
    if (HasDual()) {
      result_.proof.dual_point.costs = problem_.ByVariable(best_costs_);
    } else {
      result_.proof.dual_point = {};
    }
    result_.marginals = problem_.ByVariable(best_y_);
    return std::move(result_);
  }

 private:
  Matrix<float> CutSums(const Matrix<float>& marginals) const {
    const LabelCuts& cuts = *model_.labels().cuts;
    Matrix<float> z(marginals.rows(), static_cast<std::size_t>(cuts.num_cuts()));
    for (std::size_t a = 0; a < z.rows(); ++a) {
      for (int c = 0; c < cuts.num_cuts(); ++c) {
        float sum = 0.0F;
        for (const int i : cuts.set(c)) sum += marginals(a, static_cast<std::size_t>(i));
        z(a, static_cast<std::size_t>(c)) = sum;
      }
    }
    return z;
  }

  Routing RoutingEverywhere() const {
    Routing routing;
    routing.paths = plan_.paths;
    routing.product_limit = plan_.squares.product_limit;
    routing.product_cutoff = plan_.squares.product_cutoff;
    routing.by_square = plan_.squares.by_square;
    return routing;
  }

  // Where there is no time to learn: between variables of equal marginals, if any are given.
  Routing FirstRouting() const {
    Routing routing = RoutingEverywhere();
    if (options_.marginals.size() == 0) {
      routing.share = Policy::kFirstShare;
      return routing;
    }
    routing.z = CutSums(options_.marginals);
    routing.threshold =
        Matrix<float>(model_.num_variables(), static_cast<std::size_t>(plan_.paths.bandwidth),
                      static_cast<float>(Policy::kSameMarginals));
    return routing;
  }

  // Which routes pay depends on the marginals, and these on the routes: a convex problem, solved in the manner of
  // Frank-Wolfe on a sample of the squares. Every round adds to the means of marginals and of expected distances, and the
  // next one routes what pays under these. Returns the best round's routing, and leaves its potentials in v_.
  Routing LearnRouting() {
    Routing routing = RoutingEverywhere();
    routing.share = Policy::kFirstShare;
    Routing mean;  // of what pays
    Routing best = routing;
    Matrix<float> best_v = v_;
    double least = std::numeric_limits<double>::infinity();
    all_seconds_ = RouteAllSeconds();
    learning_ = true;
    for (int round = 0; round < Policy::kMostRounds; ++round) {
      Stopwatch clock;
      if (!RouteSample(routing)) break;
      sampled_ = true;
      StartRound();
      const bool go_on = Iterate(round == 0 ? Policy::kFirstIterations : Policy::kRoundIterations);
      const bool gains = Gains(least, round_upper_, Policy::kWorthwhileOnSample);
      if (round_upper_ < least) {
        least = round_upper_;
        best = routing;
        best_v = round_v_;
      }
      const double seconds = clock.Seconds();
      if (!go_on || SecondsLeft() < seconds || (round + 1 >= Policy::kRounds && !gains)) break;
      problem_.Upper(costs_, &y_);
      const Routing pays = problem_.ChooseRoutes(y_, 1.0, 0.0);
      if (round == 0) {
        mean = pays;
      } else {
        const float share = Policy::kMeanWeight / (static_cast<float>(round) + Policy::kMeanWeight);
        Mix(mean.z, pays.z, share, &mean.z);
        Mix(mean.threshold, pays.threshold, share, &mean.threshold);
      }
      routing = mean;
      for (std::size_t n = 0; n < routing.threshold.size(); ++n) {
        float& limit = routing.threshold.data()[n];
        limit = std::max(limit, static_cast<float>(Policy::kSameMarginals));
      }
    }
    learning_ = false;
    if (!WasInterrupted()) stopped_ = false;  // only learning was late
    sampled_ = false;
    v_ = std::move(best_v);
    return best;
  }

  // False where it was interrupted.
  bool RouteSample(const Routing& routing) {
    const std::function<bool()> ends = [&] { return !MayGoOn(0.0); };
    const LoopInterrupt scope(ends);
    try {
      problem_.RouteSample(routing, times_.SampledSquares());
    } catch (const Interrupted&) {
      return false;
    }
    return true;
  }

  // Asks whoever follows the routing.
  bool MayGoOn(double done) {
    if (!options_.on_routing || options_.on_routing(done)) return true;
    stopped_ = true;
    result_.termination = Termination::kInterrupted;
    return false;
  }

  // By a share of the bound, or of what there is to gain, where that is less.
  bool Gains(double before, double after, double worthwhile = Policy::kWorthwhile) const {
    if (!std::isfinite(before)) return true;
    const double size = std::max(1.0, std::abs(before));
    // What a sample says may be below any lower bound.
    const double to_gain = std::max(Policy::kGapToleranceScale * (before - options_.lower),
                                    Policy::kMinRelativeGain * size);
    return after < before - worthwhile * std::min(to_gain, size);
  }

  double RouteAllSeconds() const {
    return Policy::kPassesToLearn *
           (static_cast<double>(problem_.pairs().num_tiles()) * times_.TileSeconds() +
            static_cast<double>(problem_.products().num_squares()) * times_.ProductSeconds());
  }
  bool HasFlows() const {
    return std::any_of(v_.data(), v_.data() + v_.size(), [](float v) { return v != 0.0F; });
  }
  bool WasInterrupted() const { return result_.termination == Termination::kInterrupted; }
  bool HasDual() const {
    return times_.HasDual(WasInterrupted() ? Policy::kSecondsAfterInterrupt
                                           : options_.time_limit_seconds);
  }
  double FlowSeconds() const {  // through all pairs
    return static_cast<double>(problem_.pairs().num_tiles()) * times_.FlowTileSeconds() +
           static_cast<double>(problem_.products().num_squares()) * times_.FlowProductSeconds();
  }
  double VerifierSeconds() const {
    return static_cast<double>(problem_.pairs().num_tiles()) * times_.VerifierTileSeconds() +
           static_cast<double>(problem_.products().num_squares()) *
               times_.VerifierProductSeconds() +
           times_.VerifierPathSeconds(HasDual());
  }
  double SecondsLeft() const {
    return options_.time_limit_seconds - clock_.Seconds() - Policy::kSlow * VerifierSeconds() -
           (sampled_ ? all_seconds_ : 0.0);
  }
  bool HasTimeToLearn() const {
    if (options_.max_iterations < Policy::kLearnIterations + Policy::kFewIterations) return false;
    return times_.SampleSeconds(Policy::kLeastRounds) +
               static_cast<double>(problem_.pairs().num_tiles()) * times_.LearnTileSeconds() +
               static_cast<double>(problem_.products().num_squares()) *
                   times_.LearnProductSeconds() <=
           Policy::kOfEstimate * plan_.seconds;
  }
  double EndOfFirstRoutes() const {
    const double now = clock_.Seconds();
    return now + Policy::kShareOfFirstRoutes * std::max(0.0, options_.time_limit_seconds - now);
  }
  double RoundSeconds() const {
    return routing_seconds_ + Policy::kFewIterations * iteration_seconds_;
  }
  bool HasTimeForARound() const {
    return !stopped_ && result_.iterations + Policy::kFewIterations <= options_.max_iterations &&
           SecondsLeft() > RoundSeconds();
  }
  void Offer(double upper) {
    if (upper < round_upper_) {
      round_upper_ = upper;
      round_v_ = v_;
    }
    // On a sample it is an estimate.
    if (sampled_ || !(upper < result_.upper)) return;
    result_.upper = upper;
    best_v_ = v_;
    best_y_ = y_;
    best_costs_ = costs_;
    if (holds_best_) return;
    holds_best_ = true;
    result_.proof.routing = routing_;
    const Matrix<double>& weights = problem_.edge_weights();
    Matrix<float>& kept = result_.proof.dual_point.edge_weights;
    kept = Matrix<float>(weights.rows(), weights.cols());
    double sum = 0.0;
    for (std::size_t n = 0; n < weights.size(); ++n) {
      kept.data()[n] = static_cast<float>(weights.data()[n]);
      sum += weights.data()[n];
    }
    const auto count = static_cast<double>(problem_.size());
    result_.routed_weight = sum / count;
    result_.left_weight = 2.0 * problem_.residual_weight() / count;
  }

  // Routes, and begins at these potentials; false where it was stopped before the end, which the first
  // round answers by throwing Interrupted.
  bool Begin(const Routing& routing, const Matrix<float>& potentials, bool may_stop) {
    Stopwatch clock;
    // Interrupted while it learned, there is no bound yet.
    const bool finishes = stopped_ && options_.finishes_first_bound &&
                          RouteAllSeconds() < Policy::kSecondsAfterInterrupt;
    if (stopped_ && !finishes) throw Interrupted("routing was interrupted before it began");
    try {
      problem_.Route(
          routing,
          [&](double done) {
            return (finishes || MayGoOn(done)) && (!may_stop || SecondsLeft() > 0.0);
          },
          // Some of a first bound is better than none.
          [&, end = EndOfFirstRoutes()] { return !may_stop && clock_.Seconds() > end; });
    } catch (const Interrupted&) {
      if (!may_stop) throw;
      if (!stopped_) result_.termination = Termination::kTimeLimit;
      return false;
    }
    routing_seconds_ = clock.Seconds();
    routing_ = routing;
    holds_best_ = false;
    round_upper_ = std::numeric_limits<double>::infinity();
    const double path_only = problem_.Upper(problem_.unary());
    v_ = potentials;
    if (finishes && FlowSeconds() > Policy::kShareOfIteration * Policy::kSecondsAfterInterrupt)
      v_ = Matrix<float>(v_.rows(), v_.cols());
    clock = {};
    Restart();
    all_seconds_ = HasFlows() ? clock.Seconds() : FlowSeconds();
    if (!std::isfinite(result_.path_only)) result_.path_only = path_only;
    // A second of its own is not worth the curvature.
    if (stopped_ || SecondsLeft() <= 0.0) return true;
    sampled_ = problem_.UseSample(times_.SampledSquares());
    StartRound();
    return true;
  }

  // From the potentials as they are, with steps that fit.
  void StartRound() {
    round_upper_ = std::numeric_limits<double>::infinity();
    times_shortened_ = 0;
    Restart();
    const double curvature = problem_.Curvature(costs_, y_, &direction_);
    step_ = curvature > 0.0 ? std::min(kLongestStep, kStepByCurvature / curvature) : 1.0;
  }

  void Restart() {
    momentum_ = {};
    if (HasFlows()) {
      problem_.Costs(v_, &of_flow_);
    } else {
      of_flow_ = problem_.unary();
    }
    costs_ = of_flow_;
    Offer(problem_.Upper(costs_, &y_));
  }

  // What the best potentials of the sample prove with all pairs.
  void LookAtAll() {
    if (!sampled_) return;
    problem_.LookAtAll();
    sampled_ = false;
    // What was proven before has to do.
    if (WasInterrupted() && all_seconds_ > Policy::kSecondsAfterInterrupt) return;
    round_upper_ = std::numeric_limits<double>::infinity();
    v_ = round_v_;
    Restart();
  }

  // On a sample while what that gains is gained with all pairs, too.
  bool IterateToTheEnd() {
    const bool was_sampled = sampled_;
    while (sampled_) {
      const double before = result_.upper;
      const bool go_on = Iterate(Policy::kOnSample);
      LookAtAll();
      if (!go_on) return false;
      if (!Gains(before, result_.upper, Policy::kWorthwhileOnSample)) break;
      sampled_ = problem_.UseSample(times_.SampledSquares());
      round_upper_ = std::numeric_limits<double>::infinity();
      Restart();
    }
    if (was_sampled) {
      if (holds_best_) v_ = best_v_;
      Restart();
      times_shortened_ = Policy::kMostShortened;  // its steps were
    }
    return Iterate(options_.max_iterations);
  }

  // Accelerated dual averaging (Nesterov 2005; Tseng 2008): gradients are taken between the mean costs and
  // those of the last flow, potentials are their weighted sum, flows q = clip(v_a - v_b) its projection.
  // With bounded momentum the potentials themselves converge, and one of them proves the bound.
  // False where there is no time or iteration left.
  bool Iterate(int iterations) {
    double progress = std::numeric_limits<double>::infinity();
    double reference = progress;  // some iterations ago
    double proven = progress;     // by potentials alone, some iterations ago
    for (int k = 1; k <= iterations; ++k) {
      if (!Continue()) return false;
      Stopwatch clock;
      const float share = momentum_.share();
      Mix(costs_, of_flow_, share, &between_);
      const double mean = problem_.Upper(between_, &y_);
      problem_.Step(y_, static_cast<float>(step_ * momentum_.stretch()), &v_);
      problem_.Costs(v_, &of_flow_);
      Mix(costs_, of_flow_, share, &costs_);
      const double upper = problem_.Upper(of_flow_);
      momentum_.Update(upper, mean);
      Offer(upper);
      ++result_.iterations;
      iteration_seconds_ = clock.Seconds();
      if (!Tell()) return false;
      progress = std::min({progress, upper, mean});
      if (k % Policy::kPatience == 0) {
        const bool gains = Gains(reference, progress);
        if (!Gains(proven, round_upper_) && !Shorten() && !gains) break;
        reference = progress;
        proven = round_upper_;
      }
    }
    return true;
  }

  // False where steps have been shortened before.
  bool Shorten() {
    if (times_shortened_ == Policy::kMostShortened) return false;
    ++times_shortened_;
    step_ *= kShorterStep;
    v_ = round_v_;
    Restart();
    return true;
  }

  bool Tell() {
    const SolveRecord record{result_.iterations, clock_.Seconds(), IfFinite(result_.upper)};
    result_.records.push_back(record);
    if (!options_.on_iteration || options_.on_iteration(record)) return true;
    stopped_ = true;
    result_.termination = Termination::kInterrupted;
    return false;
  }

  bool Continue() {
    if (result_.iterations >= options_.max_iterations) {
      stopped_ = true;
      result_.termination = Termination::kIterationLimit;
    } else if (IsLate()) {
      stopped_ = true;
      result_.termination = Termination::kTimeLimit;
    }
    return !stopped_;
  }

  bool IsLate() const {
    const double left = options_.time_limit_seconds - clock_.Seconds();
    // The first one with all pairs, not with a sample.
    if (result_.iterations == 0 && !learning_ && all_seconds_ > Policy::kShareOfIteration * left)
      return true;
    return SecondsLeft() < iteration_seconds_ && (result_.iterations >= Policy::kCheapIterations ||
                                                  Policy::kCheapIterations * iteration_seconds_ >
                                                      Policy::kSmallShare * VerifierSeconds());
  }

  const DenseCrf& model_;
  const RoutedOptions& options_;
  RoutedTimes times_;
  Stopwatch clock_;
  RoutedResult result_;
  const RoutesPlan plan_;
  RoutedProblem problem_;
  // Of the round: what is routed, potentials, the costs of their flow, mean costs, marginals.
  Routing routing_;
  Matrix<float> v_;
  Matrix<float> of_flow_;
  Matrix<float> costs_;
  Matrix<float> between_;
  Matrix<float> y_;
  Matrix<float> direction_;  // of the largest curvature
  double step_ = 1.0;
  Momentum momentum_;
  double round_upper_ = 0.0;
  Matrix<float> round_v_;
  int times_shortened_ = 0;
  bool holds_best_ = false;  // the best bound so far is one of this round
  Matrix<float> best_v_;
  Matrix<float> best_y_;
  Matrix<float> best_costs_;
  bool sampled_ = false;  // flows look at a sample of the squares
  bool stopped_ = false;
  bool learning_ = false;     // which routes pay
  double all_seconds_ = 0.0;  // of flows through all pairs
  double routing_seconds_ = 0.0;
  double iteration_seconds_ = 0.0;
};

}  // namespace

RoutedResult SolveRouted(const DenseCrf& model, const RoutedOptions& options) {
  if (!(options.temperature > 0.0) || !std::isfinite(options.temperature)) {
    throw InvalidInput(fmt::format("the temperature of routed is {}, expected a finite number > 0",
                                   options.temperature));
  }
  const Matrix<float>& y = options.marginals;
  if (y.size() > 0 && (y.rows() != model.unary().rows() || y.cols() != model.unary().cols())) {
    throw InvalidInput(fmt::format("the marginals to begin with are {} x {}, expected {} x {}",
                                   y.rows(), y.cols(), model.unary().rows(), model.unary().cols()));
  }
  return RoutedRun(model, options).Solve();
}

}  // namespace submarine::internal
