// Sparse models and tables: upper bound, labeling, lower bound, and the independent check of each.
// Not public; solve.h is the door.
#pragma once

#include "submarine/base/stopwatch.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {

// The model and how far its energies may be from those of the given tables, for any labeling.
SolveResult SolveSparse(const SparseCrf& model, double defect, const SolveOptions& options,
                        const Stopwatch& clock, const Watch& watch);
// By TRW on the tables as they are.
SolveResult SolveTablesByTrw(const FactorGraph& graph, const SolveOptions& options,
                             const Stopwatch& clock, const Watch& watch);
SolveResult SolveByElimination(const FactorGraph& graph, std::string description,
                               const SolveOptions& options, const Stopwatch& clock,
                               const Watch& watch);
SolveResult SolveByElimination(const SparseCrf& model, std::string description,
                               const SolveOptions& options, const Stopwatch& clock,
                               const Watch& watch);

std::string Describe(const FactorGraph& graph);

}  // namespace submarine::internal
