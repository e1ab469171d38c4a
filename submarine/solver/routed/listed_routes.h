// Routing (extension/routing.h) of the pairs of a neighbour list, along paths of bandwidth 1: for kernels so narrow
// that their pairs are listed. Wide ones are routed in squares (tile_pairs.h).
#pragma once

#include <memory>

#include "submarine/base/matrix.h"
#include "submarine/extension/routing.h"
#include "submarine/filter/list/neighbour_list.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

struct ListedRoutes {
  std::unique_ptr<NeighbourList> left;  // w - u; 0 for the pairs that are edges of the paths
  Matrix<double>
      edge_weights;  // W of the edge from position p to p + 1 at (p, 0), direct pairs included
  double routed_weight = 0.0;  // W per variable, and what is left of its pairs
  double left_weight = 0.0;
};

// `pairs` lists the model's kernels of positive weight, in their order. Pairs that are not in the list take no
// part. Throws InvalidInput for what CheckRouting refuses and for a bandwidth above 1.
ListedRoutes RouteList(const DenseCrf& model, const NeighbourList& pairs, const Routing& routing);

}  // namespace submarine::internal
