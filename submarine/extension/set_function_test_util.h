// Edmonds' greedy algorithm for any set function given as an oracle: a reference implementation of
// the closed forms in sparse_extension.h. n + 1 evaluations of F.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "submarine/base/error.h"

namespace submarine::internal {

using SetFunction = std::function<double(std::span<const char> in_set)>;

// The vertex of EP(F) that maximises <s, z>: elements enter in order of decreasing z (ties by
// index), each with its marginal value. F must be submodular with F(empty) = 0.
inline std::vector<double> GreedyVertex(const SetFunction& f, std::span<const double> z) {
  std::vector<std::size_t> order(z.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return z[a] > z[b]; });
  std::vector<char> in_set(z.size(), 0);
  std::vector<double> s(z.size());
  double before = f(in_set);
  for (std::size_t k : order) {
    in_set[k] = 1;
    const double after = f(in_set);
    s[k] = after - before;
    before = after;
  }
  return s;
}

// The Lovasz extension of F at z, through the greedy vertex: <s, z>.
inline double LovaszValue(const SetFunction& f, std::span<const double> z) {
  const std::vector<double> s = GreedyVertex(f, z);
  return std::inner_product(s.begin(), s.end(), z.begin(), 0.0);
}

// max over A of s(A) - F(A), by enumerating all subsets of the z.size() <= 24 elements: <= 0 means
// s in EP(F).
inline double WorstViolation(const SetFunction& f, std::span<const double> s) {
  constexpr std::size_t kMaxElements = 24;
  if (s.size() > kMaxElements) throw TooLarge("enumerating subsets is limited to 24 elements");
  double worst = -std::numeric_limits<double>::infinity();
  std::vector<char> in_set(s.size());
  for (std::uint32_t bits = 0; bits < (std::uint32_t{1} << s.size()); ++bits) {
    double modular = 0.0;
    for (std::size_t k = 0; k < s.size(); ++k) {
      in_set[k] = static_cast<char>(bits >> k & 1U);
      if (in_set[k]) modular += s[k];
    }
    worst = std::max(worst, modular - f(in_set));
  }
  return worst;
}

}  // namespace submarine::internal
