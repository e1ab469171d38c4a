// Which variable to sum out next. The order decides everything about the cost of exact inference:
// the message of a variable is a table over the neighbours it has left when its turn comes (its
// separator).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "submarine/model/factor_graph.h"

namespace submarine::internal {

// Tables are processed in pieces of about this many entries; a whole table never exists.
inline constexpr std::int64_t kExactBufferEntries = std::int64_t{1} << 19;

struct ExactPlan {
  std::vector<int> order;  // variables, first eliminated first
  // Per variable: its neighbours when its turn comes, in elimination order.
  std::vector<std::vector<int>> separator;
  int induced_width = 0;       // size of the largest separator
  double table_entries = 0.0;  // visited in one pass: sum of cardinality * separator table
  double bytes = 0.0;          // peak memory of SolveExact beyond the factor graph

  // False when nothing was found that fits the limit. Then the other fields describe an order that
  // does not fit, or only the beginning of one if `order` lacks variables; width and bytes are of
  // that part.
  bool complete = false;
  // True when no elimination order whatever fits the limit; only meaningful when not complete.
  bool proven_too_large = false;
};

// The cheapest, by table_entries, of orders found by min-weight (smallest table first), min-fill
// and sweeps across the graph; deterministic. Nothing of the size of a table is allocated, and
// sizes are doubles, so that hopeless graphs are safe to ask about; a limit also makes them quick,
// since an attempt ends where it exceeds it. Throws InvalidInput when the graph is not valid.
ExactPlan PlanExact(const FactorGraph& graph,
                    double max_bytes = std::numeric_limits<double>::infinity());

}  // namespace submarine::internal
