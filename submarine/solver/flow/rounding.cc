#include "submarine/solver/flow/rounding.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "submarine/base/argmax.h"

namespace submarine::internal {
namespace {

// The hierarchy of the label sets: a node's children partition its labels. Cuts that overlap
// without being nested have no hierarchy; then all labels hang directly below the root.
struct Group {
  std::vector<int> labels;
  std::vector<std::size_t> children;  // empty at the leaves
};

std::vector<Group> LabelHierarchy(const LabelCuts& cuts) {
  std::vector<int> all(static_cast<std::size_t>(cuts.num_labels()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<Group> groups{{all, {}}};
  std::vector<std::size_t> innermost(all.size(),
                                     0);  // the smallest group so far that holds the label
  std::vector<int> composite(static_cast<std::size_t>(cuts.num_cuts() - cuts.num_labels()));
  std::iota(composite.begin(), composite.end(), cuts.num_labels());
  std::stable_sort(composite.begin(), composite.end(),
                   [&](int c, int d) { return cuts.set(c).size() > cuts.set(d).size(); });
  const auto add = [&](const std::vector<int>& labels) {
    const std::size_t parent = innermost[static_cast<std::size_t>(labels.front())];
    groups[parent].children.push_back(groups.size());
    for (int i : labels) innermost[static_cast<std::size_t>(i)] = groups.size();
    groups.push_back({labels, {}});
  };
  for (int c : composite) {
    const std::vector<int>& labels = cuts.set(c);
    const std::size_t parent = innermost[static_cast<std::size_t>(labels.front())];
    const bool nested = std::all_of(labels.begin(), labels.end(), [&](int i) {
      return innermost[static_cast<std::size_t>(i)] == parent;
    });
    if (!nested) {
      groups.assign(1, {all, {}});
      std::fill(innermost.begin(), innermost.end(), std::size_t{0});
      break;
    }
    add(labels);
  }
  for (int i : all) add({i});
  return groups;
}

// Kleinberg and Tardos (2002): pick a child and a threshold at random; every variable still at this
// node whose conditional probability of the child exceeds the threshold goes there. Neighbours with
// similar marginals are thus seldom separated.
class KleinbergTardos {
 public:
  KleinbergTardos(const SparseCrf& model, const Matrix<double>& marginals)
      : groups_(LabelHierarchy(*model.labels().cuts)), marginals_(marginals) {}

  // Empty when stopped.
  std::vector<int> Draw(const StopCheck& stop, std::mt19937_64* rng) const {
    std::vector<int> labels(marginals_.rows());
    std::vector<std::size_t> everyone(marginals_.rows());
    std::iota(everyone.begin(), everyone.end(), std::size_t{0});
    if (!Assign(0, everyone, stop, rng, &labels)) labels.clear();
    return labels;
  }

 private:
  struct Waiting {
    std::size_t variable;
    double mass;  // of the node; summing it in every round would take most of the time
  };

  double Mass(std::size_t a, std::size_t group) const {
    double mass = 0.0;
    for (int i : groups_[group].labels) mass += marginals_(a, static_cast<std::size_t>(i));
    return mass;
  }

  // False when stopped before the end.
  bool Assign(std::size_t node, const std::vector<std::size_t>& variables, const StopCheck& stop,
              std::mt19937_64* rng, std::vector<int>* labels) const {
    const std::vector<std::size_t>& children = groups_[node].children;
    if (children.empty()) {
      for (std::size_t a : variables) (*labels)[a] = groups_[node].labels.front();
      return true;
    }
    std::vector<Waiting> waiting;
    for (std::size_t a : variables) waiting.push_back({a, Mass(a, node)});
    std::vector<std::vector<std::size_t>> chosen(children.size());
    std::uniform_int_distribution<std::size_t> pick(0, children.size() - 1);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    // A round settles each variable with probability >= 1/children on average, so the limit is
    // never reached in practice.
    for (int round = 0; round < 10000 && !waiting.empty(); ++round) {
      if (stop.Stopped()) return false;
      const std::size_t child = pick(*rng);
      const double threshold = uniform(*rng);
      const auto stays = [&](const Waiting& w) {
        return Mass(w.variable, children[child]) <= threshold * w.mass;
      };
      const auto middle = std::stable_partition(waiting.begin(), waiting.end(), stays);
      for (auto w = middle; w != waiting.end(); ++w) chosen[child].push_back(w->variable);
      waiting.erase(middle, waiting.end());
    }
    for (const Waiting& w : waiting) {
      std::size_t best = 0;
      for (std::size_t j = 1; j < children.size(); ++j) {
        if (Mass(w.variable, children[j]) > Mass(w.variable, children[best])) best = j;
      }
      chosen[best].push_back(w.variable);
    }
    for (std::size_t j = 0; j < children.size(); ++j) {
      if (!chosen[j].empty() && !Assign(children[j], chosen[j], stop, rng, labels)) return false;
    }
    return true;
  }

  std::vector<Group> groups_;
  const Matrix<double>& marginals_;
};

// x_a = the label at which the cumulative distribution of a passes a threshold that is common to
// all variables.
std::vector<int> CumulativeLabels(const Matrix<double>& marginals, double threshold) {
  std::vector<int> labels(marginals.rows());
  for (std::size_t a = 0; a < marginals.rows(); ++a) {
    double sum = 0.0;
    std::size_t i = 0;
    for (; i + 1 < marginals.cols(); ++i) {
      sum += marginals(a, i);
      if (sum > threshold) break;
    }
    labels[a] = static_cast<int>(i);
  }
  return labels;
}

}  // namespace

Labeling RoundMarginals(const SparseCrf& model, const Matrix<double>& marginals, int draws,
                        std::uint64_t seed, const StopCheck& stop) {
  Labeling best{ArgmaxLabels(marginals), 0.0};
  best.energy = model.Energy(best.labels);
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  const KleinbergTardos kleinberg_tardos(model, marginals);
  for (int draw = 0; draw < draws && !stop.Stopped(); ++draw) {
    std::vector<int> labels = draw % 2 == 0 ? kleinberg_tardos.Draw(stop, &rng)
                                            : CumulativeLabels(marginals, uniform(rng));
    if (labels.empty()) break;
    const double energy = model.Energy(labels);
    if (energy < best.energy) best = {std::move(labels), energy};
  }
  return best;
}

}  // namespace submarine::internal
