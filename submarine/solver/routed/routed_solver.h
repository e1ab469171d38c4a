// The routed bound of a dense model (docs/math.md, "Routing"): which pairs pay for the edges of a path, and
// the flows on what is left,
//
//   T log Z_T  <=  min over |q| <= 1 of  T log Z_T(paths with weights W; phi + s(q; w - u)).
//
// The bound is a smooth convex function of the flows, whose gradient is the difference of two variables'
// marginals under the distribution on the paths: it is minimised by accelerated dual averaging, whose flows
// are those of potentials.
//
// Which routes to use is learned on a sample of the pairs, in rounds: the first one uses all routes, with share 0.9, the
// others those that pay under the mean of the distributions so far, where the paths disagree along an edge more often than
// the marginals differ from the third variable's. The best round is continued with all pairs to its end. Where there is
// no time to learn, routes are those between variables whose given marginals (mean field's) are nearly equal: routes
// across borders do not pay. Where nothing proves the plain bound to be higher, routing nothing is tried, too. No gap
// ends it: the bound is taken as low as the limits allow.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/evidence.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solver/common/bound_solver.h"
#include "submarine/solver/routed/path_order.h"

namespace submarine::internal {

// Whether squares of pairs are bounded by products (extension/routing.h), which takes a fraction of the time that looking
// at all their pairs does, and costs some tightness.
enum class RoutedProducts { kNever, kWhereTimeIsShort, kAlways };  // time or memory

struct RoutedOptions {
  double temperature = 1.0;  // T > 0
  int bandwidth = 0;         // 0: as large as labels, metric, time and memory allow
  Matrix<float> marginals;   // by variable, for a first round in short time; may be empty
  double lower = -std::numeric_limits<double>::infinity();  // of log Z, as far as known
  int max_iterations = 800;                                 // of all rounds together
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  double planned_seconds =
      std::numeric_limits<double>::infinity();  // squares of pairs are chosen for
  bool leaves_time_to_verify = false;
  double cutoff = 0.05;  // squares of pairs whose kernel is below this are left out
  RoutedProducts products = RoutedProducts::kNever;
  bool by_square = false;  // see Routing: for many cuts and pairs
  std::size_t max_bytes = std::size_t{4} << 30;
  std::size_t max_path_bytes = std::size_t{1} << 30;  // for the states of banded chains
  // Stopped before there is a bound, it makes the first one where that takes a second at most.
  bool finishes_first_bound = true;
  // With every iteration, and while pairs are routed; return false to stop.
  std::function<bool(const SolveRecord&)> on_iteration = {};
  std::function<bool(double done)> on_routing = {};
};

struct RoutedResult {
  Termination termination = Termination::kConverged;
  double upper =
      std::numeric_limits<double>::infinity();  // of `proof`, on the pairs that were looked at
  double path_only = std::numeric_limits<double>::infinity();  // of the routes without flows
  RoutedProof proof;
  VariableOrder order = VariableOrder::kSpanning;  // of the paths
  Matrix<float> marginals;                         // of the paths' distribution, by variable
  double cutoff = 0.0;                             // the one that time and memory allowed
  double routed_weight = 0.0;                      // W per variable, and what is left of its pairs
  double left_weight = 0.0;
  int iterations = 0;
  std::vector<SolveRecord> records;
};

// Throws InvalidInput for a temperature that is not positive and finite and marginals that do not fit, and
// Interrupted where it was stopped before there was any bound.
RoutedResult SolveRouted(const DenseCrf& model, const RoutedOptions& options);

}  // namespace submarine::internal
