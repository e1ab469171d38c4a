#include "submarine/solver/forest/routed/routed_hybrid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/error.h"
#include "submarine/base/simd/row_kernels.h"
#include "submarine/base/stopwatch.h"
#include "submarine/extension/sparse_extension.h"
#include "submarine/model/forest.h"
#include "submarine/solver/forest/forest_inference.h"
#include "submarine/solver/forest/forest_packing.h"
#include "submarine/solver/forest/routed/triangles.h"
#include "submarine/solver/forest/trw_model.h"

namespace submarine::internal {
namespace {

// The fraction of an edge that routes leave unspent: sums of amounts are rounded, and no edge may
// spend more than its weight.
constexpr double kRoundingReserve = 1e-9;

// While routes are being chosen the flows need not converge: the gap and the iteration limit per
// round.
constexpr double kGapOfRounds = 1e-3;
constexpr int kIterationsOfRounds = 400;
// The least gain of a round, relative to the bound; after a round without gain the step is
// shortened.
constexpr double kWorthwhile = 1e-4;
constexpr double kShorterStep = 0.4;

// The model after each triangle has spent its amount on its edge.
SparseCrf Routed(const SparseCrf& model, std::span<const EdgeRoute> routes) {
  std::vector<Edge> edges = model.edges();
  for (const EdgeRoute& route : routes) {
    edges[route.first].weight -= route.amount;
    edges[route.second].weight -= route.amount;
  }
  // A negative weight can only come from rounding, for which kRoundingReserve leaves room.
  for (Edge& edge : edges) edge.weight = std::max(0.0, edge.weight);
  for (const EdgeRoute& route : routes) edges[route.edge].weight += route.amount;
  return {model.unary(), std::move(edges), model.labels(), model.constant()};
}

// How much one more unit of an edge's weight lowers the bound, at the forest's distribution under
// these flows: E[d(x_a, x_b)] in the forest, sum over cuts of l |z_a - z_b| outside.
std::vector<double> UnitValues(const SparseCrf& routed, const HybridPart& part,
                               double temperature) {
  const SparseExtension extension(routed, ExtensionKind::kOptimal);
  Flow flow = extension.NeutralFlow();
  flow.edge = part.flow;
  Matrix<double> theta = routed.unary();
  extension.LabelModular(flow, &theta);
  for (std::size_t n = 0; n < theta.size(); ++n) theta.data()[n] /= -temperature;
  const PairwiseModel pairwise = ToPairwise(routed);
  const EdgeKernels kernels =
      KernelsOf(pairwise, std::vector<double>(routed.num_edges(), 1.0 / temperature));
  const ForestInference inference(pairwise.labels, pairwise.links, part.forest);
  ForestWorkspace workspace;
  Matrix<double> y;
  inference.Run(kernels, theta, &workspace, &y);
  Matrix<double> storage;
  const Matrix<double>& z = CutSums(routed, y, &storage);
  std::vector<double> values(routed.num_edges());
  for (std::size_t e = 0; e < values.size(); ++e) {
    const Edge& edge = routed.edges()[e];
    values[e] = TotalVariationRow(z.row(static_cast<std::size_t>(edge.a)).data(),
                                  z.row(static_cast<std::size_t>(edge.b)).data(),
                                  routed.metric(edge).length.data(), z.cols());
  }
  inference.VisitJoints(kernels, workspace, [&](std::size_t e, const Matrix<double>& joint) {
    const Matrix<double>& distance = routed.metric(routed.edges()[e]).distance;
    values[e] = DotRow(joint.data(), distance.data(), joint.size());
  });
  return values;
}

// Amounts with which no edge spends more than its weight: each edge shares its weight among the
// triangles that pay, in proportion to what they pay.
std::vector<double> AmountsThatPay(const SparseCrf& model, std::span<const Triangle> triangles,
                                   const std::vector<double>& values, double share) {
  std::vector<double> gain(triangles.size());
  std::vector<double> gain_of_edge(model.num_edges(), 0.0);
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    const Triangle& triangle = triangles[t];
    gain[t] =
        std::max(0.0, values[triangle.edge] - values[triangle.first] - values[triangle.second]);
    gain_of_edge[triangle.first] += gain[t];
    gain_of_edge[triangle.second] += gain[t];
  }
  std::vector<double> amount(triangles.size(), 0.0);
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    if (!(gain[t] > 0.0)) continue;
    const auto part = [&](std::size_t e) {
      return model.edges()[e].weight * (gain[t] / gain_of_edge[e]);
    };
    amount[t] = share * (1.0 - kRoundingReserve) *
                std::min(part(triangles[t].first), part(triangles[t].second));
  }
  return amount;
}

// Solves one forest under different routes, one after the other, with a common clock, iteration
// count and list of records.
class RoutedRounds {
 public:
  RoutedRounds(const SparseCrf& model, const std::vector<std::size_t>& forest,
               const RoutedHybridOptions& options)
      : model_(model), forest_(forest), options_(options) {}

  HybridResult Run(std::span<const Triangle> triangles) {
    const double rough = std::max(options_.relative_gap, kGapOfRounds);
    HybridResult plain = Solve({}, rough, kIterationsOfRounds, options_.initial_flow);
    HybridResult best = plain;
    HybridResult latest = plain;
    std::vector<double> amount(triangles.size(), 0.0);
    std::vector<double> target = Target(triangles, best);
    double step = 1.0;
    for (int round = 1; round <= options_.rounds && !Ended(latest); ++round) {
      std::vector<double> trial = amount;
      for (std::size_t t = 0; t < trial.size(); ++t) trial[t] += step * (target[t] - amount[t]);
      latest =
          Solve(RoutesOf(triangles, trial), rough, kIterationsOfRounds, &best.parts.front().flow);
      const double gain = best.upper - latest.upper;
      if (!(gain > 0.0)) {
        step *= kShorterStep;
        continue;
      }
      best = latest;
      amount = std::move(trial);
      if (gain < kWorthwhile * std::max(1.0, std::abs(best.upper))) break;
      target = Target(triangles, best);
    }
    if (Ended(latest)) return Finish(std::move(best), latest.termination);
    const auto settle = [&](HybridResult* result) {
      const HybridPart& part = result->parts.front();
      HybridResult settled =
          Solve(part.routes, options_.relative_gap, options_.max_iterations, &part.flow);
      latest.termination = settled.termination;
      if (settled.upper <= result->upper) *result = std::move(settled);
    };
    settle(&best);
    if (!best.parts.front().routes.empty() && best.upper > plain.dual && !Ended(latest)) {
      settle(&plain);
      if (plain.upper < best.upper) best = std::move(plain);
    }
    return Finish(std::move(best), latest.termination);
  }

 private:
  // The amounts that would pay most at the bound's distribution.
  std::vector<double> Target(std::span<const Triangle> triangles, const HybridResult& at) const {
    const HybridPart& part = at.parts.front();
    return AmountsThatPay(model_, triangles,
                          UnitValues(Routed(model_, part.routes), part, options_.temperature),
                          options_.share);
  }

  // Limits and interruptions end all rounds; an iteration limit of one round does not.
  bool Ended(const HybridResult& latest) const {
    return latest.termination == Termination::kInterrupted || stopped_ ||
           clock_.Seconds() >= options_.time_limit_seconds ||
           iterations_ >= options_.max_iterations;
  }

  static std::vector<EdgeRoute> RoutesOf(std::span<const Triangle> triangles,
                                         const std::vector<double>& amount) {
    std::vector<EdgeRoute> routes;
    for (std::size_t t = 0; t < amount.size(); ++t) {
      if (amount[t] > 0.0)
        routes.push_back({triangles[t].edge, triangles[t].first, triangles[t].second, amount[t]});
    }
    return routes;
  }

  HybridResult Solve(std::vector<EdgeRoute> routes, double gap, int iterations,
                     const Matrix<double>* flow) {
    HybridOptions options = options_;
    options.relative_gap = gap;
    options.max_iterations = std::min(iterations, options_.max_iterations - iterations_);
    const double begin = clock_.Seconds();
    options.time_limit_seconds = std::max(0.0, options_.time_limit_seconds - begin);
    options.initial_flow = flow;
    options.on_iteration = [&](const IterationRecord& record) {
      Record(record, begin);
      stopped_ = stopped_ || (options_.on_iteration && !options_.on_iteration(records_.back()));
      return !stopped_;
    };
    HybridResult result = SolveHybridForest(Routed(model_, routes), forest_, options);
    iterations_ += result.iterations;
    upper_ = std::min(upper_, result.upper);
    result.parts.front().routes = std::move(routes);
    return result;
  }

  // Records the best bound so far. The dual value is about the current routes, so it is only
  // recorded if their bound is the best.
  void Record(const IterationRecord& record, double begin) {
    IterationRecord shown = record;
    shown.k += iterations_;
    shown.seconds += begin;
    if (record.upper > upper_) {
      shown.upper = upper_;
      shown.dual = -std::numeric_limits<double>::infinity();
    }
    records_.push_back(shown);
  }

  HybridResult Finish(HybridResult best, Termination last) {
    if (last == Termination::kInterrupted || last == Termination::kTimeLimit)
      best.termination = last;
    best.iterations = iterations_;
    records_.push_back({iterations_, clock_.Seconds(), best.upper, best.dual});
    best.records = std::move(records_);
    return best;
  }

  const SparseCrf& model_;
  const std::vector<std::size_t>& forest_;
  const RoutedHybridOptions& options_;
  const Stopwatch clock_;
  bool stopped_ = false;
  int iterations_ = 0;
  double upper_ = std::numeric_limits<double>::infinity();
  std::vector<IterationRecord> records_;
};

}  // namespace

HybridResult SolveRoutedHybrid(const SparseCrf& model, const RoutedHybridOptions& options) {
  if (!(options.share >= 0.0 && options.share <= 1.0)) {
    throw InvalidInput(
        fmt::format("the share of routing is {}, expected a number from 0 to 1", options.share));
  }
  if (options.share == 0.0) return SolveHybrid(model, options);
  const TriangleFinder finder(model);
  HybridOptions chosen = options;
  if (chosen.edges.empty() && chosen.forest == HybridForest::kSpanning) {
    chosen.edges =
        MaximumSpanningForest(Links(model), model.num_variables(), finder.RoutedWeights());
  }
  return SolveOverForests(
      model, chosen,
      [&](const SparseCrf&, std::vector<std::size_t> forest, const HybridOptions& one) {
        const std::vector<Triangle> triangles = finder.Of(forest);
        if (triangles.empty()) return SolveHybridForest(model, std::move(forest), one);
        RoutedHybridOptions routed = options;
        static_cast<HybridOptions&>(routed) = one;
        return RoutedRounds(model, forest, routed).Run(triangles);
      });
}

}  // namespace submarine::internal
