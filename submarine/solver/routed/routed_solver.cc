#include "submarine/solver/routed/routed_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/solver/routed/routed_problem.h"

namespace submarine::internal {
namespace {

constexpr double kFirstStep = 1.0;  // of potentials
constexpr double kInertia = 3.0;    // of node costs
constexpr double kShorter = 0.6;    // after a step that led upwards
constexpr double kLonger = 1.1;
// Marginals that differ by less count as equal for routing: what they say is not exact either.
constexpr double kSameMarginals = 0.05;
constexpr int kFirstRound = 20;  // iterations
constexpr int kPatience = 8;     // iterations that a round has to gain kWorthwhile
constexpr double kWorthwhile = 2e-4;
// Of routing a square of pairs, on two cores; a round takes about twice as long as routing.
constexpr double kTileSeconds = 4e-6;
constexpr double kRoundsToLearn = 5.0;
constexpr int kFewIterations = 8;  // that a new round needs at least

// sum_a z_a of the unaries, and the entropy, at the distribution that all variables share.
double SharedValue(const std::vector<double>& mean_unary, double temperature) {
  const double least = *std::min_element(mean_unary.begin(), mean_unary.end());
  double sum = 0.0;
  for (const double phi : mean_unary) sum += std::exp((least - phi) / temperature);
  return temperature * std::log(sum) - least;
}

class RoutedRun {
 public:
  RoutedRun(const DenseCrf& model, const RoutedOptions& options)
      : model_(model),
        options_(options),
        paths_(MakePath(
            model, options.order,
            options.thickness > 0 ? options.thickness : DefaultThickness(model.num_labels()))),
        problem_(model, paths_, options.temperature,
                 {.cutoff = options.cutoff, .max_bytes = options.max_bytes}) {}

  RoutedResult Solve() {
    result_.cutoff = problem_.pairs().cutoff();
    Routing routing;
    routing.paths = paths_;
    if (options_.marginals.size() > 0 && !HasTimeToLearn()) {
      routing.z = CutSums(options_.marginals);
      routing.threshold =
          Matrix<float>(model_.num_variables(), static_cast<std::size_t>(paths_.thickness),
                        static_cast<float>(kSameMarginals));
    }
    for (int round = 0; round < options_.max_rounds; ++round) {
      if (round > 0 && !HasTimeForARound()) break;
      const double before = result_.upper;
      const bool last = round + 1 == options_.max_rounds;
      if (!Round(routing, last ? options_.max_iterations : kFirstRound, round > 0)) break;
      ++result_.rounds;
      if (round > 0 && !(result_.upper < before - kWorthwhile * std::max(1.0, std::abs(before))))
        break;
      if (!last) routing = problem_.RouteWhereItPays(y_, 1.0, 1.0, kSameMarginals);
    }
    // Never looser than the plain bound: proven, or tried.
    if (!stopped_ && HasTimeForARound() &&
        result_.upper > PlainBoundFloor(model_, options_.temperature)) {
      Routing nothing;
      nothing.paths = paths_;
      nothing.share = 0.0;
      if (Round(nothing, options_.max_iterations, true)) ++result_.rounds;
    }
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

  double SecondsLeft() const {
    return options_.time_limit_seconds - clock_.Seconds() -
           options_.verifier_passes * routing_seconds_;
  }
  // Marginals of a first round that routes everywhere tell more than those given, but take a round.
  bool HasTimeToLearn() const {
    const double routing = kTileSeconds * static_cast<double>(problem_.pairs().num_tiles());
    return SecondsLeft() > (kRoundsToLearn + options_.verifier_passes) * routing;
  }
  bool HasTimeForARound() const {
    return !stopped_ && result_.iterations + kFewIterations <= options_.max_iterations &&
           SecondsLeft() > routing_seconds_ + kFewIterations * iteration_seconds_;
  }

  void Offer(double upper, const Routing& routing, const Matrix<float>* v, const Matrix<float>& y) {
    if (!(upper < result_.upper)) return;
    result_.upper = upper;
    if (!routing_kept_) {
      result_.proof.routing = routing;
      routing_kept_ = true;
      double sum = 0.0;
      for (std::size_t n = 0; n < problem_.edge_weights().size(); ++n)
        sum += problem_.edge_weights().data()[n];
      const auto count = static_cast<double>(problem_.size());
      result_.routed_weight = sum / count;
      result_.left_weight = 2.0 * problem_.pairs().residual_weight() / count;
    }
    best_v_ = v != nullptr ? std::optional(*v) : std::nullopt;
    best_y_ = y;
  }

  // Routes and solves; false where it was stopped before the end.
  bool Round(const Routing& routing, int iterations, bool may_stop) {
    Stopwatch clock;
    try {
      problem_.Route(routing, [&](double done) {
        const bool go_on = !options_.on_routing || options_.on_routing(done);
        if (!go_on) {
          stopped_ = true;
          result_.end = RoutedEnd::kInterrupted;
        }
        // A first bound is worth its time.
        return go_on && (!may_stop || SecondsLeft() > 0.0);
      });
    } catch (const Interrupted&) {
      if (!may_stop) throw;
      if (!stopped_) result_.end = RoutedEnd::kTimeLimit;
      return false;
    }
    routing_seconds_ = clock.Seconds();
    routing_kept_ = false;
    Matrix<float> v(problem_.num_cuts(), problem_.size());
    Matrix<float> costs = problem_.unary();
    Matrix<float> of_flow;
    Matrix<float> y_new;
    double last = problem_.Upper(costs, &y_);
    if (result_.iterations == 0) result_.path_only = last;
    Offer(last, routing, nullptr, y_);
    Matrix<float> ahead = y_;
    double step = kFirstStep;
    double reference =
        std::numeric_limits<double>::infinity();  // this round's, some iterations ago
    bool finished = true;
    for (int k = 1; k <= iterations && finished; ++k) {
      Stopwatch of_iteration;
      problem_.Step(ahead, static_cast<float>(step), &v);
      problem_.Costs(v, &of_flow);
      // The value at the potentials, which prove it alone, and the mean costs' marginals.
      const double upper = problem_.Upper(of_flow);
      Average(of_flow, &costs);
      problem_.Upper(costs, &y_new);
      ParallelFor(y_.size(), 1 << 14, [&](std::size_t begin, std::size_t end) {
        for (std::size_t n = begin; n < end; ++n)
          ahead.data()[n] = 2.0F * y_new.data()[n] - y_.data()[n];
      });
      std::swap(y_, y_new);
      step = upper > last ? kShorter * step : std::min(kFirstStep, kLonger * step);
      last = upper;
      Offer(upper, routing, &v, y_);
      ++result_.iterations;
      iteration_seconds_ = of_iteration.Seconds();
      finished = Continue();
      if (k % kPatience == 0) {
        if (last > reference - kWorthwhile * std::max(1.0, std::abs(reference))) break;
        reference = last;
      }
    }
    if (routing_kept_) Keep();
    return finished;
  }

  void Average(const Matrix<float>& of_flow, Matrix<float>* costs) const {
    constexpr auto kShare = static_cast<float>(1.0 / (1.0 + kInertia));
    ParallelFor(costs->size(), 1 << 14, [&](std::size_t begin, std::size_t end) {
      for (std::size_t n = begin; n < end; ++n)
        costs->data()[n] += kShare * (of_flow.data()[n] - costs->data()[n]);
    });
  }

  bool Continue() {
    const RoutedRecord record{result_.iterations, clock_.Seconds(), result_.upper};
    result_.records.push_back(record);
    if (options_.on_iteration && !options_.on_iteration(record)) {
      stopped_ = true;
      result_.end = RoutedEnd::kInterrupted;
    } else if (result_.iterations >= options_.max_iterations) {
      stopped_ = true;
      result_.end = RoutedEnd::kIterationLimit;
    } else if (SecondsLeft() < iteration_seconds_) {
      stopped_ = true;
      result_.end = RoutedEnd::kTimeLimit;
    }
    return !stopped_;
  }

  void Keep() {
    result_.proof.flows.clear();
    if (best_v_)
      result_.proof.flows.push_back({1.0, FlowShape::kClip, problem_.Evidence(*best_v_)});
    result_.marginals = problem_.ByVariable(best_y_);
  }

  const DenseCrf& model_;
  const RoutedOptions& options_;
  Stopwatch clock_;
  RoutedPaths paths_;
  RoutedProblem problem_;
  RoutedResult result_;
  Matrix<float> y_;
  std::optional<Matrix<float>> best_v_;
  Matrix<float> best_y_;
  bool routing_kept_ = false;  // the best bound so far is one of this round
  bool stopped_ = false;
  double routing_seconds_ = 0.0;
  double iteration_seconds_ = 0.0;
};

}  // namespace

double PlainBoundFloor(const DenseCrf& model, double temperature) {
  const auto n = static_cast<double>(model.num_variables());
  std::vector<double> mean(model.unary().cols(), 0.0);
  for (std::size_t a = 0; a < model.unary().rows(); ++a) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += model.unary()(a, i) / n;
  }
  return n * SharedValue(mean, temperature) - model.constant();
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
