#include "submarine/model/forest.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "submarine/base/error.h"

namespace submarine::internal {

std::vector<Link> Links(const SparseCrf& model) {
  std::vector<Link> links;
  links.reserve(model.num_edges());
  for (const Edge& e : model.edges()) links.push_back({e.a, e.b});
  return links;
}

std::vector<Link> Links(const FactorGraph& graph) {
  std::vector<Link> links;
  for (const Factor& factor : graph.factors) {
    if (factor.scope.size() == 2) links.push_back({factor.scope[0], factor.scope[1]});
  }
  return links;
}

DisjointSets::DisjointSets(std::size_t size) : parent_(size) {
  std::iota(parent_.begin(), parent_.end(), std::size_t{0});
}

std::size_t DisjointSets::Find(std::size_t x) {
  while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
  return x;
}

bool DisjointSets::Join(std::size_t x, std::size_t y) {
  x = Find(x);
  y = Find(y);
  parent_[x] = y;
  return x != y;
}

void CheckForest(std::span<const std::size_t> edges, std::span<const Link> links,
                 std::size_t num_variables) {
  DisjointSets together(static_cast<std::size_t>(num_variables));
  for (std::size_t e : edges) {
    if (e >= links.size()) {
      throw InvalidInput(
          fmt::format("a forest names edge {}, but the model has {} edges", e, links.size()));
    }
    if (!together.Join(static_cast<std::size_t>(links[e].a),
                       static_cast<std::size_t>(links[e].b))) {
      throw InvalidInput(fmt::format(
          "a forest closes a cycle with edge {} between variables {} and {}, expected no cycle", e,
          links[e].a, links[e].b));
    }
  }
}

void CheckForests(std::span<const WeightedForest> forests, std::span<const Link> links,
                  std::size_t num_variables) {
  if (forests.empty()) throw InvalidInput("there are no forests, expected at least 1");
  double total = 0.0;
  for (std::size_t f = 0; f < forests.size(); ++f) {
    if (!(forests[f].weight >= 0.0) || !std::isfinite(forests[f].weight)) {
      throw InvalidInput(fmt::format("forest {} has weight {}, expected a finite number >= 0", f,
                                     forests[f].weight));
    }
    total += forests[f].weight;
    CheckForest(forests[f].edges, links, num_variables);
  }
  if (!(std::abs(total - 1.0) <= 1e-9)) {
    throw InvalidInput(fmt::format("the weights of the {} forests add up to {}, expected 1",
                                   forests.size(), total));
  }
}

std::vector<double> EdgeProbabilities(std::span<const WeightedForest> forests,
                                      std::size_t num_edges) {
  std::vector<double> rho(num_edges, 0.0);
  for (const WeightedForest& forest : forests) {
    for (std::size_t e : forest.edges) rho[e] += forest.weight;
  }
  return rho;
}

RootedForest Rooted(std::span<const std::size_t> edges, std::span<const Link> links,
                    std::size_t num_variables) {
  const auto variables = static_cast<std::size_t>(num_variables);
  std::vector<std::size_t> begin(variables + 1, 0);
  for (std::size_t e : edges) {
    ++begin[static_cast<std::size_t>(links[e].a) + 1];
    ++begin[static_cast<std::size_t>(links[e].b) + 1];
  }
  for (std::size_t a = 0; a < variables; ++a) begin[a + 1] += begin[a];
  std::vector<std::size_t> at(2 * edges.size());
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t e : edges) {
    at[next[static_cast<std::size_t>(links[e].a)]++] = e;
    at[next[static_cast<std::size_t>(links[e].b)]++] = e;
  }

  RootedForest rooted;
  rooted.nodes.reserve(variables);
  std::vector<char> seen(variables, 0);
  for (std::size_t root = 0; root < variables; ++root) {
    if (seen[root]) continue;
    seen[root] = 1;
    rooted.component.push_back(rooted.nodes.size());
    rooted.nodes.push_back({static_cast<int>(root), -1, 0, false});
    for (std::size_t k = rooted.component.back(); k < rooted.nodes.size(); ++k) {
      const auto here = static_cast<std::size_t>(rooted.nodes[k].variable);
      for (std::size_t t = begin[here]; t < begin[here + 1]; ++t) {
        const bool here_is_a = links[at[t]].a == static_cast<int>(here);
        const int there = here_is_a ? links[at[t]].b : links[at[t]].a;
        if (std::exchange(seen[static_cast<std::size_t>(there)], 1)) continue;
        rooted.nodes.push_back({there, static_cast<int>(here), at[t], here_is_a});
      }
    }
  }
  rooted.component.push_back(rooted.nodes.size());
  return rooted;
}

}  // namespace submarine::internal
