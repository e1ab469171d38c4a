// Exact inference by variable elimination: log Z (or -min E) and all marginals of a factor graph of
// small induced width. The bounds are measured against it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solver/exact/elimination_order.h"

namespace submarine::internal {

struct ExactOptions {
  double temperature = 1.0;            // 0: minimise the energy instead of summing
  std::int64_t max_bytes = 4LL << 30;  // refuse models that need more
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  // Called several times a second on the calling thread; return true to give up.
  std::function<bool()> interrupted = {};
};

struct ExactResult {
  double log_partition = 0.0;  // T log sum_x exp(-E(x) / T); -min E at T = 0
  // The true value, for the given energies, is within this of log_partition: a bound on all
  // rounding, propagated with the tables (exact_error.h). At T = 0 it also bounds by how much the
  // energy of map_labeling exceeds the least one.
  double error = 0.0;
  // Per variable; at T = 0 the indicator of map_labeling.
  std::vector<std::vector<double>> marginals;
  std::vector<int> map_labeling;  // argmin E at T = 0, otherwise the argmax of the marginals
  int induced_width = 0;
  std::int64_t bytes = 0;  // of working memory
};

// Throws TooLarge before anything is computed when the tables exceed max_bytes, and InvalidInput
// when the graph or the temperature is invalid or no labeling has positive probability. There is no
// partial result: throws TimeLimit or Interrupted (base/error.h) when stopped before the end.
ExactResult SolveExact(const FactorGraph& graph, const ExactOptions& options = {});

// The same for ToFactorGraph(model); the error includes that of the products w d(i,j).
ExactResult SolveExact(const SparseCrf& model, const ExactOptions& options = {});

}  // namespace submarine::internal
