#include "submarine/solver/mean_field/forest_mean_field.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "submarine/base/parallel.h"
#include "submarine/base/stop_check.h"
#include "submarine/solver/common/progress.h"
#include "submarine/solver/forest/forest_inference.h"
#include "submarine/solver/forest/trw_model.h"
#include "submarine/solver/mean_field/coupling.h"
#include "submarine/solver/mean_field/induced_forest.h"

namespace submarine::internal {
namespace {

constexpr std::size_t kEdgeGrain = 1024;
// Entries of marginals between two checks of the clock: some tens of milliseconds.
constexpr std::size_t kEntriesPerBlock = std::size_t{1} << 20;

// Trees of one colour, with variables and edges renumbered for sum-product.
class Block {
 public:
  Block(const PairwiseModel& pairwise, std::vector<int> variables,
        const std::vector<std::size_t>& edges, const std::vector<int>& local, double temperature)
      : variables_(std::move(variables)),
        labels_(variables_.size(), pairwise.labels.front()),
        theta_(variables_.size(), labels_.front()) {
    PairwiseModel own;
    own.shapes = pairwise.shapes;
    std::vector<std::size_t> all;
    for (const std::size_t e : edges) {
      const Link& link = pairwise.links[e];
      own.links.push_back(
          {local[static_cast<std::size_t>(link.a)], local[static_cast<std::size_t>(link.b)]});
      own.pairs.push_back(pairwise.pairs[e]);
      all.push_back(all.size());
    }
    kernels_ = KernelsOf(own, std::vector<double>(all.size(), 1.0 / temperature));
    inference_.emplace(labels_, own.links, all);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const std::vector<int>& variables() const { return variables_; }
  Matrix<double>& theta() { return theta_; }
  // log Z of the trees with the unaries exp(theta), and their marginals.
  double Infer(ForestWorkspace* workspace, Matrix<double>* marginals) const {
    return inference_->Run(kernels_, theta_, workspace, marginals);
  }

 private:
  std::vector<int> variables_;
  std::vector<std::size_t> labels_;
  Matrix<double> theta_;
  EdgeKernels kernels_;
  std::optional<ForestInference> inference_;
};

std::vector<std::unique_ptr<Block>> BlocksOf(const SparseCrf& model, const InducedForest& forest,
                                             double temperature) {
  const PairwiseModel pairwise = ToPairwise(model);
  std::vector<std::size_t> tree_of(model.num_variables());
  for (std::size_t t = 0; t < forest.trees.size(); ++t)
    for (const int a : forest.trees[t]) tree_of[static_cast<std::size_t>(a)] = t;
  std::vector<std::vector<std::size_t>> edges_of(forest.trees.size());
  for (const std::size_t e : forest.edges)
    edges_of[tree_of[static_cast<std::size_t>(model.edges()[e].a)]].push_back(e);

  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<int> local(model.num_variables(), 0);
  std::vector<int> variables;
  std::vector<std::size_t> edges;
  const auto close = [&] {
    if (variables.empty()) return;
    blocks.push_back(
        std::make_unique<Block>(pairwise, std::move(variables), edges, local, temperature));
    variables.clear();
    edges.clear();
  };
  for (int colour = 0; colour < forest.num_colours; ++colour) {
    for (std::size_t t = 0; t < forest.trees.size(); ++t) {
      if (forest.colour[t] != colour) continue;
      for (const int a : forest.trees[t]) {
        local[static_cast<std::size_t>(a)] = static_cast<int>(variables.size());
        variables.push_back(a);
      }
      edges.insert(edges.end(), edges_of[t].begin(), edges_of[t].end());
      if (variables.size() * model.unary().cols() >= kEntriesPerBlock) close();
    }
    close();
  }
  return blocks;
}

// One start: marginals, the costs that define Q, and the parts of its free energy.
template <class Coupling>
class ForestAscent {
 public:
  ForestAscent(const SparseCrf& model, const InducedForest& forest,
               std::vector<std::unique_ptr<Block>>* blocks, Matrix<double> start,
               double temperature)
      : model_(model),
        blocks_(*blocks),
        temperature_(temperature),
        in_tree_(model.num_edges(), 0),
        y_(std::move(start)),
        costs_(y_.rows(), y_.cols()),
        coupling_(model),
        local_(blocks->size(), 0.0) {
    for (const std::size_t e : forest.edges) in_tree_[e] = 1;
    for (std::size_t a = 0; a < y_.rows(); ++a) coupling_.SetMarginal(a, y_.row(a));
  }

  // Alternating directions carry changes across the graph both ways. False when stopped before the
  // end.
  bool Sweep(bool forward, const StopCheck& stop) {
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      if (stop.Stopped()) return false;
      Update(forward ? k : blocks_.size() - 1 - k);
    }
    return true;
  }

  // Valid once every tree has been updated.
  double FreeEnergy() const {
    double value = -model_.constant();
    for (const double local : local_) value += local;
    const std::vector<Edge>& edges = model_.edges();
    return value - ParallelSum(edges.size(), kEdgeGrain, [&](std::size_t begin, std::size_t end) {
             double sum = 0.0;
             for (std::size_t e = begin; e < end; ++e)
               if (!in_tree_[e]) sum += coupling_.EdgeCost(edges[e], y_);
             return sum;
           });
  }

  const Matrix<double>& marginals() const { return y_; }
  const Matrix<double>& costs() const { return costs_; }

 private:
  void Update(std::size_t k) {
    Block& block = *blocks_[k];
    const std::vector<int>& variables = block.variables();
    ParallelFor(variables.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      std::vector<double> scratch(static_cast<std::size_t>(model_.num_cuts()));
      for (std::size_t v = begin; v < end; ++v) {
        const auto a = static_cast<std::size_t>(variables[v]);
        const auto phi = model_.unary().row(a);
        const auto costs = costs_.row(a);
        coupling_.LabelCosts(a, y_, in_tree_, scratch, costs);
        for (std::size_t i = 0; i < costs.size(); ++i) {
          costs[i] += phi[i];
          block.theta()(v, i) = -costs[i] / temperature_;
        }
      }
    });
    // At the best Q of the block:  T H(Q) - E(Q) - <phi, y> = T log Z + <costs - phi, y>.
    const double log_partition = block.Infer(&workspace_, &inferred_);
    const double linear =
        ParallelSum(variables.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
          double sum = 0.0;
          for (std::size_t v = begin; v < end; ++v) {
            const auto a = static_cast<std::size_t>(variables[v]);
            const auto y = inferred_.row(v);
            std::copy(y.begin(), y.end(), y_.row(a).begin());
            coupling_.SetMarginal(a, y);
            sum += DotRow(costs_.row(a).data(), y.data(), y.size()) -
                   DotRow(model_.unary().row(a).data(), y.data(), y.size());
          }
          return sum;
        });
    local_[k] = temperature_ * log_partition + linear;
  }

  const SparseCrf& model_;
  std::vector<std::unique_ptr<Block>>& blocks_;
  double temperature_;
  std::vector<char> in_tree_;  // of every edge
  Matrix<double> y_;
  Matrix<double> costs_;
  Coupling coupling_;
  std::vector<double> local_;  // T H(Q) - E(Q) of every block's trees
  ForestWorkspace workspace_;
  Matrix<double> inferred_;
};

// Runs the starts one after the other and keeps the best.
class ForestStarts {
 public:
  ForestStarts(const SparseCrf& model, const ForestMeanFieldOptions& options)
      : model_(model),
        options_(options),
        stop_(options.time_limit_seconds, options.interrupted),
        forest_(InducedForestOf(model)),
        blocks_(BlocksOf(model, forest_, options.temperature)) {}

  ForestMeanFieldResult Run(const std::vector<Matrix<double>>& starts) {
    for (std::size_t k = 0; k < starts.size() && !stopped_; ++k) {
      Matrix<double> start = starts[k];
      NormaliseRows(start);
      if (model_.labels().exact()) {
        RunStart<CutCoupling>(std::move(start));
      } else {
        RunStart<DistanceCoupling>(std::move(start));
      }
    }
    if (result_.marginals.size() > 0) result_.distribution.forest = std::move(forest_.edges);
    return std::move(result_);
  }

 private:
  template <class Coupling>
  void RunStart(Matrix<double> marginals) {
    result_.free_energy.emplace_back();
    ForestAscent<Coupling> ascent(model_, forest_, &blocks_, std::move(marginals),
                                  options_.temperature);
    double value = -std::numeric_limits<double>::infinity();
    for (int sweep = 0; sweep < options_.max_iterations && !stopped_; ++sweep) {
      if (!ascent.Sweep(sweep % 2 == 0, stop_)) {
        stopped_ = true;
        // Updates only raise the value, but trees that were never updated have no costs yet.
        if (sweep > 0) Keep(value, ascent, false);
        return;
      }
      const double before = value;
      value = ascent.FreeEnergy();
      const bool gained = !(value - before < options_.tolerance * std::max(1.0, std::abs(value)));
      const bool last = Record(value) || !gained || sweep + 1 == options_.max_iterations;
      if (last) Keep(value, ascent, !gained);
      if (!gained) return;
    }
  }

  template <class Ascent>
  void Keep(double value, const Ascent& ascent, bool converged) {
    if (result_.marginals.size() > 0 && value <= result_.lower) return;
    result_.lower = value;
    result_.marginals = ascent.marginals();
    result_.distribution.costs = ascent.costs();
    result_.converged = converged;
  }

  // Returns true when the solver must stop.
  bool Record(double value) {
    best_ = std::max(best_, value);
    const double seconds = stop_.Seconds();
    result_.records.push_back({++result_.iterations, seconds, {}, {}, best_});
    result_.free_energy.back().push_back(value);
    stopped_ = stop_.Stopped() || (options_.on_iteration &&
                                   !options_.on_iteration(result_.iterations, seconds, best_));
    return stopped_;
  }

  const SparseCrf& model_;
  const ForestMeanFieldOptions& options_;
  StopCheck stop_;
  InducedForest forest_;
  std::vector<std::unique_ptr<Block>> blocks_;
  ForestMeanFieldResult result_;
  double best_ = -std::numeric_limits<double>::infinity();
  bool stopped_ = false;
};

}  // namespace

ForestMeanFieldResult SolveForestMeanField(const SparseCrf& model,
                                           const std::vector<Matrix<double>>& starts,
                                           const ForestMeanFieldOptions& options) {
  RequirePositiveTemperature(options.temperature);
  if (starts.empty())
    throw InvalidInput("forest mean field was given no starts, expected at least one");
  for (const Matrix<double>& start : starts) CheckMarginals(model, start);
  return ForestStarts(model, options).Run(starts);
}

}  // namespace submarine::internal
