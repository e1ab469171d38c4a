// The table of methods: everything that is particular to one of them is its entry in registry.cc.
// Not public; programs call Solve (solve.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "submarine/base/stopwatch.h"
#include "submarine/solve/candidate/dense_flows.h"
#include "submarine/solve/method/dense_memory.h"
#include "submarine/solve/method/times.h"
#include "submarine/solve/solve.h"
#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {

// A call of Solve after its options were checked and its method chosen.
template <class Model>
struct SolveTask {
  const Model& model;
  const SolveOptions& options;
  const Stopwatch& clock;  // of the whole call
  const Watch& watch;
};

// From a task to a verified result; null in entries of methods that do not accept such models.
template <class Model>
using Solver = SolveResult (*)(const SolveTask<Model>& task);

struct SparseMethod {
  Solver<SparseCrf> run = nullptr;
  SparseDemand first_bound = {};     // by which limits are kept; exact inference has its own
  double gap = 1e-4;                 // the default one
  bool zero_temperature = false;     // its first bound may be at T = 0; solvers check it themselves
  bool alternate_extension = false;  // runs on either extension
};

struct DenseEntry {
  Solver<DenseCrf> run = nullptr;
  DenseChain chain = nullptr;  // the solvers of FindFlows, or mean field
  DenseMethodTraits traits = {};
};

struct MethodEntry {
  Method method;
  std::string_view name;
  std::string_view help;
  SparseMethod sparse = {};
  Solver<FactorGraph> tables = nullptr;
  DenseEntry dense = {};
};

const MethodEntry& EntryOf(Method method);

// Until the method has a first bound and a verifier has confirmed it; for `auto`, that of the
// unaries alone.
double LeastSeconds(Method method, const SparseSize& size);

// --- sparse_solve.cc: upper bound, labeling and lower bound, each verified independently

// By a solver that leaves flows and marginals. Its options are the limits given here, and those of
// `task.options` that it knows.
using FlowSolver = std::function<BoundResult(const SparseCrf& model, const BoundOptions& limits)>;
SolveResult SparseByFlows(const SolveTask<SparseCrf>& task, const FlowSolver& solver);
SolveResult SparseByTrw(const SolveTask<SparseCrf>& task);
SolveResult SparseByHybrid(const SolveTask<SparseCrf>& task);  // with or without routes
SolveResult SparseByMeanField(const SolveTask<SparseCrf>& task);
SolveResult SparseByUnaries(const SolveTask<SparseCrf>& task);  // when there is no time for more
SolveResult TablesByTrw(const SolveTask<FactorGraph>& task);    // on the given tables

// --- dense_portfolio.cc: candidates find evidence, which is certified, until nothing is left to gain within the limits
SolveResult SolveDense(const SolveTask<DenseCrf>& task);

// --- exact_solve.cc: variable elimination
SolveResult SparseExactly(const SolveTask<SparseCrf>& task);
SolveResult TablesExactly(const SolveTask<FactorGraph>& task);
SolveResult DenseExactly(const SolveTask<DenseCrf>& task);
// None if it would take more than about a second, a third of the time limit, or too much memory.
std::optional<SolveResult> TryExactly(const SolveTask<SparseCrf>& task);
std::optional<SolveResult> TryExactly(const SolveTask<FactorGraph>& task);

std::string Describe(const FactorGraph& graph);
MarginalRows ToMatrixIfEven(std::vector<std::vector<double>> rows);

}  // namespace submarine::internal
