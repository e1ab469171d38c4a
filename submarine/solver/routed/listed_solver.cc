#include "submarine/solver/routed/listed_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/stopwatch.h"
#include "submarine/solver/routed/banded_chain.h"
#include "submarine/solver/routed/listed_routes.h"
#include "submarine/solver/routed/momentum.h"

namespace submarine::internal {
namespace {

// Steps of potentials in units of T over the mean weight that is left at a variable. Too long ones are noticed.
constexpr double kStep = 6.0;
// Routes pay where the forest disagrees along their edge more often than marginals differ from the third variable's
// (docs/math.md). How often it will disagree once it has their weight is not known yet: about this much of what
// independent variables do. Smaller differences count for nothing.
constexpr double kDisagreement = 0.1;
constexpr double kSameListedMarginals = 0.005;
constexpr int kIterationsToGain = 4;
constexpr std::size_t kLeastPiece = 1024;  // of the path

class ListedRun {
 public:
  ListedRun(const DenseExtension& extension, const NeighbourList& pairs, const DenseStart& start,
            const ListedOptions& options)
      : extension_(extension),
        model_(extension.model()),
        options_(options),
        size_(model_.num_variables()) {
    result_.proof.routing = MakeRouting(start.marginals);
    ListedRoutes routes = RouteList(model_, pairs, result_.proof.routing);
    result_.routed_weight = routes.routed_weight;
    result_.left_weight = routes.left_weight;
    left_ = std::move(routes.left);
    sample_ = left_->Sample(options.sample_neighbours);
    sums_ = std::make_unique<BandedChain>(
        result_.proof.routing.paths, CutDistance(*model_.labels().cuts, model_.metric().length));
    sums_->SetWeights(routes.edge_weights, options.temperature);
    step_ = kStep * options.temperature / std::max(1e-9, routes.left_weight);
  }

  RoutedResult Solve(const Matrix<float>& potentials) {
    best_v_ = potentials;
    {
      const DenseExtension sample(model_, sample_ ? *sample_ : *left_, extension_.interrupted());
      try {
        while (!Iterate(sample)) step_ *= kShorterStep;
      } catch (const Interrupted&) {
        result_.termination = Termination::kInterrupted;
      }
    }
    if (result_.termination == Termination::kInterrupted && result_.iterations == 0)
      throw Interrupted("routing was interrupted before there was a bound");
    // On all that is left, which the sample has only on average.
    const DenseExtension all(model_, *left_);
    all.LabelModular(best_v_, FlowShape::kClip, &of_flow_);
    result_.upper = Upper(of_flow_, &y_);
    result_.marginals = y_;
    result_.proof.flows.resize(1);
    all.StoreEvidence(best_v_, FlowShape::kClip, 1.0, result_.proof.flows.data());
    return std::move(result_);
  }

 private:
  Routing MakeRouting(const Matrix<float>& marginals) {
    Routing routing;
    result_.order = HasRows(model_) ? VariableOrder::kRows : VariableOrder::kSpanning;
    routing.paths = MakePath(model_, result_.order, 1);
    CutLongPaths(kLeastPiece, &routing.paths);
    routing.share = options_.share;
    FlowTerm z;
    extension_.StoreEvidence(extension_.CutSums(marginals), FlowShape::kClip, 1.0, &z);
    routing.z = std::move(z.v);
    routing.threshold = Matrix<float>(size_, 1);
    const std::vector<std::uint32_t>& order = routing.paths.order;
    ParallelFor(size_, kRowGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) {
        if (p + 1 == size_)
          continue;  // no edge begins here; where a path ends the threshold does not matter
        const auto limit =
            kDisagreement * Disagreement(routing.z.row(order[p]), routing.z.row(order[p + 1]));
        routing.threshold(p, 0) = static_cast<float>(std::max(kSameListedMarginals, limit));
      }
    });
    return routing;
  }

  // E[d] of two independent variables, from the sums of their cuts.
  double Disagreement(std::span<const float> one, std::span<const float> other) const {
    double sum = 0.0;
    for (std::size_t c = 0; c < one.size(); ++c) {
      const double a = one[c];
      const double b = other[c];
      sum += model_.metric().length[c] * (a + b - 2.0 * a * b);
    }
    return sum;
  }

  // Accelerated dual averaging from the best potentials so far, see routed_solver.cc; false where its steps were too
  // long and led away from where they began.
  bool Iterate(const DenseExtension& pairs) {
    Matrix<float> v = best_v_;
    pairs.LabelModular(v, FlowShape::kClip, &of_flow_);
    Matrix<float> costs = of_flow_;
    Matrix<float> between = of_flow_;
    const double first = Upper(of_flow_, &y_);
    result_.path_only = std::min(result_.path_only, first);
    if (result_.iterations == 0) best_ = first;
    Momentum momentum;
    double reference = first;
    double progress = first;
    for (int k = 1;; ++k) {
      if (!Continue()) return true;
      Stopwatch clock;
      const float share = momentum.share();
      Mix(costs, of_flow_, share, &between);
      const double mean = Upper(between, &y_);
      const auto step = static_cast<float>(step_ * momentum.stretch());
      ParallelFor(size_, kRowGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t a = begin; a < end; ++a) pairs.StepPotentials(y_.row(a), step, v.row(a));
      });
      pairs.LabelModular(v, FlowShape::kClip, &of_flow_);
      Mix(costs, of_flow_, share, &costs);
      const double upper = Upper(of_flow_, nullptr);
      momentum.Update(upper, mean);
      ++result_.iterations;
      iteration_seconds_ = clock.Seconds();
      if (upper < best_) {
        best_ = upper;
        best_v_ = v;
      }
      if (!Tell()) return true;
      progress = std::min({progress, upper, mean});
      if (k % kIterationsToGain != 0) continue;
      if (progress >= first) return false;
      if (reference - progress < options_.worthwhile_gain * std::max(1.0, std::abs(progress)))
        return true;
      reference = progress;
    }
  }

  bool Continue() {
    if (result_.iterations >= options_.max_iterations) {
      result_.termination = Termination::kIterationLimit;
      return false;
    }
    if (options_.time_limit_seconds - clock_.Seconds() < iteration_seconds_) {
      result_.termination = Termination::kTimeLimit;
      return false;
    }
    return result_.termination != Termination::kInterrupted;
  }

  bool Tell() {
    const SolveRecord record{result_.iterations, clock_.Seconds(), IfFinite(best_)};
    result_.records.push_back(record);
    if (!options_.on_iteration || options_.on_iteration(record)) return true;
    result_.termination = Termination::kInterrupted;
    return false;
  }

  // T log Z_T of the paths with these costs, and marginals, both by variable.
  double Upper(const Matrix<float>& costs, Matrix<float>* marginals) {
    Place(costs, true, &placed_);
    const double T = options_.temperature;
    const double log_z = sums_->LogZ(placed_, T, marginals != nullptr ? &placed_y_ : nullptr);
    if (marginals != nullptr) Place(placed_y_, false, marginals);
    return T * log_z - model_.constant();
  }

  // From variables to positions, or back.
  void Place(const Matrix<float>& from, bool to_positions, Matrix<float>* to) const {
    if (to->rows() != from.rows() || to->cols() != from.cols())
      *to = Matrix<float>::Unset(from.rows(), from.cols());
    const std::vector<std::uint32_t>& order = result_.proof.routing.paths.order;
    ParallelFor(size_, kRowGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) {
        const auto row = from.row(to_positions ? order[p] : p);
        std::copy(row.begin(), row.end(), to->row(to_positions ? p : order[p]).begin());
      }
    });
  }

  const DenseExtension& extension_;
  const DenseCrf& model_;
  const ListedOptions& options_;
  Stopwatch clock_;
  std::size_t size_;
  RoutedResult result_;
  std::unique_ptr<NeighbourList> left_;
  std::unique_ptr<GaussianOperator> sample_;
  std::unique_ptr<BandedChain> sums_;
  double step_ = 1.0;
  double best_ = std::numeric_limits<double>::infinity();  // on the sample
  double iteration_seconds_ = 0.0;
  Matrix<float> best_v_;
  Matrix<float> of_flow_;
  Matrix<float> y_;
  Matrix<float> placed_;
  Matrix<float> placed_y_;
};

}  // namespace

RoutedResult RouteListed(const DenseExtension& extension, const NeighbourList& pairs,
                         const DenseStart& start, const ListedOptions& options) {
  if (!(options.temperature > 0.0) || !std::isfinite(options.temperature)) {
    throw InvalidInput(fmt::format("the temperature of routed is {}, expected a finite number > 0",
                                   options.temperature));
  }
  if (start.marginals.size() == 0 || start.potentials.size() == 0)
    throw InvalidInput("routing begins from marginals and potentials, but there are none");
  CheckStart(extension, start);
  return ListedRun(extension, pairs, start, options).Solve(start.potentials);
}

}  // namespace submarine::internal
