#include "submarine/solver/forest/trw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "submarine/base/error.h"
#include "submarine/base/stop_check.h"
#include "submarine/solver/common/progress.h"
#include "submarine/solver/forest/forest_packing.h"
#include "submarine/solver/forest/trw_chains.h"
#include "submarine/solver/forest/trw_kernels.h"
#include "submarine/solver/forest/trw_model.h"
#include "submarine/solver/forest/trw_trees.h"

namespace submarine::internal {
namespace {

constexpr int kSmallStepsOfDescent = 3;
constexpr double kLargestStart = 2e9;  // bytes of per-forest unaries

std::vector<WeightedForest> EqualWeights(std::vector<std::vector<std::size_t>> forests) {
  std::vector<WeightedForest> weighted;
  for (std::vector<std::size_t>& edges : forests)
    weighted.push_back({1.0 / static_cast<double>(forests.size()), std::move(edges)});
  return weighted;
}

std::vector<WeightedForest> ChooseForests(const PairwiseModel& model, const TrwOptions& options) {
  const std::size_t variables = model.num_variables();
  if (!options.forests.empty()) {
    CheckForests(options.forests, model.links, variables);
    const std::vector<double> rho = EdgeProbabilities(options.forests, model.links.size());
    for (std::size_t e = 0; e < rho.size(); ++e) {
      if (!(rho[e] > 0.0)) {
        throw InvalidInput(
            fmt::format("edge {} between variables {} and {} is in no forest of positive weight", e,
                        model.links[e].a, model.links[e].b));
      }
    }
    return options.forests;
  }
  const std::vector<double> equal(model.links.size(), 1.0);
  std::vector<std::size_t> spanning = MaximumSpanningForest(model.links, variables, equal);
  const bool acyclic = spanning.size() == model.links.size();
  if (acyclic) return {{1.0, std::move(spanning)}};
  const std::optional<GridShape> grid = DetectGrid(model.links, variables);
  if (grid) {
    std::vector<std::vector<std::size_t>> directions = GridDirections(model.links, *grid);
    std::erase_if(directions, [](const auto& edges) { return edges.empty(); });
    return EqualWeights(std::move(directions));
  }
  return CoveringForests(model.links, variables, options.seed);
}

class Solver {
 public:
  Solver(PairwiseModel model, const TrwOptions& options)
      : model_(std::move(model)),
        options_(options),
        theta_(model_.unary),
        stop_(options.time_limit_seconds, options.interrupted) {
    RequirePositiveTemperature(options.temperature);
    for (std::size_t n = 0; n < theta_.size(); ++n) theta_.data()[n] /= -options.temperature;
    forests_ = ChooseForests(model_, options);
  }

  TrwResult Run() {
    const double bytes =
        8.0 * static_cast<double>(forests_.size()) * static_cast<double>(theta_.size());
    if (bytes > kLargestStart) {
      throw TooLarge(fmt::format("the split of the unaries among {} forests needs {:.3g} GB",
                                 forests_.size(), 1e-9 * bytes));
    }
    const std::optional<ChainForests> chains =
        AsChains(forests_, model_.links, model_.num_variables());
    if (chains) {
      Sweep(*chains);
    } else {
      Descend();
    }
    const bool stopped = interrupted_ || result_.termination == Termination::kTimeLimit;
    if (options_.rho_steps > 0 && !model_.links.empty() && !stopped) OptimiseRho();
    Finish();
    return std::move(result_);
  }

 private:
  double ToEnergy(double bound) const { return options_.temperature * bound - model_.constant; }

  // Takes the bound that the messages prove after one more sweep; returns false when the solver
  // must stop.
  bool Record(double upper, bool converged) {
    result_.upper = upper;
    const SolveRecord record{result_.iterations, stop_.Seconds(), IfFinite(result_.upper)};
    const double seconds_to_next = record.seconds - last_record_;
    last_record_ = record.seconds;
    result_.records.push_back(record);
    result_.termination = Termination::kNotRun;
    if (converged) {
      result_.termination = Termination::kGapReached;
    } else if (record.k >= options_.max_iterations) {
      result_.termination = Termination::kIterationLimit;
    } else if (record.seconds + seconds_to_next >= options_.time_limit_seconds) {
      result_.termination = Termination::kTimeLimit;
    }
    const bool stopped = (options_.on_iteration && !options_.on_iteration(record)) ||
                         (stop_.Stopped() && stop_.interrupted());
    if (stopped) {
      interrupted_ = true;
      if (!converged) result_.termination = Termination::kInterrupted;
    }
    return result_.termination == Termination::kNotRun && !interrupted_;
  }

  bool Small(double before, double after) const {
    return before - after <= options_.tolerance * std::max(1.0, std::abs(after));
  }

  void Sweep(const ChainForests& chains) {
    std::vector<double> scale;
    for (double rho : EdgeProbabilities(forests_, model_.links.size()))
      scale.push_back(1.0 / (rho * options_.temperature));
    const EdgeKernels kernels = KernelsOf(model_, scale);
    const auto sweeps = MakeChainSweeps(model_, chains, theta_, kernels);
    double before = std::numeric_limits<double>::infinity();
    do {  // at least one sweep: before it nothing is proven
      ++result_.iterations;
      const double upper = ToEnergy(sweeps->Sweep());
      const bool converged = Small(before, upper);
      before = upper;
      if (!Record(upper, converged)) break;
    } while (true);
    messages_ = sweeps->Messages();
  }

  void Descend() {
    TreeDescent descent(model_, theta_, forests_, options_.temperature,
                        LogMessages(2 * model_.links.size(), theta_.cols()));
    int small_steps = 0;
    double before = ToEnergy(descent.bound());
    bool go_on = Record(before, forests_.size() == 1);
    while (go_on) {
      ++result_.iterations;
      const double upper = ToEnergy(descent.Step());
      small_steps = Small(before, upper) ? small_steps + 1 : 0;
      before = upper;
      go_on = Record(upper, descent.exhausted() || small_steps >= kSmallStepsOfDescent);
    }
    messages_ = descent.messages();
    marginals_ = descent.marginals();
  }

  // Frank-Wolfe: dB/drho_e = -T I_e, and the forest polytope's vertices are forests.
  void OptimiseRho();
  bool StepOfRho(const std::vector<std::size_t>& tree, double weight);

  // g_a, the average of the forests' log marginals at a; where all agree it is the marginal.
  Matrix<double> AverageMarginals(const std::vector<double>& rho) const {
    Matrix<double> g = SplitTheta(model_, theta_, rho, WeightedForest{}, messages_);
    for (std::size_t a = 0; a < g.rows(); ++a) {
      double* row = g.row(a).data();
      const double sum = ExpRow(row, MaxRow(row, model_.labels[a]), model_.labels[a], row);
      for (std::size_t i = 0; i < g.cols(); ++i) row[i] = i < model_.labels[a] ? row[i] / sum : 0.0;
    }
    return g;
  }

  void Finish() {
    result_.rho = EdgeProbabilities(forests_, model_.links.size());
    result_.marginals = marginals_.size() > 0 ? marginals_ : AverageMarginals(result_.rho);
    for (const WeightedForest& forest : forests_) {
      Matrix<double> split = SplitTheta(model_, theta_, result_.rho, forest, messages_);
      for (std::size_t n = 0; n < split.size(); ++n) split.data()[n] *= -options_.temperature;
      result_.evidence.unary.push_back(std::move(split));
    }
    result_.evidence.forests = forests_;
  }

  PairwiseModel model_;
  const TrwOptions& options_;
  Matrix<double> theta_;  // -unary / T
  std::vector<WeightedForest> forests_;
  LogMessages messages_;
  Matrix<double> marginals_;
  StopCheck stop_;
  double last_record_ = 0.0;  // in seconds; the next sweep takes about as long as this one
  TrwResult result_;
  bool interrupted_ = false;
};

// Adds the tree with some weight, if that lowers the bound. B is convex in rho, so the gain
// promised by the gradient holds for small weights only.
bool Solver::StepOfRho(const std::vector<std::size_t>& tree, double weight) {
  constexpr int kTries = 6;
  constexpr int kDescentSteps = 8;
  for (int attempt = 0; attempt < kTries; ++attempt, weight *= 0.4) {
    std::vector<WeightedForest> forests = forests_;
    for (WeightedForest& forest : forests) forest.weight *= 1.0 - weight;
    const auto same = std::find_if(forests.begin(), forests.end(),
                                   [&](const WeightedForest& f) { return f.edges == tree; });
    if (same != forests.end()) {
      same->weight += weight;
    } else {
      forests.push_back({weight, tree});
    }
    TreeDescent descent(model_, theta_, forests, options_.temperature, messages_);
    for (int k = 0; k < kDescentSteps && !descent.exhausted() && !stop_.Stopped(); ++k)
      descent.Step();
    const double upper = ToEnergy(descent.bound());
    if (upper < result_.upper) {
      forests_ = std::move(forests);
      messages_ = descent.messages();
      marginals_ = descent.marginals();
      result_.upper = upper;
      return true;
    }
    if (stop_.Stopped()) return false;
  }
  return false;
}

void Solver::OptimiseRho() {
  const Termination solved = result_.termination;  // of the bound at the first rho
  for (int step = 0; step < options_.rho_steps; ++step) {
    TreeDescent here(model_, theta_, forests_, options_.temperature, messages_);
    const std::vector<double> information = here.MutualInformation();
    const std::vector<double> rho = EdgeProbabilities(forests_, model_.links.size());
    const std::vector<std::size_t> tree =
        MaximumSpanningForest(model_.links, model_.num_variables(), information);
    double slope = 0.0;
    for (std::size_t e = 0; e < rho.size(); ++e) slope -= rho[e] * information[e];
    for (std::size_t e : tree) slope += information[e];
    const double before = result_.upper;
    const double worthwhile = options_.tolerance * std::max(1.0, std::abs(before));
    if (!(options_.temperature * slope > worthwhile)) break;
    if (!StepOfRho(tree, 2.0 / (step + 4.0))) {
      if (stop_.Stopped()) {
        result_.termination =
            stop_.interrupted() ? Termination::kInterrupted : Termination::kTimeLimit;
        return;
      }
      break;
    }
    ++result_.iterations;
    Record(result_.upper, false);
    if (interrupted_ || result_.termination == Termination::kTimeLimit) return;
    if (Small(before, result_.upper)) break;
  }
  result_.termination = solved;
}

}  // namespace

TrwResult SolveTrw(const SparseCrf& model, const TrwOptions& options) {
  return Solver(ToPairwise(model), options).Run();
}

TrwResult SolveTrw(const FactorGraph& graph, const TrwOptions& options) {
  RequirePositiveTemperature(options.temperature);
  RequirePossible(graph);
  return Solver(ToPairwise(graph, options.temperature), options).Run();
}

}  // namespace submarine::internal
