// The routed bound within a dense solve (docs/math.md, "Routing"): how long it takes, and from mean field's marginals or a
// plain bound's potentials to a verified bound.
#pragma once

#include <functional>
#include <limits>
#include <string>

#include "submarine/filter/list/neighbour_list.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solve/candidate/dense_state.h"

namespace submarine::internal {

// Seconds that routing all pairs takes with the least effort and with the most; infinite where there is nothing to route.
double LeastRoutingSeconds(const DenseCrf& model);
double MostRoutingSeconds(const DenseCrf& model);

// Memory that routing needs beside mean field, as far as `max_bytes` allow.
double RoutedBytes(const DenseCrf& model, double max_bytes);

struct RoutesLimits {
  double patience = std::numeric_limits<double>::infinity();  // seconds that the work is chosen for
  double reserve = 0.0;                                       // seconds to leave of the time limit
  // Stopped before there is a bound, it makes a first one where that takes a second at most.
  bool finishes_first_bound = true;
  // Whether a bound of this value is: false where another one says more.
  std::function<bool(double upper)> is_worth_verifying = {};
};

// From mean field's marginals, for models whose plain bound is of little use. Throws TooLarge where even the fewest pairs do
// not fit and routing was asked for. Tells the budget mean field's lower bound with every record.
RoutedPart FindRoutes(const RoutesLimits& limits, DenseState* state);

// From where the chain of a plain bound ended, on the list of its pairs; leaves `reserve` seconds. What the chain has found by
// then decides whether the routed bound is the better one: otherwise it has no `upper`.
RoutedPart FindListedRoutes(const NeighbourList& pairs, double reserve, DenseState* state);

// A note on what the plain bound is, for results of a routed one.
std::string AsPublished(const DenseResult& bound);

}  // namespace submarine::internal
