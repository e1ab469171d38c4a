// Routing (docs/math.md, "Routing"): by the triangle inequality, a part r of the weights of the
// pairs {a,h} and {h,b} may be moved to an edge {a,b} of the paths,
//
//   r (d(x_a, x_h) + d(x_h, x_b)) >= r d(x_a, x_b),    r <= min(w_ah, w_bh),
//
// as long as no pair gives more than its weight. What is left of the pairs stays where it is.
//
// The edges join every variable to the `thickness` variables that follow it on its path (thickness
// 1: a plain path, a forest). Sums over such paths are exact, with labels^thickness states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine::internal {

inline constexpr int kMaxThickness = 8;

struct RoutedPaths {
  std::vector<std::uint32_t> order;  // every variable once: the paths, one after the other
  std::vector<std::uint32_t> begin;  // positions in `order` where paths begin, ascending, 0 first
  int thickness = 1;                 // 1 to kMaxThickness

  // For every position, how many of the positions after it belong to the same path.
  std::vector<std::uint32_t> Followers() const;
};

// Throws InvalidInput for invalid paths: the order must hold each of the variables exactly once.
void CheckPaths(const RoutedPaths& paths, std::size_t num_variables);

// What is routed over h to the edge from position p (variable a) to p + m (variable b), kernel by
// kernel:
//
//   r = share / (4 thickness) min(w_ah, w_bh) where D(a,h) + D(b,h) < threshold(p, m - 1), else 0,
//   D(a,h) = sum over cuts of l |z_a - z_h|.
//
// A pair is part of at most 4 thickness such routes, so that none gives more than its weight,
// whatever z and the thresholds are. Solvers choose cut sums of marginals for z and estimates of
// the expected distances E[d] along the edges for the thresholds: where D is less, routing pays.
struct Routing {
  RoutedPaths paths;
  double share = 1.0;       // t, 0 to 1
  Matrix<float> z;          // variables x cuts; empty: route everywhere
  Matrix<float> threshold;  // positions x thickness; empty with z

  bool everywhere() const { return z.size() == 0; }
};

// Throws InvalidInput for invalid paths, a share outside 0..1, wrong shapes and z that is not
// finite.
void CheckRouting(const Routing& routing, std::size_t num_variables, std::size_t num_cuts);

}  // namespace submarine::internal
