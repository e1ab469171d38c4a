#include "submarine/solver/flow/pdhg.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "submarine/base/parallel.h"
#include "submarine/base/simd/row_kernels.h"
#include "submarine/solver/common/progress.h"
#include "submarine/solver/common/step_length.h"

namespace submarine::internal {
namespace {

// D_a: how strongly the flows at a variable can change the costs of its labels: the sum over its
// edges of w times the largest total length of cuts that share a label. Never zero, so that
// isolated variables have a prox, too.
std::vector<double> CouplingOfVariables(const SparseCrf& model, const CliqueExtension* cliques,
                                        const std::vector<double>& mobility) {
  std::vector<double> reach;
  for (const LabelMetric& metric : model.labels().metrics) {
    std::vector<double> on_cuts = metric.length;
    for (std::size_t c = 0; c < on_cuts.size(); ++c) on_cuts[c] *= mobility[c];
    std::vector<double> on_labels(static_cast<std::size_t>(model.num_labels()));
    model.labels().cuts->SumOverLabels(on_cuts, on_labels);
    reach.push_back(*std::max_element(on_labels.begin(), on_labels.end()));
  }
  std::vector<double> coupling(model.unary().rows(), 0.0);
  for (const Edge& e : model.edges()) {
    const double strength = e.weight * reach[static_cast<std::size_t>(e.metric)];
    coupling[static_cast<std::size_t>(e.a)] += strength;
    coupling[static_cast<std::size_t>(e.b)] += strength;
  }
  // A clique of two variables moves them as an edge of weight theta does.
  if (cliques != nullptr) {
    for (std::size_t a = 0; a < coupling.size(); ++a) coupling[a] += 0.5 * cliques->strength()[a];
  }
  const double mean =
      std::accumulate(coupling.begin(), coupling.end(), 0.0) / static_cast<double>(coupling.size());
  const double least = mean > 0.0 ? 1e-3 * mean : 1.0;
  for (double& d : coupling) d = std::max(d, least);
  return coupling;
}

// The iterates, and the two half-steps on them.
class PrimalDual {
 public:
  PrimalDual(const SparseExtension& extension, const CliqueExtension* cliques, double temperature)
      : extension_(extension),
        cliques_(cliques),
        model_(extension.model()),
        mobility_(MobilityOfCuts(*model_.labels().cuts)),
        coupling_(CouplingOfVariables(model_, cliques, mobility_)),
        flow_(extension.NeutralFlow()),
        s_(model_.unary()),
        u_(model_.unary()),
        y_(u_.rows(), u_.cols()),
        zbar_(u_.rows(), static_cast<std::size_t>(model_.num_cuts())) {
    if (cliques_ != nullptr) {
      flow_.cliques = cliques_->Neutral<double>();
      cliques_->AddModular(flow_.cliques, &s_);
    }
    const double start_temperature = temperature > 0.0 ? temperature : MeanCoupling();
    for (std::size_t a = 0; a < y_.rows(); ++a) {
      for (double& u : u_.row(a)) u /= start_temperature;
      SoftmaxRow(u_.row(a).data(), u_.cols(), 1.0, y_.row(a).data());
      model_.labels().cuts->SumOverCuts(y_.row(a), zbar_.row(a));
    }
  }

  const Flow& flow() const { return flow_; }
  const Matrix<double>& s() const { return s_; }
  const Matrix<double>& y() const { return y_; }
  double MeanCoupling() const {
    return std::accumulate(coupling_.begin(), coupling_.end(), 0.0) /
           static_cast<double>(coupling_.size());
  }

  // q <- clip(q + step (zbar_a - zbar_b)); returns sum w l (change of q)^2. Of cliques: sum theta (change of q)^2 / r,
  // which is the same for a clique that is an edge.
  double StepFlows(double step) {
    const std::vector<Edge>& edges = model_.edges();
    const double of_cliques =
        cliques_ != nullptr ? cliques_->Step(zbar_, step, &flow_.cliques) : 0.0;
    return of_cliques +
           ParallelSum(edges.size(), kRowGrain, [&](std::size_t begin, std::size_t end) {
             double moved = 0.0;
             for (std::size_t k = begin; k < end; ++k) {
               const Edge& e = edges[k];
               double* q = flow_.edge.row(k).data();
               moved += e.weight * StepFlowRow(q, zbar_.row(static_cast<std::size_t>(e.a)).data(),
                                               zbar_.row(static_cast<std::size_t>(e.b)).data(),
                                               model_.metric(e).length.data(), mobility_.data(),
                                               step, zbar_.cols(), q);
             }
             return moved;
           });
  }

  struct Movement {
    double divergence = 0.0;   // sum_a D_a KL
    double interaction = 0.0;  // <change of s', change of y>
  };

  // The entropic prox step of every variable, with KL weight D_a * weight, and its extrapolation.
  Movement StepMarginals(double temperature, double weight, double theta) {
    std::vector<Movement> parts((y_.rows() + kRowGrain - 1) / kRowGrain);
    ParallelFor(y_.rows(), kRowGrain, [&](std::size_t begin, std::size_t end) {
      Movement& part = parts[begin / kRowGrain];
      std::vector<double> scratch(zbar_.cols());
      std::vector<double> s_new(y_.cols());
      std::vector<double> y_new(y_.cols());
      for (std::size_t a = begin; a < end; ++a) {
        extension_.LabelModularRow(flow_, static_cast<int>(a), scratch, s_new);
        if (cliques_ != nullptr)
          cliques_->AddModularRow(flow_.cliques, a, std::span<double>(s_new));
        const EntropicStep step = EntropicStepRow(
            s_new.data(), s_.row(a).data(), u_.row(a).data(), y_.row(a).data(), temperature,
            weight * coupling_[a], y_.cols(), u_.row(a).data(), y_new.data());
        part.divergence += coupling_[a] * step.divergence;
        part.interaction += step.interaction;
        for (std::size_t i = 0; i < y_new.size(); ++i)
          zbar_(a, i) = y_new[i] + theta * (y_new[i] - y_(a, i));
        std::copy(s_new.begin(), s_new.end(), s_.row(a).begin());
        std::copy(y_new.begin(), y_new.end(), y_.row(a).begin());
        model_.labels().cuts->SumOverCuts(zbar_.row(a).first(y_new.size()), zbar_.row(a));
      }
    });
    Movement total;
    for (const Movement& part : parts) {
      total.divergence += part.divergence;
      total.interaction += part.interaction;
    }
    return total;
  }

 private:
  const SparseExtension& extension_;
  const CliqueExtension* cliques_;  // or none
  const SparseCrf& model_;
  std::vector<double> mobility_;
  std::vector<double> coupling_;
  Flow flow_;
  Matrix<double> s_;  // s'(flow)
  Matrix<double> u_;  // -log y up to a constant per variable
  Matrix<double> y_;
  Matrix<double> zbar_;  // cut sums of the extrapolated marginals
};

}  // namespace

bool AverageOverFreeRegions(const SparseCrf& model, const CliqueExtension* cliques,
                            const Flow& flow, const Matrix<double>& y, Matrix<double>* averaged) {
  std::vector<std::size_t> parent(y.rows());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t a) {
    while (parent[a] != a) a = parent[a] = parent[parent[a]];
    return a;
  };
  bool any = false;
  for (std::size_t k = 0; k < model.num_edges(); ++k) {
    const Edge& e = model.edges()[k];
    const std::vector<double>& length = model.metric(e).length;
    bool free = true;
    for (std::size_t c = 0; c < length.size() && free; ++c)
      free = length[c] == 0.0 || std::abs(flow.edge(k, c)) < 1.0;
    if (free) {
      parent[root(static_cast<std::size_t>(e.a))] = root(static_cast<std::size_t>(e.b));
      any = true;
    }
  }
  if (cliques != nullptr) {
    cliques->ForFreePairs(flow.cliques, [&](std::size_t a, std::size_t b) {
      parent[root(a)] = root(b);
      any = true;
    });
  }
  if (!any) return false;
  *averaged = Matrix<double>(y.rows(), y.cols());
  std::vector<double> members(y.rows(), 0.0);
  for (std::size_t a = 0; a < y.rows(); ++a) {
    const std::size_t r = root(a);
    members[r] += 1.0;
    for (std::size_t i = 0; i < y.cols(); ++i) (*averaged)(r, i) += y(a, i);
  }
  for (std::size_t a = 0; a < y.rows(); ++a) {
    if (root(a) != a) continue;
    for (double& p : averaged->row(a)) p /= members[a];
  }
  for (std::size_t a = 0; a < y.rows(); ++a) {
    const auto source = averaged->row(root(a));
    if (root(a) != a) std::copy(source.begin(), source.end(), averaged->row(a).begin());
  }
  return true;
}

namespace {

BoundResult Solve(const SparseCrf& model, const CliqueExtension* cliques,
                  const PdhgOptions& options) {
  const double T = options.temperature;
  if (T != 0.0) RequirePositiveTemperature(T);
  BoundResult result;
  Progress progress(options, &result);
  const SparseExtension extension(model, ExtensionKind::kOptimal);
  PrimalDual iterate(extension, cliques, T);
  const double offset = cliques != nullptr ? cliques->offset() : 0.0;
  const auto dual_value = [&](const Matrix<double>& y) {
    const double of_cliques = cliques != nullptr ? cliques->LovaszAt(y) + offset : 0.0;
    return DualValue(extension, y, T) - of_cliques;
  };
  const double mean_coupling = iterate.MeanCoupling();
  Matrix<double> averaged;

  Pace pace(progress);
  const auto evaluate = [&](int k) {
    pace.Begin();
    const double upper = BoundValue(extension, iterate.s(), T) - offset;
    if (k == 0 || upper < result.upper) result.flow = iterate.flow();
    if (!progress.stop().Stopped() &&
        AverageOverFreeRegions(model, cliques, iterate.flow(), iterate.y(), &averaged)) {
      progress.OfferMarginals(dual_value(averaged), averaged);
    }
    const double dual = dual_value(iterate.y());
    pace.EndEvaluation();
    return progress.Record(k, std::min(upper, result.upper), dual, iterate.y(),
                           pace.SecondsToNext());
  };

  double eta = 1.0;
  double rho = 1.0;
  int next_evaluation = 0;
  double next_seconds = 0.0;
  for (int k = 0;; ++k) {
    const double latest = options.time_limit_seconds - pace.SecondsToNext();
    if (k >= std::min(next_evaluation, options.max_iterations) ||
        progress.Seconds() >= std::min(next_seconds, latest) || progress.stop().Stopped()) {
      if (!evaluate(k)) break;
      next_evaluation = NextEvaluation(k);
      next_seconds = progress.Seconds() + options.seconds_between_evaluations;
    }
    pace.Begin();
    const double smoothing = std::max(T, mean_coupling / (k + 1));
    const double theta =
        1.0 / std::sqrt(1.0 + kAcceleration * smoothing * eta / (rho * mean_coupling));
    const double flow_movement = iterate.StepFlows(eta * rho / 2.0);
    const PrimalDual::Movement moved = iterate.StepMarginals(smoothing, rho / eta, theta);
    eta =
        NextStepLength(eta, flow_movement / rho + moved.divergence * rho, moved.interaction, k + 1);
    rho /= theta;
    pace.EndIteration();
  }
  return result;
}

}  // namespace

BoundResult SolvePdhg(const SparseCrf& model, const PdhgOptions& options) {
  return Solve(model, nullptr, options);
}

BoundResult SolvePdhg(const SparseCrf& pairs, const CliqueExtension& cliques,
                      const PdhgOptions& options) {
  return Solve(pairs, &cliques, options);
}

}  // namespace submarine::internal
