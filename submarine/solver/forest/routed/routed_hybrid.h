// The hybrid bound (solver/forest/hybrid.h) after routing: by the triangle inequality
//
//   r (d(x_a, x_h) + d(x_h, x_b)) >= r d(x_a, x_b),
//
// a part r of the weights of the edges {a,h} and {h,b} may be moved to the edge {a,b} of the
// forest, as long as no edge gives more than its weight (docs/math.md, "Routing"). What is left of
// the edges stays where it is. The energy of the model made in this way is nowhere above the given
// one, so that every upper bound on its partition function is one on the given model's.
//
// Choosing the routes is a convex problem, too. At the best flow a unit of r pays
//
//   E[d(x_a, x_b)] - C_ah - C_hb > 0,  C = E[d] in the forest, sum over cuts of l |z - z'| outside,
//
// so the solver moves the amounts towards what pays, by Frank-Wolfe steps that are shortened until
// the bound improves.
#pragma once

#include "submarine/solver/forest/hybrid.h"

namespace submarine::internal {

struct RoutedHybridOptions : HybridOptions {
  double share = 1.0;  // fraction of every edge's weight that may be routed, 0 to 1
  int rounds = 6;      // of choosing routes
};

// As SolveHybrid, with the routes in the parts, and never looser than its bound unless a limit ends
// it. HybridForest::kSpanning takes the forest to which most weight can be routed. If nothing can
// be routed, it is SolveHybrid, and the parts have no routes. Throws InvalidInput for a share
// outside 0..1.
HybridResult SolveRoutedHybrid(const SparseCrf& model, const RoutedHybridOptions& options = {});

}  // namespace submarine::internal
