// The model given to the command: a factor graph (.uai, .fg) or a bundle (.json), sparse or dense.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submarine/base/stopwatch.h"
#include "submarine/model/clique.h"
#include "submarine/model/dense_crf.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solve/solve.h"

namespace submarine::apps {

struct ModelInput {
  std::string file;
  std::optional<FactorGraph> graph;  // from .uai and .fg
  std::optional<SparseCrf> crf;      // from .json of kind "grid" and "graph"
  std::optional<DenseCrf> dense;     // from .json of kind "dense"
  std::vector<Clique> cliques;       // of either, beside its pairs
  int width = 0;                     // 0 unless the variables form a grid
  int height = 0;
  int depth = 0;  // 0 unless they are voxels
  std::vector<std::string> warnings;
};

// `evidence` may be empty. The limits of the options apply to pictures of dense models; the clock
// has run since the start of the call. Throws FileError for any other file extension.
ModelInput ReadModel(const std::string& file, const std::string& evidence, bool strict_hst,
                     const SolveOptions& options, const internal::Stopwatch& clock);

// Solve() of whichever model was given.
SolveResult Solve(const ModelInput& input, const SolveOptions& options, const Watch& watch);

}  // namespace submarine::apps
