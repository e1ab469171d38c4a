// Routing (docs/math.md, "Routing"): by the triangle inequality, a part r of the weights of the
// pairs {a,h} and {h,b} may be moved to an edge {a,b} of the paths,
//
//   r (d(x_a, x_h) + d(x_h, x_b)) >= r d(x_a, x_b),    r <= min(w_ah, w_bh),
//
// as long as no pair gives more than its weight. What is left of the pairs stays where it is.
//
// The edges join every variable to the `bandwidth` variables that follow it on its path (1: a plain
// path, a forest). Sums over such paths are exact, with labels^bandwidth states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "submarine/base/matrix.h"

namespace submarine::internal {

inline constexpr int kMaxBandwidth = 8;

// Positions of the paths in blocks of this many: the pairs of two blocks are a square.
inline constexpr std::size_t kRoutingBlock = 32;
inline constexpr double kMostRadii =
    4.0;  // of two blocks together: keeps products within the range of floats

struct RoutedPaths {
  std::vector<std::uint32_t> order;  // every variable once: the paths, one after the other
  std::vector<std::uint32_t> begin;  // positions in `order` where paths begin, ascending, 0 first
  int bandwidth = 1;                 // 1 to kMaxBandwidth

  // For every position, how many of the positions after it belong to the same path.
  std::vector<std::uint32_t> Followers() const;
};

// Throws InvalidInput for invalid paths: the order must hold each of the variables exactly once.
void CheckPaths(const RoutedPaths& paths, std::size_t num_variables);

// What is routed over h to the edge from position p (variable a) to p + m (variable b), kernel by
// kernel:
//
//   r = share / (4 bandwidth) min(w_ah, w_bh) where D(a,h) + D(b,h) < threshold(p, m - 1), else 0,
//   D(a,h) = sum over cuts of l |z_a - z_h|.
//
// A pair is part of at most 4 bandwidth such routes, so that none gives more than its weight,
// whatever z and the thresholds are. Solvers choose cut sums of marginals for z and estimates of
// the expected distances E[d] along the edges for the thresholds: where D is less, routing pays.
//
// Products (docs/math.md, "Squares as products"). Between blocks A and B that are not next to each other, with centres c_A
// and c_B, a kernel is at least a sum of a few products, f_a = c_A + x, f_h = c_B + y:
//
//   k_ah >= exp(|c_A - c_B|^2 / 2) exp(-|f_a - c_B|^2 / 2) exp(-|f_h - c_A|^2 / 2) (1 + x.y),
//
// so that sums over a square take 64 terms instead of 1024. This takes the place of the kernel where |x.y| is at most
// `product_limit` everywhere in the square and the blocks' radii add up to at most kMostRadii.
//
// Routes over such a square are those of all its h or of none, by the mean of their z; so are, if there are such squares
// at all, routes to edges that cross from one block to another. Flows on what is left of it are the same for all its
// pairs: those of the mean potentials, weighted by what is left. With `by_square` the same holds for all squares of blocks
// that are not next to each other, so that the number of cuts hardly matters to what a square takes.
struct Routing {
  RoutedPaths paths;
  double share = 1.0;            // t, 0 to 1
  Matrix<float> z;               // variables x cuts; empty: route everywhere
  Matrix<float> threshold;       // positions x bandwidth; empty with z
  double product_limit = 0.0;    // 0 to 1; 0: every pair is looked at
  double product_cutoff = 0.05;  // products whose kernel is below this everywhere are left out
  bool by_square =
      false;  // routes and flows are chosen by square where blocks are not next to each other

  bool everywhere() const { return z.size() == 0; }
  // Routes to edges that cross from block to block are those over all of a block or none of it.
  bool crosses_by_block() const { return product_limit > 0.0 || by_square; }
};

// Throws InvalidInput for invalid paths, a share outside 0..1, wrong shapes and z that is not
// finite.
void CheckRouting(const Routing& routing, std::size_t num_variables, std::size_t num_cuts);

}  // namespace submarine::internal
