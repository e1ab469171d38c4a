// A model as the command was given it: a factor graph (.uai, .fg) or one of our bundles (.json),
// sparse or dense.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  int width = 0;                     // 0 unless the variables are laid out
  int height = 0;
  int depth = 0;  // 0 unless they are voxels
  std::vector<std::string> warnings;
};

// `evidence` may be empty. Throws FileError for an ending that is none of the three.
ModelInput ReadModel(const std::string& file, const std::string& evidence, bool strict_hst);

// Solve() of the one model that there is.
SolveResult Solve(const ModelInput& input, const SolveOptions& options, const Watch& watch);

}  // namespace submarine::apps
