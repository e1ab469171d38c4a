#include "submarine/solver/mean_field/induced_forest.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "submarine/model/forest.h"
#include "submarine/solver/forest/forest_packing.h"

namespace submarine::internal {
namespace {

double TotalWeight(const SparseCrf& model, const std::vector<std::size_t>& edges) {
  double total = 0.0;
  for (const std::size_t e : edges) total += model.edges()[e].weight;
  return total;
}

// Kruskal's algorithm that also counts the edges between trees; the smaller table is merged into
// the larger one, so that an entry moves O(log N) times.
std::vector<std::size_t> JoinWhereAlone(const SparseCrf& model) {
  const std::vector<Edge>& edges = model.edges();
  std::vector<std::size_t> order(edges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return edges[x].weight > edges[y].weight; });
  // For every tree, by its name: the adjacent trees and the number of edges to each.
  std::vector<std::unordered_map<std::size_t, int>> next_to(model.num_variables());
  std::vector<std::size_t> name(
      model.num_variables());  // of the tree that DisjointSets has at a root
  std::iota(name.begin(), name.end(), std::size_t{0});
  for (const Edge& e : edges) {
    ++next_to[static_cast<std::size_t>(e.a)][static_cast<std::size_t>(e.b)];
    ++next_to[static_cast<std::size_t>(e.b)][static_cast<std::size_t>(e.a)];
  }
  DisjointSets together(model.num_variables());
  std::vector<std::size_t> forest;
  for (const std::size_t e : order) {
    const std::size_t root_a = together.Find(static_cast<std::size_t>(edges[e].a));
    const std::size_t root_b = together.Find(static_cast<std::size_t>(edges[e].b));
    if (root_a == root_b) continue;
    std::size_t large = name[root_a];
    std::size_t small = name[root_b];
    if (next_to[large].at(small) > 1) continue;
    if (next_to[large].size() < next_to[small].size()) std::swap(large, small);
    for (const auto& [other, count] : next_to[small]) {
      next_to[other].erase(small);
      if (other == large) continue;
      next_to[large][other] += count;
      next_to[other][large] += count;
    }
    next_to[small].clear();
    together.Join(root_a, root_b);
    name[together.Find(root_a)] = large;
    forest.push_back(e);
  }
  return forest;
}

}  // namespace

InducedForest InducedForestOf(const SparseCrf& model, std::vector<std::size_t> edges) {
  InducedForest forest;
  std::sort(edges.begin(), edges.end());
  forest.edges = std::move(edges);
  const std::vector<Link> links = Links(model);
  const RootedForest rooted = Rooted(forest.edges, links, model.num_variables());
  std::vector<std::size_t> tree_of(model.num_variables());
  for (std::size_t t = 0; t + 1 < rooted.component.size(); ++t) {
    std::vector<int>& tree = forest.trees.emplace_back();
    for (std::size_t k = rooted.component[t]; k < rooted.component[t + 1]; ++k) {
      tree.push_back(rooted.nodes[k].variable);
      tree_of[static_cast<std::size_t>(rooted.nodes[k].variable)] = t;
    }
  }
  // The smallest colour that no neighbour has.
  forest.colour.assign(forest.trees.size(), -1);
  std::vector<std::size_t> taken_by;  // per colour, the last tree with a neighbour of it
  for (std::size_t t = 0; t < forest.trees.size(); ++t) {
    for (const int a : forest.trees[t]) {
      for (const Incidence& at : model.incident(static_cast<std::size_t>(a))) {
        const Edge& e = model.edges()[at.edge];
        const int colour = forest.colour[tree_of[static_cast<std::size_t>(e.a == a ? e.b : e.a)]];
        if (colour >= 0) taken_by[static_cast<std::size_t>(colour)] = t;
      }
    }
    const auto free =
        std::find_if(taken_by.begin(), taken_by.end(), [&](std::size_t by) { return by != t; });
    forest.colour[t] = static_cast<int>(free - taken_by.begin());
    if (free == taken_by.end()) taken_by.push_back(model.num_variables());
  }
  forest.num_colours = static_cast<int>(taken_by.size());
  return forest;
}

InducedForest InducedForestOf(const SparseCrf& model) {
  const std::vector<Link> links = Links(model);
  if (const std::optional<GridShape> grid = DetectGrid(links, model.num_variables())) {
    std::vector<std::vector<std::size_t>> directions = GridDirections(links, *grid);
    const bool rows = TotalWeight(model, directions[0]) >= TotalWeight(model, directions[1]);
    return InducedForestOf(model, std::move(directions[rows ? 0 : 1]));
  }
  return InducedForestOf(model, JoinWhereAlone(model));
}

}  // namespace submarine::internal
