// Which paths a routed solve takes, their bandwidth, and which squares of pairs it looks at, within its time and memory.
#pragma once

#include "submarine/base/stopwatch.h"
#include "submarine/extension/routing.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solver/routed/routed_solver.h"
#include "submarine/solver/routed/routed_times.h"
#include "submarine/solver/routed/squares/tile_pairs.h"

namespace submarine::internal {

struct RoutesPlan {
  RoutedPaths paths;
  VariableOrder order = VariableOrder::kSpanning;  // of the paths
  TilePairsOptions squares;
  double seconds = 0.0;  // left for squares: to route, iterate and verify
};

// The clock runs since the solve began. Sets the bandwidth that `times` goes by.
RoutesPlan PlanRoutes(const DenseCrf& model, const RoutedOptions& options, const Stopwatch& clock,
                      RoutedTimes* times);

// Of the states of the largest bandwidth that is taken where there are many labels.
double MostPathBytes(const DenseCrf& model);

}  // namespace submarine::internal
