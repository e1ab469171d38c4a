// The hybrid bound (solver/forest/hybrid.h) of a model that routing has made: by the triangle inequality
//
//   r (d(x_a, x_c) + d(x_c, x_b)) >= r d(x_a, x_b),
//
// r units of the edges {a,c} and {c,b} may be spent on the edge {a,b} of the forest, as long as no edge
// spends more than it has (docs/math.md, "Routing"). What is left of the edges stays where it is. The
// energy is nowhere above the given one, so that every bound on its partition function is one here.
//
// Which routes are used is a convex problem, too. At the best flow a unit of r pays
//
//   E[d(x_a, x_b)] - C_ac - C_cb > 0,   C = E[d] in the forest, sum over cuts of l |z - z'| outside,
//
// so the solver moves the amounts towards what pays, by steps of Frank-Wolfe that are shortened until they gain.
#pragma once

#include "submarine/solver/forest/hybrid.h"

namespace submarine::internal {

struct RoutedHybridOptions : HybridOptions {
  double share = 1.0;  // of every edge's weight that may be routed, 0 to 1
  int rounds = 6;      // of choosing routes
};

// As SolveHybrid, with the routes in the parts, and never looser than its bound unless a limit ends it.
// HybridForest::kSpanning takes the forest that most weight can be routed to. Where nothing can be
// routed it is SolveHybrid, and the parts have no routes. Throws InvalidInput for a share outside 0..1.
HybridResult SolveRoutedHybrid(const SparseCrf& model, const RoutedHybridOptions& options = {});

}  // namespace submarine::internal
