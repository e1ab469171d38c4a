// Routed pairs (docs/math.md, "Routing"): by the triangle inequality, what two variables a and b of a
// forest's edge have in common with a third one, c, may be spent on the edge,
//
//   r (d(x_a, x_c) + d(x_c, x_b)) >= r d(x_a, x_b),    r <= min(w_ac, w_bc),
//
// as long as no pair spends more than it has. What is left of the pairs stays where it is.
//
// The forests here are paths, or thick paths: every variable is joined to the `thickness` that follow
// it. Sums over them are exact on labels^thickness states.
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

  // Of every position, how many of those after it belong to the same path.
  std::vector<std::uint32_t> Followers() const;
};

// Throws InvalidInput for invalid paths: the order must hold each of the variables exactly once.
void CheckPaths(const RoutedPaths& paths, std::size_t num_variables);

// What goes over c for the edge from position p to p + m, kernel by kernel:
//
//   r = share / (4 thickness) min(w_ac, w_bc)  where  D(a,c) + D(b,c) < threshold(p, m - 1),  else 0,
//   D(a,c) = sum over cuts of l |z_a - z_c|.
//
// A pair is part of at most 4 thickness such routes, so that none spends more than it has, whatever z
// and the thresholds are. Where routing pays, they are cut sums of marginals and how often the forest's
// distribution disagrees along its edges.
struct Routing {
  RoutedPaths paths;
  double share = 1.0;       // t, 0 to 1
  Matrix<float> z;          // variables x cuts; empty: route everywhere
  Matrix<float> threshold;  // positions x thickness; empty with z

  bool everywhere() const { return z.size() == 0; }
};

// Throws InvalidInput for invalid paths, shares outside 0..1, wrong shapes and z that are not finite.
void CheckRouting(const Routing& routing, std::size_t num_variables, std::size_t num_cuts);

}  // namespace submarine::internal
