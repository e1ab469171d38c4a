#include <algorithm>
#include <cmath>
#include <utility>

#include "submarine/base/row_kernels.h"
#include "submarine/solver/frank_wolfe.h"
#include "submarine/solver/line_search.h"
#include "submarine/solver/progress.h"

namespace submarine {
namespace {

// The state of block-coordinate Frank-Wolfe: s' and exp(-s'/T) of every variable. A step on one cut
// touches only the labels in its set, so a sweep costs no more than one Frank-Wolfe iteration and a
// line search.
class BlockDescent {
 public:
  BlockDescent(const Extension& extension, double temperature, Flow* flow)
      : extension_(extension),
        model_(extension.model()),
        temperature_(temperature),
        flow_(*flow),
        s_(model_.unary().rows(), model_.unary().cols()),
        y_(s_),
        inside_(s_.rows()),
        direction_(s_.rows()) {}

  // Recomputes s' and y from the flows (no drift accumulates over sweeps); returns the bound.
  double Refresh() {
    extension_.LabelModular(flow_, &s_);
    return BoundValue(extension_, s_, temperature_, &y_);
  }

  const Matrix<double>& y() const { return y_; }

  // One Frank-Wolfe step in the flows of cut c.
  void StepOnCut(int c) {
    const std::vector<int>& set = model_.labels().cuts->set(c);
    const auto cut = static_cast<std::size_t>(c);
    for (std::size_t a = 0; a < y_.rows(); ++a) {
      inside_[a] = 0.0;
      for (int i : set) inside_[a] += y_(a, static_cast<std::size_t>(i));
    }
    std::fill(direction_.begin(), direction_.end(), 0.0);
    for (std::size_t k = 0; k < model_.num_edges(); ++k) {
      const Edge& e = model_.edges()[k];
      const double change =
          e.weight * model_.metric(e).length[cut] * (Vertex(e) - flow_.edge(k, cut));
      direction_[static_cast<std::size_t>(e.a)] += change;
      direction_[static_cast<std::size_t>(e.b)] -= change;
    }
    const double gamma = LineSearchOnCut();
    if (gamma == 0.0) return;
    for (std::size_t k = 0; k < model_.num_edges(); ++k) {
      double& q = flow_.edge(k, cut);
      q += gamma * (Vertex(model_.edges()[k]) - q);
    }
    for (std::size_t a = 0; a < y_.rows(); ++a) MoveInside(a, set, gamma * direction_[a]);
  }

  // One Frank-Wolfe step in the cycles of the alternate extension; ends with a Refresh.
  void StepOnCycles() {
    Matrix<double> storage;
    Flow vertex = extension_.GreedyFlow(CutSums(model_, y_, &storage));
    vertex.edge = flow_.edge;
    Matrix<double> direction(s_.rows(), s_.cols());
    extension_.LabelModular(vertex, &direction);
    for (std::size_t k = 0; k < s_.size(); ++k) direction.data()[k] -= s_.data()[k];
    const double gamma = ExactLineSearch(s_, direction, temperature_);
    for (std::size_t k = 0; k < s_.size(); ++k) {
      double& share = flow_.cycle.data()[k];
      share += gamma * (vertex.cycle.data()[k] - share);
    }
    Refresh();
  }

 private:
  double Vertex(const Edge& e) const {
    const double difference =
        inside_[static_cast<std::size_t>(e.a)] - inside_[static_cast<std::size_t>(e.b)];
    return difference > 0.0 ? 1.0 : (difference < 0.0 ? -1.0 : 0.0);
  }

  // The bound along the block is sum_a T log(1 - p_a + p_a exp(-t d_a / T)) + const, p_a =
  // y_a(S_c).
  double LineSearchOnCut() const {
    return MinimiseOnUnitInterval([&](double t) {
      double slope = 0.0;
      double curvature = 0.0;
      for (std::size_t a = 0; a < inside_.size(); ++a) {
        const double d = direction_[a];
        if (d == 0.0) continue;
        const double moved = inside_[a] * std::exp(-t * d / temperature_);
        const double p = moved / (std::max(0.0, 1.0 - inside_[a]) + moved);
        slope -= d * p;
        curvature += d * d * p * (1.0 - p) / temperature_;
      }
      return std::pair(slope, curvature);
    });
  }

  // s' of the labels in the set rises by `amount`; y follows.
  void MoveInside(std::size_t a, const std::vector<int>& set, double amount) {
    const double factor = std::exp(-amount / temperature_);
    const double normaliser = 1.0 / (std::max(0.0, 1.0 - inside_[a]) + inside_[a] * factor);
    if (!std::isfinite(factor) || !std::isfinite(normaliser)) return RecomputeRow(a, set, amount);
    for (int i : set) {
      s_(a, static_cast<std::size_t>(i)) += amount;
      y_(a, static_cast<std::size_t>(i)) *= factor;
    }
    for (double& p : y_.row(a)) p *= normaliser;
  }

  // The same without shortcuts, where the exponential over- or underflows.
  void RecomputeRow(std::size_t a, const std::vector<int>& set, double amount) {
    for (int i : set) s_(a, static_cast<std::size_t>(i)) += amount;
    SoftmaxRow(s_.row(a).data(), s_.cols(), 1.0 / temperature_, y_.row(a).data());
  }

  const Extension& extension_;
  const SparseCrf& model_;
  double temperature_;
  Flow& flow_;
  Matrix<double> s_;
  Matrix<double> y_;
  std::vector<double> inside_;     // y_a(S_c) of the current block
  std::vector<double> direction_;  // of s on the current block
};

}  // namespace

BoundResult SolveBlockFrankWolfe(const SparseCrf& model, const FrankWolfeOptions& options) {
  RequirePositiveTemperature(options.temperature);
  const Extension extension(model, options.extension);
  BoundResult result;
  result.flow = extension.NeutralFlow();
  Progress progress(options, &result);
  BlockDescent descent(extension, options.temperature, &result.flow);
  for (int k = 0;; ++k) {
    const double upper = descent.Refresh();
    if (!progress.Record(k, upper, DualValue(extension, descent.y(), options.temperature),
                         descent.y()))
      break;
    for (int c = 0; c < model.num_cuts(); ++c) descent.StepOnCut(c);
    if (options.extension == ExtensionKind::kAlternate) descent.StepOnCycles();
  }
  return result;
}

}  // namespace submarine
