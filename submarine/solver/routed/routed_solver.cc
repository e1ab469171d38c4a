#include "submarine/solver/routed/routed_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/loop_interrupt.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/extension/plain_bound_floor.h"
#include "submarine/solver/routed/momentum.h"
#include "submarine/solver/routed/routed_problem.h"
#include "submarine/solver/routed/routed_times.h"

namespace submarine::internal {
namespace {

// Steps are this over the curvature: two converge, and take half the time that one does.
constexpr double kStepByCurvature = 2.0;
// Where marginals hardly answer to flows: potentials are those of marginals that differ by 1e-4, and stay finite.
constexpr double kLongestStep = 1e4;
// Of the first round: what is left to flows tells marginals apart that the next round goes by, and where
// unaries are weak everywhere it ends lower than routing all there is.
constexpr double kFirstShare = 0.9;
// Marginals that differ by less count as equal for routing: what they say is not exact either.
constexpr double kSameMarginals = 0.05;
// Rounds that learn which routes pay at most, and by how much the last one counts more in the mean.
constexpr int kMostRounds = 24;
constexpr float kMeanWeight = 1.5F;
constexpr int kOnSample = 16;  // iterations until what they prove with all pairs is looked at
constexpr int kPatience = 8;   // iterations that a round has to gain kWorthwhile
constexpr double kWorthwhile = 1e-4;
constexpr double kWorthwhileOnSample = 2.5e-4;  // of kOnSample iterations
constexpr double kOfInterval = 100.0;  // these shares count more where log Z is known well,
constexpr double kLeastOfSize = 0.01;  // up to a point
// The curvature grows where the flows make labels certain: a round that no longer gains goes on from its best
// potentials with shorter steps, so many times.
constexpr int kMostShortened = 2;
// Of paths where most labels are equally far from each other: states of a position, thickness, share of the time.
constexpr double kMostStates = 512.0;
constexpr int kThickestOfStates = 2;  // 3 where there are few variables, as pairs take longer too
constexpr std::size_t kFewVariables = 30000;
constexpr int kFewLabels = 3;  // DefaultThickness is as much as pays
constexpr double kShareOfPaths = 0.6;
constexpr double kRaise = 1.2;  // cutoffs, step by step
constexpr double kRaiseProducts = 1.3;
constexpr int kFewIterations = 8;  // that a new round needs at least
// The first ones gain most: they are made in any case where they take less than this share of the verifier's time.
constexpr int kCheapIterations = 4;
constexpr double kSmallShare = 0.3;
constexpr double kShareOfIteration = 0.2;  // of the time left: the first one may take it
constexpr double kSecondsAfterInterrupt = 1.0;
constexpr double kShareOfFirstRoutes = 0.4;  // of the time left: verifying takes as long, or longer
constexpr double kThickRounds =
    1.4;  // a single round of thick paths is worth it with time to spare
constexpr double kCutoffForAll = 0.05;
constexpr double kProductLimit = 1.0;
// Products are worth what they cost in tightness where they leave at most this share of the time.
constexpr double kShareOfProducts = 0.65;
constexpr std::size_t kLeastPathPiece = 8192;

int ThickestOfStates(const DenseCrf& model) {
  if (model.num_labels() <= kFewLabels) return 1;
  return kThickestOfStates + (model.num_variables() <= kFewVariables ? 1 : 0);
}

// Of both directions, in double.
double PathBytes(const DenseCrf& model, int thickness) {
  return 2.0 * sizeof(double) * static_cast<double>(model.num_variables()) *
         std::pow(model.num_labels(), thickness);
}

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
        paths_(Paths(options.products != RoutedProducts::kNever)),
        seconds_(SecondsForSquares()),
        squares_(ChooseSquares()),
        problem_(model, paths_, options.temperature, squares_),
        direction_(RandomDirection(problem_.num_cuts(), problem_.size())) {}

  RoutedResult Solve() {
    result_.cutoff = problem_.pairs().cutoff();
    const Matrix<float> no_potentials(problem_.num_cuts(), problem_.size());
    v_ = no_potentials;
    const Routing routing = HasTimeToLearn() ? LearnRouting() : FirstRouting();
    bool go_on = Begin(routing, v_, false) && IterateToTheEnd();
    // Never looser than the plain bound: proven, or tried (by square, where routing is).
    if (go_on && HasTimeForARound() &&
        result_.upper > PlainBoundFloor(model_, options_.temperature)) {
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
    routing.paths = paths_;
    routing.product_limit = squares_.product_limit;
    routing.product_cutoff = squares_.product_cutoff;
    routing.by_square = squares_.by_square;
    return routing;
  }

  // Where there is no time to learn: between variables of equal marginals, if any are given.
  Routing FirstRouting() const {
    Routing routing = RoutingEverywhere();
    if (options_.marginals.size() == 0) {
      routing.share = kFirstShare;
      return routing;
    }
    routing.z = CutSums(options_.marginals);
    routing.threshold =
        Matrix<float>(model_.num_variables(), static_cast<std::size_t>(paths_.thickness),
                      static_cast<float>(kSameMarginals));
    return routing;
  }

  // Which routes pay depends on the marginals, and these on the routes: a convex problem, solved in the manner of
  // Frank-Wolfe on a sample of the squares. Every round adds to the means of marginals and of expected distances, and the
  // next one routes what pays under these. Returns the best round's routing, and leaves its potentials in v_.
  Routing LearnRouting() {
    Routing routing = RoutingEverywhere();
    routing.share = kFirstShare;
    Routing mean;  // of what pays
    Routing best = routing;
    Matrix<float> best_v = v_;
    double least = std::numeric_limits<double>::infinity();
    all_seconds_ = RouteAllSeconds();
    for (int round = 0; round < kMostRounds; ++round) {
      Stopwatch clock;
      if (!RouteSample(routing)) break;
      sampled_ = true;
      StartRound();
      const bool go_on = Iterate(round == 0 ? kFirstIterations : kRoundIterations);
      const bool gains = Gains(least, round_upper_, kWorthwhileOnSample);
      if (round_upper_ < least) {
        least = round_upper_;
        best = routing;
        best_v = round_v_;
      }
      ++result_.rounds;
      const double seconds = clock.Seconds();
      if (!go_on || SecondsLeft() < seconds || (round + 1 >= kRounds && !gains)) break;
      problem_.Upper(costs_, &y_);
      const Routing pays = problem_.RouteWhereItPays(y_, 1.0, 0.0);
      if (round == 0) {
        mean = pays;
      } else {
        const float share = kMeanWeight / (static_cast<float>(round) + kMeanWeight);
        Mix(mean.z, pays.z, share, &mean.z);
        Mix(mean.threshold, pays.threshold, share, &mean.threshold);
      }
      routing = mean;
      for (std::size_t n = 0; n < routing.threshold.size(); ++n) {
        float& limit = routing.threshold.data()[n];
        limit = std::max(limit, static_cast<float>(kSameMarginals));
      }
    }
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
    result_.end = RoutedEnd::kInterrupted;
    return false;
  }

  // By a share of the bound, or of what there is to gain, where that is less.
  bool Gains(double before, double after, double worthwhile = kWorthwhile) const {
    if (!std::isfinite(before)) return true;
    const double size = std::max(1.0, std::abs(before));
    // What a sample says may be below any lower bound.
    const double to_gain = std::max(kOfInterval * (before - options_.lower), kLeastOfSize * size);
    return after < before - worthwhile * std::min(to_gain, size);
  }

  // Paths are the thicker, the less disagreement costs them, and sums take the longer.
  int Thickness() const {
    if (options_.thickness > 0) return options_.thickness;
    int thickness = DefaultThickness(model_.num_labels());
    const LabelSpace& labels = model_.labels();
    if (!MostDistancesAreLargest(CutDistance(*labels.cuts, model_.metric().length)))
      return thickness;
    const double seconds = std::min(options_.planned_seconds, options_.time_limit_seconds);
    const auto fits = [&](int k) {
      return std::pow(model_.num_labels(), k) <= kMostStates &&
             PathBytes(model_, k) <= static_cast<double>(options_.max_path_bytes) &&
             kLearnIterations * times_.PathSeconds(k) <= kShareOfPaths * seconds;
    };
    while (thickness < ThickestOfStates(model_) && fits(thickness + 1)) ++thickness;
    return thickness;
  }

  RoutedPaths Paths(bool in_blocks) {
    RoutedOrder order = options_.order;
    if (order == RoutedOrder::kBest && in_blocks) order = RoutedOrder::kBlocks;
    RoutedPaths paths = MakePath(model_, order, Thickness(), options_.temperature, &result_.order);
    CutLongPaths(kLeastPathPiece, &paths);
    times_.thickness = paths.thickness;
    return paths;
  }

  double SecondsForSquares() const {
    return std::max(
        0.0, std::min(options_.planned_seconds, options_.time_limit_seconds) - clock_.Seconds());
  }

  // All pairs of squares with kernels above a cutoff where there is time for that, or where products would not save much;
  // otherwise products where they are good bounds, which leaves few squares to look at. Chooses paths that fit.
  TilePairsOptions ChooseSquares() {
    TilePairsOptions squares{
        .cutoff = options_.cutoff,
        .max_bytes = options_.max_bytes,
        .enough_tiles =
            std::max(0.0, seconds_ - times_.SampleSeconds(kRounds)) / times_.LearnTileSeconds(),
        .most_tiles = seconds_ / times_.LeastTileSeconds(),
        .by_square = options_.by_square};
    if (options_.products == RoutedProducts::kNever) return squares;
    const std::vector<PlacedKernel> kernels = PlaceKernels(model_, paths_);
    const std::size_t blocks = NumBlocks(model_.num_variables());
    // With the cutoff for plenty of time, whatever was chosen for less.
    TilePairsOptions full = squares;
    full.cutoff = std::min(squares.cutoff, kCutoffForAll);
    const SquareCounts all = EstimateSquares(kernels, blocks, full);
    const bool has_room =
        all.tiles <= squares.enough_tiles &&
        SquareBytes(all, squares.by_square) <= static_cast<double>(squares.max_bytes);
    if (options_.products == RoutedProducts::kWhereTimeIsShort &&
        (has_room || !ProductsSaveTime(kernels, blocks))) {
      paths_ = Paths(false);
      seconds_ = SecondsForSquares();
      squares.most_tiles = seconds_ / times_.LeastTileSeconds();
      return squares;
    }
    squares.product_limit = kProductLimit;
    squares.enough_tiles = squares.most_tiles = std::numeric_limits<double>::infinity();
    // The first of these that there is time and memory for; then ever larger kernel values.
    struct Candidate {
      bool thick;
      bool learns;  // two rounds
      double cutoff;
      double product_cutoff;
    };
    constexpr Candidate kCandidates[] = {{true, true, 0.05, 0.05}, {true, true, 0.1, 0.05},
                                         {true, true, 0.2, 0.1},   {true, false, 0.2, 0.1},
                                         {false, true, 0.1, 0.05}, {false, true, 0.2, 0.1},
                                         {false, false, 0.2, 0.05}};
    const int thick = Thickness();
    const auto fits = [&](const Candidate& candidate) {
      times_.thickness = paths_.thickness = candidate.thick ? thick : 1;
      squares.cutoff = candidate.cutoff;
      squares.product_cutoff = candidate.product_cutoff;
      const SquareCounts counts = EstimateSquares(kernels, blocks, squares);
      double seconds =
          counts.tiles * times_.LeastTileSeconds() + counts.products * times_.LeastProductSeconds();
      if (candidate.thick) seconds *= kThickRounds;
      if (candidate.learns) {
        seconds = counts.tiles * times_.LearnTileSeconds() +
                  counts.products * times_.LearnProductSeconds() +
                  times_.SampleSeconds(kLeastRounds);
      }
      return seconds <= seconds_ &&
             SquareBytes(counts, squares.by_square) <= static_cast<double>(squares.max_bytes);
    };
    if (std::none_of(std::begin(kCandidates), std::end(kCandidates), fits)) {
      Candidate least = kCandidates[std::size(kCandidates) - 1];
      while (!fits(least) && least.cutoff < kCutoffForTime) {
        least.cutoff = std::min(kCutoffForTime, kRaise * least.cutoff);
        least.product_cutoff = std::min(kCutoffForTime, kRaiseProducts * least.product_cutoff);
      }
    }
    return squares;
  }

  bool ProductsSaveTime(const std::vector<PlacedKernel>& kernels, std::size_t blocks) const {
    TilePairsOptions squares{.cutoff = kCutoffForRounds};
    const double all = EstimateSquares(kernels, blocks, squares).tiles * times_.LeastTileSeconds();
    squares.product_limit = kProductLimit;
    const SquareCounts counts = EstimateSquares(kernels, blocks, squares);
    return counts.tiles * times_.LeastTileSeconds() +
               counts.products * times_.LeastProductSeconds() <=
           kShareOfProducts * all;
  }

  double RouteAllSeconds() const {
    return kPassesToLearn *
           (static_cast<double>(problem_.pairs().num_tiles()) * times_.TileSeconds() +
            static_cast<double>(problem_.products().num_squares()) * times_.ProductSeconds());
  }
  bool HasFlows() const {
    return std::any_of(v_.data(), v_.data() + v_.size(), [](float v) { return v != 0.0F; });
  }
  bool WasInterrupted() const { return result_.end == RoutedEnd::kInterrupted; }
  bool HasDual() const {
    return times_.HasDual(WasInterrupted() ? kSecondsAfterInterrupt : options_.time_limit_seconds);
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
    return options_.time_limit_seconds - clock_.Seconds() - kSlow * VerifierSeconds() -
           (sampled_ ? all_seconds_ : 0.0);
  }
  bool HasTimeToLearn() const {
    constexpr double kOfEstimate = 1.05;  // the cutoff was raised by a sample of the squares
    if (options_.max_iterations < kLearnIterations + kFewIterations) return false;
    return times_.SampleSeconds(kLeastRounds) +
               static_cast<double>(problem_.pairs().num_tiles()) * times_.LearnTileSeconds() +
               static_cast<double>(problem_.products().num_squares()) *
                   times_.LearnProductSeconds() <=
           kOfEstimate * seconds_;
  }
  double EndOfFirstRoutes() const {
    const double now = clock_.Seconds();
    return now + kShareOfFirstRoutes * std::max(0.0, options_.time_limit_seconds - now);
  }
  double RoundSeconds() const { return routing_seconds_ + kFewIterations * iteration_seconds_; }
  bool HasTimeForARound() const {
    return !stopped_ && result_.iterations + kFewIterations <= options_.max_iterations &&
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
    const bool finishes =
        stopped_ && options_.finishes_first_bound && RouteAllSeconds() < kSecondsAfterInterrupt;
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
      if (!stopped_) result_.end = RoutedEnd::kTimeLimit;
      return false;
    }
    routing_seconds_ = clock.Seconds();
    ++result_.rounds;
    routing_ = routing;
    holds_best_ = false;
    round_upper_ = std::numeric_limits<double>::infinity();
    const double path_only = problem_.Upper(problem_.unary());
    v_ = potentials;
    if (finishes && FlowSeconds() > kShareOfIteration * kSecondsAfterInterrupt)
      v_ = Matrix<float>(v_.rows(), v_.cols());
    clock = {};
    Restart();
    all_seconds_ = HasFlows() ? clock.Seconds() : FlowSeconds();
    if (!std::isfinite(result_.path_only)) result_.path_only = path_only;
    // A second of its own is not worth the curvature.
    if (stopped_ || SecondsLeft() <= 0.0) return true;
    sampled_ = problem_.LookAtSample(times_.SampledSquares());
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
    if (WasInterrupted() && all_seconds_ > kSecondsAfterInterrupt) return;
    round_upper_ = std::numeric_limits<double>::infinity();
    v_ = round_v_;
    Restart();
  }

  // On a sample while what that gains is gained with all pairs, too.
  bool IterateToTheEnd() {
    const bool was_sampled = sampled_;
    while (sampled_) {
      const double before = result_.upper;
      const bool go_on = Iterate(kOnSample);
      LookAtAll();
      if (!go_on) return false;
      if (!Gains(before, result_.upper, kWorthwhileOnSample)) break;
      sampled_ = problem_.LookAtSample(times_.SampledSquares());
      round_upper_ = std::numeric_limits<double>::infinity();
      Restart();
    }
    if (was_sampled) {
      if (holds_best_) v_ = best_v_;
      Restart();
      times_shortened_ = kMostShortened;  // its steps were
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
      if (k % kPatience == 0) {
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
    if (times_shortened_ == kMostShortened) return false;
    ++times_shortened_;
    step_ *= kShorterStep;
    v_ = round_v_;
    Restart();
    return true;
  }

  bool Tell() {
    const RoutedRecord record{result_.iterations, clock_.Seconds(), result_.upper};
    result_.records.push_back(record);
    if (!options_.on_iteration || options_.on_iteration(record)) return true;
    stopped_ = true;
    result_.end = RoutedEnd::kInterrupted;
    return false;
  }

  bool Continue() {
    if (result_.iterations >= options_.max_iterations) {
      stopped_ = true;
      result_.end = RoutedEnd::kIterationLimit;
    } else if (result_.iterations == 0 &&
               all_seconds_ >
                   kShareOfIteration * (options_.time_limit_seconds - clock_.Seconds())) {
      stopped_ = true;
      result_.end = RoutedEnd::kTimeLimit;
    } else if (SecondsLeft() < iteration_seconds_ &&
               (result_.iterations >= kCheapIterations ||
                kCheapIterations * iteration_seconds_ > kSmallShare * VerifierSeconds())) {
      stopped_ = true;
      result_.end = RoutedEnd::kTimeLimit;
    }
    return !stopped_;
  }

  const DenseCrf& model_;
  const RoutedOptions& options_;
  RoutedTimes times_;
  Stopwatch clock_;
  RoutedResult result_;
  RoutedPaths paths_;
  double seconds_;  // left for squares: to route, iterate and verify
  // Marginals of a first round that routes everywhere tell more than those given, and more than pairs of small weight
  // do, but take a round.
  TilePairsOptions squares_;
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
  double all_seconds_ = 0.0;  // of flows through all pairs
  double routing_seconds_ = 0.0;
  double iteration_seconds_ = 0.0;
};

}  // namespace

double MostPathBytes(const DenseCrf& model) {
  int thickness = DefaultThickness(model.num_labels());
  while (thickness < ThickestOfStates(model) &&
         std::pow(model.num_labels(), thickness + 1) <= kMostStates)
    ++thickness;
  return PathBytes(model, thickness);
}

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
