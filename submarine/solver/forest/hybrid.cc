#include "submarine/solver/forest/hybrid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "submarine/base/error.h"
#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"
#include "submarine/base/stopwatch.h"
#include "submarine/extension/sparse_extension.h"
#include "submarine/model/forest.h"
#include "submarine/solver/common/progress.h"
#include "submarine/solver/common/step_length.h"
#include "submarine/solver/forest/forest_inference.h"
#include "submarine/solver/forest/forest_packing.h"
#include "submarine/solver/forest/trw_model.h"

namespace submarine::internal {
namespace {

// The model's bound for one forest, and the two half-steps of the primal-dual method.
class HybridBound {
 public:
  HybridBound(const SparseCrf& model, const std::vector<std::size_t>& forest, double temperature,
              const Matrix<double>* initial_flow)
      : model_(model),
        temperature_(temperature),
        extension_(model, ExtensionKind::kOptimal),
        pairwise_(ToPairwise(model)),
        kernels_(KernelsOf(pairwise_, std::vector<double>(model.num_edges(), 1.0 / temperature))),
        inference_(pairwise_.labels, pairwise_.links, forest),
        mobility_(MobilityOfCuts(*model.labels().cuts)),
        flow_(extension_.NeutralFlow()) {
    std::vector<char> exact(model.num_edges(), 0);
    for (std::size_t e : forest) exact[e] = 1;
    for (std::size_t e = 0; e < exact.size(); ++e) {
      if (!exact[e]) others_.push_back(e);
    }
    if (initial_flow != nullptr) SetFlow(*initial_flow);
    mean_flow_ = flow_;
    s_ = model.unary();
    extension_.LabelModular(flow_, &s_);
    u_ = s_;
    for (std::size_t n = 0; n < u_.size(); ++n) u_.data()[n] /= temperature;
    log_partition_ = Infer(u_, &y_);
    y_before_ = y_;
    Extrapolate(0.0);
  }

  const Flow& flow() const { return flow_; }
  const Flow& mean_flow() const { return mean_flow_; }
  const Matrix<double>& y() const { return y_; }

  // Node costs of P.
  Matrix<double> Costs() const {
    Matrix<double> costs = u_;
    for (std::size_t n = 0; n < costs.size(); ++n) costs.data()[n] *= temperature_;
    return costs;
  }

  double MeanCoupling() const {
    double sum = 0.0;
    for (std::size_t e : others_) {
      const Edge& edge = model_.edges()[e];
      std::vector<double> on_cuts = model_.metric(edge).length;
      for (std::size_t c = 0; c < on_cuts.size(); ++c) on_cuts[c] *= mobility_[c];
      std::vector<double> on_labels(y_.cols());
      model_.labels().cuts->SumOverLabels(on_cuts, on_labels);
      sum += 2.0 * edge.weight * *std::max_element(on_labels.begin(), on_labels.end());
    }
    return sum > 0.0 ? sum / static_cast<double>(y_.rows()) : 1.0;
  }

  // T log Z_T(forest; s(q)) - constant.
  double Upper() {
    Matrix<double> u = s_;
    for (std::size_t n = 0; n < u.size(); ++n) u.data()[n] /= temperature_;
    return temperature_ * Infer(u, nullptr) - model_.constant();
  }

  // The same at the mean flow, whose s is T u; P is the forest's distribution there.
  double MeanUpper() const { return temperature_ * log_partition_ - model_.constant(); }

  // D(P) of the current iterate, P proportional to exp(-u - E_forest / T):
  // H(P) = log Z + <u,y> + E_forest(P) / T.
  double Dual() const {
    const double linear =
        ParallelSum(y_.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
          double sum = 0.0;
          for (std::size_t a = begin; a < end; ++a) {
            sum += temperature_ * DotRow(u_.row(a).data(), y_.row(a).data(), y_.cols()) -
                   DotRow(model_.unary().row(a).data(), y_.row(a).data(), y_.cols());
          }
          return sum;
        });
    Matrix<double> storage;
    const Matrix<double>& z = CutSums(model_, y_, &storage);
    const double variation =
        ParallelSum(others_.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
          double sum = 0.0;
          for (std::size_t k = begin; k < end; ++k) {
            const Edge& e = model_.edges()[others_[k]];
            sum += e.weight * TotalVariationRow(z.row(static_cast<std::size_t>(e.a)).data(),
                                                z.row(static_cast<std::size_t>(e.b)).data(),
                                                model_.metric(e).length.data(), z.cols());
          }
          return sum;
        });
    return temperature_ * log_partition_ + linear - variation - model_.constant();
  }

  double StepFlows(double step) {
    return ParallelSum(others_.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      double moved = 0.0;
      for (std::size_t k = begin; k < end; ++k) {
        const Edge& e = model_.edges()[others_[k]];
        double* q = flow_.edge.row(others_[k]).data();
        moved += e.weight * StepFlowRow(q, zbar_.row(static_cast<std::size_t>(e.a)).data(),
                                        zbar_.row(static_cast<std::size_t>(e.b)).data(),
                                        model_.metric(e).length.data(), mobility_.data(), step,
                                        zbar_.cols(), q);
      }
      return moved;
    });
  }

  struct Movement {
    double divergence = 0.0;   // 1/2 (KL(new|old) + KL(old|new)) of the forest distributions
    double interaction = 0.0;  // <change of s', change of y>
  };

  // P <- argmax T H(P) - <s,y> - E_forest(P) - weight KL(P | P_old).
  Movement StepDistribution(double weight, double theta) {
    const Matrix<double> s_before = s_;
    const Matrix<double> u_before = u_;
    extension_.LabelModular(flow_, &s_);
    const double scale = 1.0 / (temperature_ + weight);
    for (std::size_t n = 0; n < u_.size(); ++n)
      u_.data()[n] = (s_.data()[n] + weight * u_.data()[n]) * scale;
    const double share = temperature_ * scale;
    for (std::size_t e : others_) {
      for (std::size_t c = 0; c < flow_.edge.cols(); ++c)
        mean_flow_.edge(e, c) += share * (flow_.edge(e, c) - mean_flow_.edge(e, c));
    }
    std::swap(y_, y_before_);
    log_partition_ = Infer(u_, &y_);
    Movement moved;
    for (std::size_t n = 0; n < y_.size(); ++n) {
      const double change = y_.data()[n] - y_before_.data()[n];
      moved.divergence += 0.5 * change * (u_before.data()[n] - u_.data()[n]);
      moved.interaction += change * (s_.data()[n] - s_before.data()[n]);
    }
    Extrapolate(theta);
    return moved;
  }

 private:
  double Infer(const Matrix<double>& u, Matrix<double>* y) {
    theta_ = u;
    for (std::size_t n = 0; n < theta_.size(); ++n) theta_.data()[n] = -u.data()[n];
    return inference_.Run(kernels_, theta_, &workspace_, y);
  }

  void Extrapolate(double theta) {
    Matrix<double> ybar = y_;
    for (std::size_t n = 0; n < ybar.size(); ++n)
      ybar.data()[n] += theta * (y_.data()[n] - y_before_.data()[n]);
    const Matrix<double>& z = CutSums(model_, ybar, &zbar_);
    if (&z != &zbar_) zbar_ = std::move(ybar);
  }

  void SetFlow(const Matrix<double>& flow) {
    if (flow.rows() != flow_.edge.rows() || flow.cols() != flow_.edge.cols()) {
      throw InvalidInput(
          fmt::format("the initial flow is {} x {}, the model has {} edges and {} cuts",
                      flow.rows(), flow.cols(), flow_.edge.rows(), flow_.edge.cols()));
    }
    for (std::size_t e : others_) {
      for (std::size_t c = 0; c < flow.cols(); ++c) {
        if (!(std::abs(flow(e, c)) <= 1.0)) {
          throw InvalidInput(fmt::format(
              "edge {} carries the initial flow {}, expected a value in [-1, 1]", e, flow(e, c)));
        }
        flow_.edge(e, c) = flow(e, c);
      }
    }
  }

  const SparseCrf& model_;
  double temperature_;
  SparseExtension extension_;
  PairwiseModel pairwise_;
  EdgeKernels kernels_;
  ForestInference inference_;
  ForestWorkspace workspace_;
  std::vector<double> mobility_;
  std::vector<std::size_t> others_;  // edges outside the forest
  Flow flow_;
  Flow mean_flow_;
  Matrix<double> s_;  // s'(flow)
  Matrix<double> u_;  // unaries of P: s'(mean flow) / T
  Matrix<double> theta_;
  Matrix<double> y_;
  Matrix<double> y_before_;
  Matrix<double> zbar_;  // cut sums of the extrapolated marginals
  double log_partition_ = 0.0;
};

// D(P) where each tree of the forest takes one label as a whole, with the same probabilities pi for
// all trees of a connected component of the model: the variation vanishes, and
//   D = trees T H(pi) - <sum of phi, pi>
// is largest at a softmax. Strongly coupled models have their optimum there, and the iterates reach
// it only in the limit.
void OfferConstantLabels(const SparseCrf& model, const std::vector<std::size_t>& forest,
                         double temperature, Progress* progress) {
  const std::size_t variables = model.unary().rows();
  DisjointSets connected(variables);
  for (const Edge& e : model.edges())
    connected.Join(static_cast<std::size_t>(e.a), static_cast<std::size_t>(e.b));
  Matrix<double> sum(variables, model.unary().cols());
  std::vector<double> trees(variables, 0.0);
  for (std::size_t a = 0; a < variables; ++a) {
    const std::size_t root = connected.Find(a);
    trees[root] += 1.0;
    for (std::size_t i = 0; i < sum.cols(); ++i) sum(root, i) += model.unary()(a, i);
  }
  for (std::size_t e : forest)  // every edge of a forest reduces the number of trees by one
    trees[connected.Find(static_cast<std::size_t>(model.edges()[e].a))] -= 1.0;
  double dual = -model.constant();
  Matrix<double> y(variables, sum.cols());
  for (std::size_t a = 0; a < variables; ++a) {
    if (connected.Find(a) != a) continue;
    const double scale = trees[a] * temperature;
    dual += scale * SoftmaxRow(sum.row(a).data(), sum.cols(), 1.0 / scale, y.row(a).data());
  }
  for (std::size_t a = 0; a < variables; ++a) {
    const auto source = y.row(connected.Find(a));
    std::copy(source.begin(), source.end(), y.row(a).begin());
  }
  progress->OfferMarginals(dual, y);
}

}  // namespace

HybridResult SolveHybridForest(const SparseCrf& model, std::vector<std::size_t> forest,
                               const HybridOptions& options) {
  BoundResult bounds;
  Progress progress(options, &bounds);
  HybridBound iterate(model, forest, options.temperature, options.initial_flow);
  double upper = std::numeric_limits<double>::infinity();
  const auto offer = [&](double value, const Flow& flow) {
    if (value < upper || bounds.flow.edge.size() == 0) bounds.flow = flow;
    upper = std::min(upper, value);
  };
  Matrix<double> costs = model.unary();
  Pace pace(progress);
  const auto evaluate = [&](int k) {
    pace.Begin();
    offer(iterate.Upper(), iterate.flow());
    if (iterate.MeanUpper() < upper) offer(iterate.MeanUpper(), iterate.mean_flow());
    const double dual = iterate.Dual();
    if (dual > bounds.dual) costs = iterate.Costs();
    pace.EndEvaluation();
    return progress.Record(k, upper, dual, iterate.y(), pace.SecondsToNext());
  };
  OfferConstantLabels(model, forest, options.temperature, &progress);
  const double coupling = iterate.MeanCoupling();
  const double T = options.temperature;
  double eta = 1.0;
  double rho = 1.0;
  int next_evaluation = 0;
  for (int k = 0;; ++k) {
    if (k >= std::min(next_evaluation, options.max_iterations) ||
        progress.Seconds() >= options.time_limit_seconds - pace.SecondsToNext() ||
        progress.stop().Stopped()) {
      if (!evaluate(k)) break;
      next_evaluation = NextEvaluation(k);
    }
    pace.Begin();
    const double theta = 1.0 / std::sqrt(1.0 + kAcceleration * T * eta / (rho * coupling));
    const double flow_movement = iterate.StepFlows(eta * rho / 2.0);
    const HybridBound::Movement moved = iterate.StepDistribution(coupling * rho / eta, theta);
    eta = NextStepLength(eta, flow_movement / rho + coupling * moved.divergence * rho,
                         moved.interaction, k + 1);
    rho /= theta;
    pace.EndIteration();
  }
  HybridResult result;
  result.termination = bounds.termination;
  result.upper = bounds.upper;
  result.dual = bounds.dual;
  result.parts.push_back({1.0, std::move(forest), std::move(bounds.flow.edge), std::move(costs)});
  result.marginals = std::move(bounds.marginals);
  result.iterations = bounds.iterations;
  result.records = std::move(bounds.records);
  return result;
}

namespace {

std::vector<std::size_t> ChooseForest(const SparseCrf& model, const HybridOptions& options) {
  const std::vector<Link> links = Links(model);
  if (!options.edges.empty()) {
    CheckForest(options.edges, links, model.num_variables());
    return options.edges;
  }
  if (options.forest == HybridForest::kSpanning) {
    std::vector<double> weight;
    for (const Edge& e : model.edges()) weight.push_back(e.weight);
    return MaximumSpanningForest(links, model.num_variables(), weight);
  }
  const std::optional<GridShape> grid = DetectGrid(links, model.num_variables());
  if (!grid) {
    throw NotExpressible(
        "rows or columns were requested, but the edges are not those of a grid in raster order; "
        "use a spanning forest");
  }
  return GridDirections(links, *grid)[options.forest == HybridForest::kRows ? 0 : 1];
}

// Solves both problems one after the other, each with half of the time, and combines their proofs.
// If the first is stopped, or there is no time for the second, returns what the rows prove.
HybridResult SolveRowsAndColumns(const SparseCrf& model, const HybridOptions& options,
                                 const ForestBound& bound) {
  const Stopwatch clock;
  bool stopped = false;
  HybridOptions one = options;
  one.time_limit_seconds *= 0.5;
  if (options.on_iteration) {
    one.on_iteration = [&](const IterationRecord& record) {
      stopped = stopped || !options.on_iteration(record);
      return !stopped;
    };
  }
  one.forest = HybridForest::kRows;
  HybridResult rows = bound(model, ChooseForest(model, one), one);
  if (stopped || rows.termination == Termination::kInterrupted) {
    rows.termination = Termination::kInterrupted;
    return rows;
  }
  // The first record of the columns takes as long as that of the rows did.
  if (clock.Seconds() + rows.records.front().seconds > options.time_limit_seconds) {
    rows.termination = Termination::kTimeLimit;
    return rows;
  }
  one.forest = HybridForest::kColumns;
  std::vector<std::size_t> forest = ChooseForest(model, one);
  one.time_limit_seconds = options.time_limit_seconds - clock.Seconds();
  HybridResult columns = bound(model, std::move(forest), one);
  if (options.forest == HybridForest::kBest) {
    HybridResult& best = rows.upper <= columns.upper ? rows : columns;
    if (columns.termination == Termination::kInterrupted) best.termination = columns.termination;
    return std::move(best);
  }

  HybridResult mean = std::move(rows);
  if (columns.termination != Termination::kGapReached) mean.termination = columns.termination;
  mean.upper = 0.5 * (mean.upper + columns.upper);
  mean.dual = 0.5 * (mean.dual + columns.dual);
  for (std::size_t n = 0; n < mean.marginals.size(); ++n)
    mean.marginals.data()[n] = 0.5 * (mean.marginals.data()[n] + columns.marginals.data()[n]);
  const IterationRecord last = mean.records.back();
  mean.iterations = last.k + columns.iterations;
  mean.records.push_back(
      {mean.iterations, last.seconds + columns.records.back().seconds, mean.upper, mean.dual});
  mean.parts.push_back(std::move(columns.parts.front()));
  for (HybridPart& part : mean.parts) part.weight = 0.5;
  return mean;
}

}  // namespace

HybridResult SolveOverForests(const SparseCrf& model, const HybridOptions& options,
                              const ForestBound& bound) {
  RequirePositiveTemperature(options.temperature);
  const bool both =
      options.forest == HybridForest::kBest || options.forest == HybridForest::kAverage;
  if (both && options.edges.empty()) return SolveRowsAndColumns(model, options, bound);
  return bound(model, ChooseForest(model, options), options);
}

HybridResult SolveHybrid(const SparseCrf& model, const HybridOptions& options) {
  return SolveOverForests(model, options, SolveHybridForest);
}

}  // namespace submarine::internal
