// The candidates of a sparse solve: each finds bounds and has them verified. When each is worth its time and memory is
// decided by solve/method/policy.h; solve/sparse_portfolio.cc has the table of them, solve/registry.cc that of the methods.
#pragma once

#include "submarine/solve/candidate/sparse_state.h"

namespace submarine::internal {

// --- Upper bounds, and labels rounded from their marginals
void BoundByUnaries(SparseState* state);
// By a solver that leaves flows and marginals, given the limits.
using FlowSolver = std::function<BoundResult(const SparseCrf& model, const BoundOptions& limits)>;
void FindFlows(SparseState* state, const FlowSolver& solver);
void FindTrw(SparseState* state);
// TRW with the edges' probabilities optimised, from its value at even ones.
void FindBetterForests(SparseState* state);
// TRW on any tables of pairs.
SolveResult SolveTables(const FactorGraph& graph, const SolveOptions& options, double gap,
                        int max_iterations, Budget* budget);

// --- Lower bounds
void FindSparseMeanField(SparseState* state);
void FindForestMeanField(SparseState* state);

}  // namespace submarine::internal
