// Exact inference by variable elimination: log Z (or -min E) and all marginals of a factor graph of
// small induced width. It is the yardstick the bounds are measured against.
#pragma once

#include <cstdint>
#include <vector>

#include "submarine/model/factor_graph.h"
#include "submarine/solver/elimination_order.h"

namespace submarine {

struct ExactOptions {
  double temperature = 1.0;            // 0: minimise the energy instead of summing
  std::int64_t max_bytes = 4LL << 30;  // refuse models that need more
};

struct ExactResult {
  double log_partition = 0.0;  // T log sum_x exp(-E(x) / T); -min E at T = 0
  // Per variable; at T = 0 the indicator of map_labeling.
  std::vector<std::vector<double>> marginals;
  std::vector<int> map_labeling;  // argmin E at T = 0, otherwise the argmax of the marginals
  int induced_width = 0;          // 0 when enumerated
  std::int64_t bytes = 0;         // of working memory
};

// Throws TooLarge before anything is computed when the tables exceed max_bytes, and InvalidInput
// when the graph or the temperature is invalid or no labeling has positive probability.
ExactResult SolveExact(const FactorGraph& graph, const ExactOptions& options = {});

// The slow twin: a loop over all labelings. Throws TooLarge above 2^26 of them, InvalidInput as
// above.
ExactResult EnumerateExact(const FactorGraph& graph, double temperature = 1.0);

}  // namespace submarine
