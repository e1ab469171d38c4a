// A plain upper bound of listed pairs, improved by routing: exact sums along the rows of a picture, which carry their
// direct pairs and what routing brings them, and the plain bound's own flows on what is left.
//
// The plain bound counts the entropy of every variable on its own; along rows it is counted jointly. Its potentials are
// nearly the best for what is left, too, so that some iterations of accelerated dual averaging are enough
// (routed_solver.h begins from nothing, for models whose plain bound is of no use).
#pragma once

#include <functional>
#include <limits>

#include "submarine/extension/dense_extension.h"
#include "submarine/filter/list/neighbour_list.h"
#include "submarine/solver/common/dense_result.h"
#include "submarine/solver/routed/routed_solver.h"

namespace submarine::internal {

struct ListedOptions {
  double temperature = 1.0;  // T > 0
  int max_iterations = 16;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  double worthwhile_gain = 2e-4;    // of four iterations, relative to the bound; it stops at less
  double sample_neighbours = 96.0;  // iterations are made on a sample of what is left
  double share = 0.85;              // of the pairs' weight, of what routes may take at most
  std::function<bool(const SolveRecord&)> on_iteration = {};  // return false to stop
};

// From where a plain solver ended: `start` has its marginals and potentials. `pairs` are those of the extension. The
// upper bound of the result is about all of `pairs`. Throws InvalidInput as SolveRouted and for a start
// that does not fit.
RoutedResult RouteListed(const DenseExtension& extension, const NeighbourList& pairs,
                         const DenseStart& start, const ListedOptions& options);

}  // namespace submarine::internal
