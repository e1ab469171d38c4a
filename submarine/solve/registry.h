// What runs: every method's solver for each kind of model that it accepts. Names and help are in
// method/method.cc. Not public; programs call Solve (solve.h).
#pragma once

#include "submarine/base/stopwatch.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {

// A call of Solve after its options were checked and its method chosen.
template <class Model>
struct SolveTask {
  const Model& model;
  const SolveOptions& options;
  const Stopwatch& clock;  // of the whole call
  const Watch& watch;
};

template <class Model>
using Solver = SolveResult (*)(const SolveTask<Model>& task);

// Null for kinds of models that the method does not accept.
struct MethodSolvers {
  Method method;
  Solver<SparseCrf> sparse;
  Solver<FactorGraph> tables;
  Solver<DenseCrf> dense;
};

const MethodSolvers& SolversOf(Method method);

// --- sparse_solve.cc: upper bound, labeling and lower bound, each verified independently
SolveResult SparseByUnaries(const SolveTask<SparseCrf>& task);  // when there is no time for more
SolveResult SparseByPdhg(const SolveTask<SparseCrf>& task);
SolveResult SparseByFrankWolfe(const SolveTask<SparseCrf>& task);
SolveResult SparseByBlockFrankWolfe(const SolveTask<SparseCrf>& task);
SolveResult SparseByTrw(const SolveTask<SparseCrf>& task);
SolveResult SparseByHybrid(const SolveTask<SparseCrf>& task);  // with or without routes
SolveResult SparseByMeanField(const SolveTask<SparseCrf>& task);
SolveResult TablesByTrw(const SolveTask<FactorGraph>& task);  // on the given tables

// --- dense_solve.cc: normalisation -> operator -> chain of solvers (dense_chain.h) -> verified bounds
// (dense_certify.h), all within the limits
SolveResult DenseByAuto(const SolveTask<DenseCrf>& task);
SolveResult DenseByPdhg(const SolveTask<DenseCrf>& task);
SolveResult DenseByQuadratic(const SolveTask<DenseCrf>& task);
SolveResult DenseByFrankWolfe(const SolveTask<DenseCrf>& task);
SolveResult DenseByRouting(const SolveTask<DenseCrf>& task);
SolveResult DenseByMeanField(const SolveTask<DenseCrf>& task);

// --- exact_solve.cc: variable elimination
SolveResult SparseExactly(const SolveTask<SparseCrf>& task);
SolveResult TablesExactly(const SolveTask<FactorGraph>& task);
SolveResult DenseExactly(const SolveTask<DenseCrf>& task);

}  // namespace submarine::internal
