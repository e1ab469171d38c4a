#include "submarine/solver/forest/forest_packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "submarine/base/error.h"

namespace submarine::internal {
namespace {

// The direction of an edge on this grid, or -1 if it is not an edge of the grid.
int Direction(const Link& link, const GridShape& grid) {
  const int first = std::min(link.a, link.b);
  const int step = std::max(link.a, link.b) - first;
  const int x = first % grid.width;
  if (step == 1 && x + 1 < grid.width) return 0;
  if (step == grid.width) return 1;
  if (grid.connectivity == 8 && step == grid.width - 1 && x > 0) return 2;
  if (grid.connectivity == 8 && step == grid.width + 1 && x + 1 < grid.width) return 3;
  return -1;
}

double FullEdges(const GridShape& grid) {
  const double w = grid.width;
  const double h = grid.height;
  const double straight = (w - 1.0) * h + w * (h - 1.0);
  return grid.connectivity == 4 ? straight : straight + 2.0 * (w - 1.0) * (h - 1.0);
}

bool IsGrid(std::span<const Link> links, const GridShape& grid) {
  if (2.0 * static_cast<double>(links.size()) < FullEdges(grid)) return false;
  std::set<std::pair<int, int>> seen;
  return std::all_of(links.begin(), links.end(), [&](const Link& link) {
    return Direction(link, grid) >= 0 && seen.insert(std::minmax(link.a, link.b)).second;
  });
}

// The forests of a partition of edge copies, built by augmenting paths: the matroid partition
// algorithm, with the speed-ups of Roskind and Tarjan (1985). An exchange keeps the span of every
// forest, so that components only ever grow.
class ForestPartition {
 public:
  ForestPartition(std::span<const Link> links, std::size_t num_variables, int num_forests)
      : links_(links),
        variables_(static_cast<std::size_t>(num_variables)),
        components_(static_cast<std::size_t>(num_forests), DisjointSets(variables_)),
        adjacent_(static_cast<std::size_t>(num_forests),
                  std::vector<std::vector<std::size_t>>(variables_)) {}

  // Finds room for one more copy of the edge; returns false when there is none, and sets
  // violation().
  bool Insert(std::size_t edge) {
    copies_.push_back({edge, kNowhere});
    const std::size_t start = copies_.size() - 1;
    for (std::size_t f = 0; f < components_.size(); ++f) {
      if (Separate(f, edge)) {
        Place(start, f);
        return true;
      }
    }
    return Augment(start);
  }

  // A set of variables with more edges among them than fit into the forests.
  struct Violation {
    std::size_t edges = 0;
    std::size_t variables = 0;
  };
  const Violation& violation() const { return violation_; }

  std::vector<std::vector<std::size_t>> Forests() const {
    std::vector<std::vector<std::size_t>> forests(components_.size());
    for (const Copy& copy : copies_) forests[copy.forest].push_back(copy.edge);
    for (auto& forest : forests) std::sort(forest.begin(), forest.end());
    return forests;
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  static constexpr std::size_t kUnreached = static_cast<std::size_t>(-2);
  struct Copy {
    std::size_t edge;
    std::size_t forest;
  };

  std::size_t EndA(std::size_t edge) const { return static_cast<std::size_t>(links_[edge].a); }
  std::size_t EndB(std::size_t edge) const { return static_cast<std::size_t>(links_[edge].b); }

  bool Separate(std::size_t forest, std::size_t edge) {
    DisjointSets& sets = components_[forest];
    return sets.Find(EndA(edge)) != sets.Find(EndB(edge));
  }

  void Attach(std::size_t copy, std::size_t forest) {
    copies_[copy].forest = forest;
    adjacent_[forest][EndA(copies_[copy].edge)].push_back(copy);
    adjacent_[forest][EndB(copies_[copy].edge)].push_back(copy);
  }

  void Detach(std::size_t copy) {
    const Copy& here = copies_[copy];
    for (std::size_t end : {EndA(here.edge), EndB(here.edge)})
      std::erase(adjacent_[here.forest][end], copy);
  }

  void Place(std::size_t copy, std::size_t forest) {
    Attach(copy, forest);
    components_[forest].Join(EndA(copies_[copy].edge), EndB(copies_[copy].edge));
  }

  // The component of one forest that a search has entered, rooted so that paths can be followed
  // upwards; `skip` jumps over edges that are already labelled.
  struct Climb {
    explicit Climb(std::size_t variables)
        : parent_copy(variables, kNowhere), depth(variables, kNowhere), skip(variables) {
      std::iota(skip.begin(), skip.end(), std::size_t{0});
    }
    std::vector<std::size_t> parent_copy;
    std::vector<std::size_t> depth;
    std::vector<std::size_t> skip;
    std::size_t Top(std::size_t x) {
      while (skip[x] != x) x = skip[x] = skip[skip[x]];
      return x;
    }
  };

  std::size_t Other(std::size_t copy, std::size_t end) const {
    const std::size_t edge = copies_[copy].edge;
    return EndA(edge) == end ? EndB(edge) : EndA(edge);
  }

  void Root(std::size_t forest, std::size_t root, Climb* climb) const {
    std::vector<std::size_t> queue{root};
    climb->depth[root] = 0;
    for (std::size_t k = 0; k < queue.size(); ++k) {
      for (std::size_t copy : adjacent_[forest][queue[k]]) {
        const std::size_t next = Other(copy, queue[k]);
        if (climb->depth[next] != kNowhere) continue;
        climb->depth[next] = climb->depth[queue[k]] + 1;
        climb->parent_copy[next] = copy;
        queue.push_back(next);
      }
    }
  }

  // Breadth-first search over exchanges: copy x may move to forest f when it takes the place of a
  // copy on the path that joins its ends there.
  bool Augment(std::size_t start) {
    std::vector<Climb> climbs(components_.size(), Climb(variables_));
    std::vector<std::size_t> reached_from(copies_.size(), kUnreached);
    reached_from[start] = kNowhere;
    std::vector<std::size_t> queue{start};
    for (std::size_t k = 0; k < queue.size(); ++k) {
      const std::size_t edge = copies_[queue[k]].edge;
      for (std::size_t f = 0; f < climbs.size(); ++f) {
        if (f == copies_[queue[k]].forest) continue;
        if (Separate(f, edge)) {
          Exchange(queue[k], f, reached_from);
          return true;
        }
        Climb& climb = climbs[f];
        if (climb.depth[EndA(edge)] == kNowhere) Root(f, EndA(edge), &climb);
        std::size_t x = climb.Top(EndA(edge));
        std::size_t y = climb.Top(EndB(edge));
        while (x != y) {
          std::size_t& lower = climb.depth[x] > climb.depth[y] ? x : y;
          const std::size_t copy = climb.parent_copy[lower];
          if (reached_from[copy] == kUnreached) {
            reached_from[copy] = queue[k];
            queue.push_back(copy);
          }
          climb.skip[lower] = Other(copy, lower);
          lower = climb.Top(lower);
        }
      }
    }
    // Every forest holds a spanning tree of the variables reached, and one copy is left over.
    std::vector<char> reached(variables_, 0);
    for (std::size_t copy : queue)
      reached[EndA(copies_[copy].edge)] = reached[EndB(copies_[copy].edge)] = 1;
    violation_.variables = static_cast<std::size_t>(std::count(reached.begin(), reached.end(), 1));
    violation_.edges = 0;
    for (std::size_t e = 0; e < links_.size(); ++e)
      violation_.edges += reached[EndA(e)] && reached[EndB(e)];
    copies_.pop_back();
    return false;
  }

  void Exchange(std::size_t copy, std::size_t forest,
                const std::vector<std::size_t>& reached_from) {
    bool joins = true;  // only the first move, into the last forest, connects anything new
    while (copy != kNowhere) {
      const std::size_t vacated = copies_[copy].forest;
      if (vacated != kNowhere) Detach(copy);
      if (joins) {
        Place(copy, forest);
      } else {
        Attach(copy, forest);
      }
      joins = false;
      forest = vacated;
      copy = reached_from[copy];
    }
  }

  std::span<const Link> links_;
  std::size_t variables_;
  std::vector<DisjointSets> components_;
  std::vector<std::vector<std::vector<std::size_t>>> adjacent_;  // forest, variable -> copies
  std::vector<Copy> copies_;
  Violation violation_;
};

[[noreturn]] void RefuseRho(double rho, double edges, double variables) {
  throw NotExpressible(fmt::format(
      "the edge probability rho = {} is outside the forest polytope: {:.0f} edges join {:.0f} "
      "variables, and a forest can hold at most {:.0f} of these edges, a fraction of {:.6g}",
      rho, edges, variables, variables - 1.0, (variables - 1.0) / edges));
}

bool Violates(double rho, double edges, double variables) {
  return rho * edges > (variables - 1.0) * (1.0 + 1e-12);
}

// Checks whole components first: on grids and other regular graphs nothing is denser. Returns the
// largest rho that they allow.
double CheckComponents(std::span<const Link> links, std::size_t num_variables, double rho) {
  const auto total = static_cast<std::size_t>(num_variables);
  DisjointSets connected(total);
  for (const Link& link : links)
    connected.Join(static_cast<std::size_t>(link.a), static_cast<std::size_t>(link.b));
  std::vector<double> variables(total, 0.0);
  std::vector<double> edges(total, 0.0);
  for (std::size_t a = 0; a < total; ++a) variables[connected.Find(a)] += 1.0;
  for (const Link& link : links) edges[connected.Find(static_cast<std::size_t>(link.a))] += 1.0;
  double largest = 1.0;
  for (std::size_t a = 0; a < total; ++a) {
    if (edges[a] == 0.0) continue;
    if (Violates(rho, edges[a], variables[a])) RefuseRho(rho, edges[a], variables[a]);
    largest = std::min(largest, (variables[a] - 1.0) / edges[a]);
  }
  return largest;
}

constexpr int kMostForests = 64;
// Above this many copies times forests, the search for a partition is not started.
constexpr double kMostWork = 4e6;

}  // namespace

std::optional<GridShape> DetectGrid(std::span<const Link> links, std::size_t num_variables) {
  std::set<int> steps;
  for (const Link& link : links) {
    steps.insert(std::abs(link.a - link.b));
    if (steps.size() > 4) return std::nullopt;
  }
  for (int width : steps) {
    if (width < 2 || num_variables % width != 0) continue;
    for (int connectivity : {4, 8}) {
      if (connectivity == 8 && width < 3) continue;
      const GridShape grid{width, static_cast<int>(num_variables) / width, connectivity};
      if (IsGrid(links, grid)) return grid;
    }
  }
  return std::nullopt;
}

std::vector<std::vector<std::size_t>> GridDirections(std::span<const Link> links,
                                                     const GridShape& grid) {
  std::vector<std::vector<std::size_t>> directions(static_cast<std::size_t>(grid.connectivity / 2));
  for (std::size_t e = 0; e < links.size(); ++e)
    directions[static_cast<std::size_t>(Direction(links[e], grid))].push_back(e);
  return directions;
}

std::vector<std::size_t> MaximumSpanningForest(std::span<const Link> links,
                                               std::size_t num_variables,
                                               std::span<const double> weight) {
  std::vector<std::size_t> order(links.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return weight[x] > weight[y]; });
  DisjointSets together(static_cast<std::size_t>(num_variables));
  std::vector<std::size_t> forest;
  for (std::size_t e : order) {
    if (together.Join(static_cast<std::size_t>(links[e].a), static_cast<std::size_t>(links[e].b)))
      forest.push_back(e);
  }
  std::sort(forest.begin(), forest.end());
  return forest;
}

std::vector<WeightedForest> CoveringForests(std::span<const Link> links, std::size_t num_variables,
                                            std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> jitter(0.0, 0.5);
  std::vector<double> uses(links.size(), 0.0);
  std::vector<double> preference(links.size());
  std::vector<WeightedForest> forests;
  std::size_t uncovered = links.size();
  while (uncovered > 0 || forests.empty()) {
    for (std::size_t e = 0; e < links.size(); ++e) preference[e] = -uses[e] - jitter(rng);
    forests.push_back({1.0, MaximumSpanningForest(links, num_variables, preference)});
    for (std::size_t e : forests.back().edges) {
      if (uses[e] == 0.0) --uncovered;
      uses[e] += 1.0;
    }
  }
  for (WeightedForest& forest : forests) forest.weight = 1.0 / static_cast<double>(forests.size());
  return forests;
}

// The probability copies / forests >= rho is attained by forests of equal weight if that many
// copies of every edge fit into that many forests; some weight on the empty forest reduces it to
// rho.
std::vector<WeightedForest> UniformForests(std::span<const Link> links, std::size_t num_variables,
                                           double rho) {
  if (!(rho > 0.0 && rho <= 1.0)) {
    throw InvalidInput(
        fmt::format("the edge probability rho is {}, expected a number in (0, 1]", rho));
  }
  const double largest = CheckComponents(links, num_variables, rho);
  for (int count = 1; count <= kMostForests; ++count) {
    const auto copies = static_cast<int>(std::ceil(rho * count * (1.0 - 1e-12)));
    if (std::gcd(copies, count) != 1) continue;  // only in lowest terms
    if (copies > largest * count * (1.0 + 1e-12)) continue;
    if (static_cast<double>(links.size()) * copies * count > kMostWork) break;
    ForestPartition partition(links, num_variables, count);
    bool fits = true;
    for (std::size_t e = 0; e < links.size() && fits; ++e) {
      for (int c = 0; c < copies && fits; ++c) fits = partition.Insert(e);
    }
    if (fits) {
      const double reached = static_cast<double>(copies) / count;
      const double share = std::min(1.0, rho / reached);
      std::vector<WeightedForest> forests;
      for (std::vector<std::size_t>& edges : partition.Forests())
        forests.push_back({share / count, std::move(edges)});
      if (share < 1.0) forests.push_back({1.0 - share, {}});
      return forests;
    }
    const auto edges = static_cast<double>(partition.violation().edges);
    const auto variables = static_cast<double>(partition.violation().variables);
    if (Violates(rho, edges, variables)) RefuseRho(rho, edges, variables);
  }
  throw NotExpressible(
      fmt::format("no combination of at most {} forests that holds each of the {} edges with "
                  "probability rho = {} "
                  "was found in reasonable time, although nothing was found that rules it out; try "
                  "a smaller rho",
                  kMostForests, links.size(), rho));
}

}  // namespace submarine::internal
