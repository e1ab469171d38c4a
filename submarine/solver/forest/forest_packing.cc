#include "submarine/solver/forest/forest_packing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>
#include <utility>

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

}  // namespace submarine::internal
