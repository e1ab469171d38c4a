// Which variable to sum out next. The order determines the cost of exact inference: the message of
// a variable is a table over its remaining neighbours when it is eliminated (its separator).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "submarine/model/factor_graph.h"

namespace submarine::internal {

// Tables are processed in pieces of about this many entries; a whole table never exists.
inline constexpr std::int64_t kExactBufferEntries = std::int64_t{1} << 19;

struct EliminationOrder {
  std::vector<int> order;  // variables, first eliminated first
  // Per variable: its remaining neighbours when it is eliminated, in elimination order.
  std::vector<std::vector<int>> separator;
  int induced_width = 0;       // size of the largest separator
  double table_entries = 0.0;  // visited in one pass: sum of cardinality * separator table
  double bytes = 0.0;          // peak memory of SolveExact beyond the factor graph

  // False when no order was found that fits the limit. The other fields then describe an order that
  // does not fit, or only the beginning of one if `order` lacks variables; width and bytes are
  // those of this part.
  bool complete = false;
  // True when it is proven that no elimination order fits the limit; only meaningful when not
  // complete.
  bool proven_too_large = false;
};

// The cheapest, by table_entries, of orders found by min-weight (smallest table first), min-fill
// and sweeps across the graph; deterministic. Allocates no tables, and sizes are doubles, so that
// it is safe for graphs of any width; a limit also makes it fast for these, since an attempt ends
// when it exceeds the limit. Throws InvalidInput when the graph is not valid.
EliminationOrder FindEliminationOrder(const FactorGraph& graph,
                                      double max_bytes = std::numeric_limits<double>::infinity());

}  // namespace submarine::internal
