#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "submarine/base/simd/row_kernels.h"
#include "submarine/solver/common/line_search.h"
#include "submarine/solver/common/progress.h"
#include "submarine/solver/flow/frank_wolfe.h"

namespace submarine::internal {
namespace {

// Probabilities below this are recomputed from s' before they underflow.
constexpr double kTiny = 1e-100;

// The state of block-coordinate Frank-Wolfe: s' of every variable, and weights y proportional to
// softmax(-s'/T) with sum `mass`. A step on one cut moves s' of all labels in its set by the same
// amount, so one exponential per variable rescales their weights and the others stay: a step takes
// time proportional to the size of the set, not to the number of labels.
class BlockDescent {
 public:
  BlockDescent(const SparseExtension& extension, double temperature, Flow* flow)
      : extension_(extension),
        model_(extension.model()),
        temperature_(temperature),
        flow_(*flow),
        s_(model_.unary().rows(), model_.unary().cols()),
        y_(s_),
        mass_(s_.rows(), 1.0),
        peak_(s_.rows(), 1.0),
        in_set_(s_.cols(), char{0}),
        inside_(s_.rows()),
        outside_(s_.rows()),
        log_odds_(s_.rows()),
        direction_(s_.rows()) {
    for (int c = 0; c < model_.num_cuts(); ++c) {
      const auto cut = static_cast<std::size_t>(c);
      const bool movable =
          std::any_of(model_.edges().begin(), model_.edges().end(),
                      [&](const Edge& e) { return e.weight * model_.metric(e).length[cut] > 0.0; });
      if (movable) cuts_.push_back(c);
    }
  }

  // The cuts that have a flow to move.
  const std::vector<int>& cuts() const { return cuts_; }

  // Recomputes s' and y from the flows (no drift accumulates over sweeps); returns the bound.
  double Refresh() {
    extension_.LabelModular(flow_, &s_);
    std::fill(mass_.begin(), mass_.end(), 1.0);
    std::fill(peak_.begin(), peak_.end(), 1.0);
    return BoundValue(extension_, s_, temperature_, &y_);
  }

  // The marginals; valid right after a Refresh.
  const Matrix<double>& y() const { return y_; }

  // One Frank-Wolfe step in the flows of cut c.
  void StepOnCut(int c) {
    const auto cut = static_cast<std::size_t>(c);
    const std::vector<int>& set = model_.labels().cuts->set(c);
    for (int i : set) in_set_[static_cast<std::size_t>(i)] = 1;
    for (std::size_t a = 0; a < y_.rows(); ++a) {
      direction_[a] = 0.0;
      if (!model_.incident(static_cast<int>(a)).empty()) Weigh(a, set);
    }
    for (std::size_t k = 0; k < model_.num_edges(); ++k) {
      const Edge& e = model_.edges()[k];
      const double change =
          e.weight * model_.metric(e).length[cut] * (Vertex(e) - flow_.edge(k, cut));
      direction_[static_cast<std::size_t>(e.a)] += change;
      direction_[static_cast<std::size_t>(e.b)] -= change;
    }
    const double gamma = LineSearchOnCut();
    if (gamma > 0.0) {
      for (std::size_t k = 0; k < model_.num_edges(); ++k) {
        double& q = flow_.edge(k, cut);
        q += gamma * (Vertex(model_.edges()[k]) - q);
      }
      for (std::size_t a = 0; a < y_.rows(); ++a) MoveInside(a, set, gamma * direction_[a]);
    }
    for (int i : set) in_set_[static_cast<std::size_t>(i)] = 0;
  }

  // One Frank-Wolfe step in the cycles of the alternate extension; ends with a Refresh.
  void StepOnCycles(const StopCheck& stop) {
    Matrix<double> storage;
    Flow vertex = extension_.GreedyFlow(CutSums(model_, y_, &storage));
    vertex.edge = flow_.edge;
    Matrix<double> direction(s_.rows(), s_.cols());
    extension_.LabelModular(vertex, &direction);
    for (std::size_t k = 0; k < s_.size(); ++k) direction.data()[k] -= s_.data()[k];
    const double gamma = ExactLineSearch(s_, direction, temperature_, stop);
    for (std::size_t k = 0; k < s_.size(); ++k) {
      double& share = flow_.cycle.data()[k];
      share += gamma * (vertex.cycle.data()[k] - share);
    }
    Refresh();
  }

 private:
  // Sets inside, outside and the log odds of a variable.
  void Weigh(std::size_t a, const std::vector<int>& set) {
    const auto y = y_.row(a);
    inside_[a] = 0.0;
    for (int i : set) inside_[a] += y[static_cast<std::size_t>(i)];
    outside_[a] = mass_[a] - inside_[a];
    if (outside_[a] < inside_[a]) {  // the difference would lose digits
      outside_[a] = 0.0;
      for (std::size_t i = 0; i < y.size(); ++i) outside_[a] += in_set_[i] ? 0.0 : y[i];
    }
    const bool tiny = std::min(inside_[a], outside_[a]) < kTiny * mass_[a];
    log_odds_[a] = tiny ? RecomputedLogOdds(a) : std::log(inside_[a] / outside_[a]);
  }

  // log y_a(S_c) / y_a(not S_c) from s', where y underflows.
  double RecomputedLogOdds(std::size_t a) const {
    double least[2] = {HUGE_VAL, HUGE_VAL};  // outside, inside
    double mass[2] = {0.0, 0.0};
    for (std::size_t i = 0; i < in_set_.size(); ++i) {
      double& side = least[in_set_[i] != 0];
      side = std::min(side, s_(a, i));
    }
    for (std::size_t i = 0; i < in_set_.size(); ++i) {
      const bool side = in_set_[i] != 0;
      mass[side] += std::exp((least[side] - s_(a, i)) / temperature_);
    }
    return std::log(mass[1]) - std::log(mass[0]) + (least[0] - least[1]) / temperature_;
  }

  // The odds are ordered like the probabilities, and distinguish them when both round to 0 or 1.
  double Vertex(const Edge& e) const {
    const double odds_a = log_odds_[static_cast<std::size_t>(e.a)];
    const double odds_b = log_odds_[static_cast<std::size_t>(e.b)];
    return odds_a > odds_b ? 1.0 : (odds_a < odds_b ? -1.0 : 0.0);
  }

  // The bound along the block is sum_a T log(1 - p_a + p_a exp(-t d_a / T)) + const, p_a =
  // y_a(S_c).
  double LineSearchOnCut() const {
    return MinimiseOnUnitInterval([&](double t) {
      double slope = 0.0;
      double curvature = 0.0;
      for (std::size_t a = 0; a < log_odds_.size(); ++a) {
        const double d = direction_[a];
        if (d == 0.0) continue;
        const double odds = log_odds_[a] - t * d / temperature_;
        const double ratio = std::exp(-std::abs(odds));
        const double larger = 1.0 / (1.0 + ratio);  // of p and 1 - p
        const double smaller = ratio * larger;
        slope -= d * (odds > 0.0 ? larger : smaller);
        curvature += d * d * larger * smaller / temperature_;
      }
      return std::pair(slope, curvature);
    });
  }

  // Adds `amount` to s' of the labels in the set, and updates y.
  void MoveInside(std::size_t a, const std::vector<int>& set, double amount) {
    if (amount == 0.0) return;
    const double odds = log_odds_[a] - amount / temperature_;
    const auto s = s_.row(a);
    const auto y = y_.row(a);
    for (int i : set) s[static_cast<std::size_t>(i)] += amount;
    if (std::max(std::abs(log_odds_[a]), std::abs(odds)) > -std::log(kTiny)) {
      SoftmaxRow(s.data(), s.size(), 1.0 / temperature_, y.data());
      mass_[a] = peak_[a] = 1.0;
      return;
    }
    const double factor = std::exp(-amount / temperature_);
    for (int i : set) y[static_cast<std::size_t>(i)] *= factor;
    mass_[a] = outside_[a] + inside_[a] * factor;
    peak_[a] = std::max(peak_[a], mass_[a]);
    // Sum again before differences of the mass lose digits.
    if (mass_[a] < 0.5 * peak_[a] || peak_[a] > 1.0 / kTiny) {
      const double sum = std::accumulate(y.begin(), y.end(), 0.0);
      for (double& weight : y) weight /= sum;
      mass_[a] = peak_[a] = 1.0;
    }
  }

  const SparseExtension& extension_;
  const SparseCrf& model_;
  double temperature_;
  Flow& flow_;
  Matrix<double> s_;
  Matrix<double> y_;
  std::vector<double> mass_;  // sum of y
  std::vector<double> peak_;  // its largest value since it was last summed
  std::vector<int> cuts_;
  // For the current block: its set, y_a(S_c), y_a(not S_c), the log of their ratio, and the
  // direction of s.
  std::vector<char> in_set_;
  std::vector<double> inside_;
  std::vector<double> outside_;
  std::vector<double> log_odds_;
  std::vector<double> direction_;
};

}  // namespace

BoundResult SolveBlockFrankWolfe(const SparseCrf& model, const FrankWolfeOptions& options) {
  RequirePositiveTemperature(options.temperature);
  const SparseExtension extension(model, options.extension);
  BoundResult result;
  result.flow = extension.NeutralFlow();
  Progress progress(options, &result);
  BlockDescent descent(extension, options.temperature, &result.flow);
  Pace pace(progress);
  for (int k = 0;; ++k) {
    pace.Begin();
    const double upper = descent.Refresh();
    const double dual = DualValue(extension, descent.y(), options.temperature);
    pace.EndEvaluation();
    if (!progress.RecordUnlessStalled(k, upper, dual, descent.y(), pace.SecondsToNext())) break;
    // The flows are valid after any of the steps, so a sweep can stop early.
    const double latest = options.time_limit_seconds - pace.SecondsToNext();
    for (int c : descent.cuts()) {
      if (progress.stop().Stopped() || progress.Seconds() >= latest) break;
      descent.StepOnCut(c);
    }
    if (options.extension == ExtensionKind::kAlternate && !progress.stop().Stopped())
      descent.StepOnCycles(progress.stop());
  }
  return result;
}

}  // namespace submarine::internal
