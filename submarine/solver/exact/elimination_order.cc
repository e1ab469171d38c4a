#include "submarine/solver/exact/elimination_order.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <queue>
#include <random>
#include <tuple>
#include <utility>

#include "submarine/base/freed_memory.h"

namespace submarine::internal {
namespace {

constexpr double kBytesPerEntry = sizeof(double);

// Variables joined by a factor. Variables with a single label have no neighbours here, as they
// restrict nothing.
struct InteractionGraph {
  std::vector<int> cardinality;
  std::vector<std::vector<int>> neighbours;  // ascending
};

InteractionGraph BuildInteractionGraph(const FactorGraph& graph) {
  InteractionGraph result{graph.cardinality, {}};
  result.neighbours.resize(graph.cardinality.size());
  for (const Factor& factor : graph.factors) {
    for (int a : factor.scope) {
      if (graph.cardinality[a] == 1) continue;
      for (int b : factor.scope) {
        if (b != a && graph.cardinality[b] > 1) result.neighbours[a].push_back(b);
      }
    }
  }
  for (std::vector<int>& list : result.neighbours) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    list.shrink_to_fit();
  }
  return result;
}

enum class Rule {
  kMinFill,    // fewest new edges first, ties by table size
  kMinWeight,  // smallest table first
  kSweep,      // smallest table first among those adjacent to eliminated ones: a moving front
  kPeel,       // smallest separator first, and no edges are added: a lower bound for every order
};

struct Strategy {
  Rule rule;
  int start = 0;           // where a sweep begins
  std::uint64_t seed = 0;  // 0: ties by table size, otherwise at random (min-fill)
};

// The elimination game: removing a variable joins its neighbours pairwise. Scores are kept up to
// date edge by edge, and a lazy heap holds one valid entry per variable, so that sparse graphs of
// small width take time almost linear in their size.
class EliminationGame {
 public:
  EliminationGame(const InteractionGraph& graph, const Strategy& strategy)
      : rule_(strategy.rule),
        random_ties_(strategy.seed != 0),
        random_(strategy.seed),
        cardinality_(graph.cardinality),
        neighbours_(graph.neighbours),
        log_cardinality_(cardinality_.size()),
        alive_(cardinality_.size(), 1),
        degree_(cardinality_.size()),
        log_separator_(cardinality_.size(), 0.0),
        fill_(cardinality_.size(), 0),
        version_(cardinality_.size(), 0),
        stamp_(cardinality_.size(), 0),
        age_(cardinality_.size(), 0) {
    for (int a = 0; a < num_variables(); ++a) log_cardinality_[a] = std::log2(cardinality_[a]);
    for (int a = 0; a < num_variables(); ++a) {
      degree_[a] = static_cast<int>(neighbours_[a].size());
      for (int b : neighbours_[a]) log_separator_[a] += log_cardinality_[b];
    }
    if (rule_ == Rule::kMinFill) CountInitialFill();
    if (rule_ == Rule::kSweep) {
      if (num_variables() > 0) Push(strategy.start);
    } else {
      for (int a = 0; a < num_variables(); ++a) Push(a);
    }
  }

  int num_variables() const { return static_cast<int>(cardinality_.size()); }

  // Chooses the next variable, or -1 when none is left.
  int Next() {
    for (;;) {
      while (!heap_.empty()) {
        const auto [score, tie, a, version] = heap_.top();
        heap_.pop();
        if (alive_[a] && version == version_[a]) return a;
      }
      // A sweep has finished a connected component; the next one starts at its first variable.
      while (next_start_ < num_variables() && !alive_[next_start_]) ++next_start_;
      if (next_start_ == num_variables()) return -1;
      Push(next_start_);
    }
  }

  std::vector<int> Separator(int a) const {
    std::vector<int> result;
    result.reserve(static_cast<std::size_t>(degree_[a]));
    for (int b : neighbours_[a]) {
      if (alive_[b]) result.push_back(b);
    }
    return result;
  }

  void Remove(int a, const std::vector<int>& separator) {
    ++round_;
    touched_.clear();
    if (rule_ != Rule::kPeel) Connect(separator);
    alive_[a] = 0;
    for (int b : separator) {
      // The pairs (a, c) with c a neighbour of b but not of a were missing around b; they disappear
      // with a.
      fill_[b] -= degree_[b] - degree_[a];
      --degree_[b];
      log_separator_[b] -= log_cardinality_[a];
      if (neighbours_[b].size() > 2 * static_cast<std::size_t>(degree_[b]) + 8) {
        std::erase_if(neighbours_[b], [&](int c) { return !alive_[c]; });
      }
      Touch(b);
    }
    Free(&neighbours_[a]);
    for (int b : touched_) {
      if (alive_[b]) Push(b);
    }
  }

 private:
  void Push(int a) {
    const double own = rule_ == Rule::kPeel ? 0.0 : log_cardinality_[a];
    const double weight = log_separator_[a] + own;
    const double score = rule_ == Rule::kMinFill ? static_cast<double>(fill_[a]) : weight;
    // In a sweep, ties go to the variable that has been in the front longest.
    if (age_[a] == 0) age_[a] = ++youngest_;
    const double tie = rule_ == Rule::kSweep ? static_cast<double>(age_[a])
                       : random_ties_        ? static_cast<double>(random_())
                                             : weight;
    heap_.emplace(score, tie, a, ++version_[a]);
  }

  void Touch(int a) {
    if (stamp_[a] == round_) return;
    stamp_[a] = round_;
    touched_.push_back(a);
  }

  // Calls visit(c) for every living c adjacent to both a and b; returns how many there are.
  template <class Visit>
  int ForCommon(int a, int b, Visit visit) const {
    const bool a_first = neighbours_[a].size() <= neighbours_[b].size();
    const std::vector<int>& few = neighbours_[a_first ? a : b];
    const std::vector<int>& many = neighbours_[a_first ? b : a];
    int count = 0;
    auto from = many.begin();
    const bool search = many.size() > 8 * few.size();
    for (int c : few) {
      if (search) {
        from = std::lower_bound(from, many.end(), c);
      } else {
        while (from != many.end() && *from < c) ++from;
      }
      if (from == many.end()) break;
      if (*from != c || !alive_[c]) continue;
      visit(c);
      ++count;
    }
    return count;
  }

  void CountInitialFill() {
    std::vector<std::int64_t> twice_joined(cardinality_.size(), 0);
    for (int a = 0; a < num_variables(); ++a) {
      for (int b : neighbours_[a]) {
        if (b < a) continue;
        const int common = ForCommon(a, b, [](int) {});
        twice_joined[a] += common;
        twice_joined[b] += common;
      }
    }
    for (int a = 0; a < num_variables(); ++a) {
      const std::int64_t degree = degree_[a];
      fill_[a] = (degree * (degree - 1) - twice_joined[a]) / 2;
    }
  }

  void Connect(const std::vector<int>& separator) {
    std::vector<int> missing;
    for (int b : separator) {
      missing.clear();
      std::set_difference(std::upper_bound(separator.begin(), separator.end(), b), separator.end(),
                          neighbours_[b].begin(), neighbours_[b].end(),
                          std::back_inserter(missing));
      for (int c : missing) AddEdge(b, c);
    }
  }

  void AddEdge(int a, int b) {
    if (rule_ == Rule::kMinFill) {
      const int common = ForCommon(a, b, [&](int c) {
        --fill_[c];
        Touch(c);
      });
      fill_[a] += degree_[a] - common;
      fill_[b] += degree_[b] - common;
    }
    const auto insert = [&](int at, int value) {
      std::vector<int>& list = neighbours_[at];
      list.insert(std::lower_bound(list.begin(), list.end(), value), value);
      ++degree_[at];
      log_separator_[at] += log_cardinality_[value];
    };
    insert(a, b);
    insert(b, a);
  }

  using Entry = std::tuple<double, double, int, std::uint32_t>;

  Rule rule_;
  bool random_ties_;
  std::mt19937_64 random_;
  std::vector<int> cardinality_;
  std::vector<std::vector<int>> neighbours_;  // ascending; may still name eliminated variables
  std::vector<double> log_cardinality_;       // log2
  std::vector<char> alive_;
  std::vector<int> degree_;            // living neighbours
  std::vector<double> log_separator_;  // log2 of the separator's table
  std::vector<std::int64_t> fill_;     // pairs of neighbours that are not joined
  std::vector<std::uint32_t> version_;
  std::vector<int> stamp_;
  std::vector<int> touched_;
  std::vector<int> age_;
  int round_ = 0;
  int youngest_ = 0;
  int next_start_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> heap_;
};

double TableEntries(const std::vector<int>& cardinality, const std::vector<int>& scope) {
  double entries = 1.0;
  for (int a : scope) entries *= cardinality[a];
  return entries;
}

// In any order, some variable of a subgraph H comes first and then has all its neighbours in H as
// its separator; peeling finds the H where the smallest such table is largest (a weighted
// degeneracy).
bool NoOrderFits(const InteractionGraph& graph, double max_bytes) {
  EliminationGame game(graph, {Rule::kPeel});
  for (int a = game.Next(); a >= 0; a = game.Next()) {
    const std::vector<int> separator = game.Separator(a);
    if (TableEntries(graph.cardinality, separator) * kBytesPerEntry > max_bytes) return true;
    game.Remove(a, separator);
  }
  return false;
}

// The messages of all separators, the sums towards the children of one variable, the marginals, and
// the buffers that hold a piece of one table.
double PeakBytes(const EliminationOrder& plan, const std::vector<int>& cardinality) {
  double entries = 0.0;
  double largest_table = 0.0;
  std::vector<double> children(cardinality.size(), 0.0);
  for (int a : plan.order) {
    const double message = TableEntries(cardinality, plan.separator[a]);
    entries += message + cardinality[a];
    largest_table = std::max(largest_table, message * cardinality[a]);
    if (!plan.separator[a].empty()) children[plan.separator[a].front()] += message;
  }
  if (!children.empty()) entries += *std::max_element(children.begin(), children.end());
  entries += 4.0 * std::min(largest_table, static_cast<double>(kExactBufferEntries));
  return entries * kBytesPerEntry;
}

// Gives up, with an incomplete plan, once the messages exceed max_bytes or the tables max_entries.
EliminationOrder PlanBy(const InteractionGraph& graph, const Strategy& strategy, double max_bytes,
                        double max_entries) {
  EliminationOrder plan;
  plan.separator.resize(graph.cardinality.size());
  EliminationGame game(graph, strategy);
  for (int a = game.Next(); a >= 0; a = game.Next()) {
    std::vector<int> separator = game.Separator(a);
    const double message = TableEntries(graph.cardinality, separator);
    plan.bytes += message * kBytesPerEntry;
    plan.table_entries += message * graph.cardinality[a];
    plan.induced_width = std::max(plan.induced_width, static_cast<int>(separator.size()));
    if (plan.bytes > max_bytes || plan.table_entries > max_entries) return plan;
    game.Remove(a, separator);
    plan.order.push_back(a);
    plan.separator[a] = std::move(separator);
  }
  std::vector<int> position(plan.order.size());
  for (std::size_t k = 0; k < plan.order.size(); ++k) position[plan.order[k]] = static_cast<int>(k);
  for (std::vector<int>& separator : plan.separator) {
    std::sort(separator.begin(), separator.end(),
              [&](int a, int b) { return position[a] < position[b]; });
  }
  plan.bytes = PeakBytes(plan, graph.cardinality);
  plan.complete = plan.bytes <= max_bytes;
  return plan;
}

// The variable found last by a breadth-first search from `from`: a corner, where sweeps should
// begin.
int FarthestFrom(const InteractionGraph& graph, int from) {
  std::vector<char> seen(graph.cardinality.size(), 0);
  std::vector<int> queue{from};
  seen[from] = 1;
  for (std::size_t head = 0; head < queue.size(); ++head) {
    for (int b : graph.neighbours[queue[head]]) {
      if (seen[b]) continue;
      seen[b] = 1;
      queue.push_back(b);
    }
  }
  return queue.back();
}

// An order for a graph that does not fit, so that the error can say by how much.
EliminationOrder PlanRefused(const InteractionGraph& graph) {
  constexpr double kBeyondHope = 1e18;  // bytes
  const double infinity = std::numeric_limits<double>::infinity();
  EliminationOrder plan = PlanBy(graph, {Rule::kMinWeight}, kBeyondHope, infinity);
  EliminationOrder sweep =
      PlanBy(graph, {Rule::kSweep, FarthestFrom(graph, 0)}, kBeyondHope, infinity);
  if (sweep.bytes < plan.bytes) plan = std::move(sweep);
  plan.complete = false;
  return plan;
}

}  // namespace

// On grids min-fill and min-weight can cost a hundred times as much as a sweep, and random ties in
// min-fill gain a factor of several on irregular graphs. So both are repeated as long as planning
// is cheap compared with the inference it may save.
EliminationOrder FindEliminationOrder(const FactorGraph& graph, double max_bytes) {
  constexpr int kMaxTries = 32;
  constexpr double kEntriesWorthOneVariable =
      200.0;  // inference on these takes as long as planning one
  constexpr double kMaxPlannedVariables = 2e5;

  Validate(graph);
  const InteractionGraph interaction = BuildInteractionGraph(graph);
  const auto variables = static_cast<double>(graph.cardinality.size());
  EliminationOrder best =
      PlanBy(interaction, {Rule::kMinWeight}, max_bytes, std::numeric_limits<double>::infinity());
  if (!best.complete && NoOrderFits(interaction, max_bytes)) {
    best.proven_too_large = true;
    return best;
  }
  const auto consider = [&](const Strategy& strategy) {
    const double max_entries =
        best.complete ? best.table_entries : std::numeric_limits<double>::infinity();
    EliminationOrder plan = PlanBy(interaction, strategy, max_bytes, max_entries);
    const bool better = best.complete ? plan.complete && plan.table_entries < best.table_entries
                                      : plan.complete || plan.bytes < best.bytes;
    if (better) best = std::move(plan);
  };
  consider({Rule::kMinFill});
  for (int k = 0; k < kMaxTries; ++k) {
    const double planned = variables * (k + 1);
    if (planned > kMaxPlannedVariables) break;
    if (best.complete &&
        (best.induced_width <= 2 || best.table_entries < kEntriesWorthOneVariable * planned)) {
      break;
    }
    const auto seed = static_cast<int>(variables * k / kMaxTries);
    consider({Rule::kSweep, FarthestFrom(interaction, seed)});
    consider({Rule::kSweep, seed});
    consider({Rule::kMinFill, 0, static_cast<std::uint64_t>(k) + 1});
  }
  return best.complete ? best : PlanRefused(interaction);
}

}  // namespace submarine::internal
