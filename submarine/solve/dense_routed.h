// The routed bound within a dense solve: when it pays, and from mean field's marginals to a verified bound.
// Not public; programs call Solve (solve.h).
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/filter/list/neighbour_list.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solve/dense_chain.h"
#include "submarine/solve/limits.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {

// Whether `auto` routes: the plain bound, which is nowhere below the value of a distribution that all
// variables share, cannot gain much from the pairs, and the least that routing takes is within `seconds`.
bool RoutingPays(const DenseCrf& model, double temperature, double seconds);

// Whether there is anything to route, and the least that routing takes is within `seconds`.
bool RoutingFits(const DenseCrf& model, double temperature, double seconds);

// Whether looking at all squares of pairs some times takes a few seconds, and a small share of those left.
bool RoutingIsQuick(const DenseCrf& model, double temperature, double seconds_left);

// What routing holds at most, the verifier included, of the memory that the whole solve may have: fewer pairs are
// looked at where more would not fit.
double RoutedBytes(const DenseCrf& model, double max_bytes);

struct RoutedPart {
  Termination termination = Termination::kNotRun;
  std::optional<Bound> upper;  // verified; or none, where nobody asked or there was no time
  bool refused = false;        // for want of memory
  bool complete =
      true;  // false: looser than it could be, because there was no time to verify all of it
  std::optional<Bound> dual;  // no flows on these routes prove less
  Matrix<float> marginals;    // of the paths' distribution; empty where there was no time for any
  std::string description;    // what was routed
  std::vector<SolveRecord> records;
  std::vector<std::string> notes;
};

struct RoutedPlan {
  double patience = std::numeric_limits<double>::infinity();  // seconds that the work is chosen for
  double reserve = 0.0;                                       // seconds to leave of the time limit
  // Stopped before there is a bound, it makes a first one where that takes a second at most.
  bool finishes_first_bound = true;
  // Whether a bound of this value is: false where another one says more.
  std::function<bool(double upper)> is_worth_verifying = {};
};

// From mean field's marginals, for models whose plain bound is of no use. Throws TooLarge where even the fewest
// pairs do not fit and routing was asked for. Tells the alarm mean field's lower bound with every record.
RoutedPart SolveRoutedPart(const DenseCrf& model, const DenseEvidence& mean_field,
                           const SolveOptions& options, const RoutedPlan& plan, Alarm* alarm);

// A note on what the plain bound is, for results of a routed one.
std::string AsPublished(const DenseResult& bound);

// From where the chain of a plain bound ended, on the list of its pairs. What it has found by then decides whether the
// routed bound is the better one: otherwise it has no `upper`.
RoutedPart RouteListedPart(const DenseExtension& extension, const NeighbourList& pairs,
                           const DenseEvidence& evidence, const SolveOptions& options, double gap,
                           double reserve, Alarm* alarm);

}  // namespace submarine::internal
