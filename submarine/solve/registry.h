// The table of methods: everything that is particular to one of them is its entry in registry.cc.
// Not public; programs call Solve (solve.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "submarine/base/stopwatch.h"
#include "submarine/solve/candidate/dense_flows.h"
#include "submarine/solve/candidate/sparse_candidates.h"
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
  const std::vector<int>* labels = nullptr;  // to prove something about, in place of the best found
  // Of dense pairs that bound them from above: lower bounds of marginals are about this model instead.
  const CliqueCrf<DenseCrf>* cliques = nullptr;
};

// From a task to a verified result; null in entries of methods that do not accept such models.
template <class Model>
using Solver = SolveResult (*)(const SolveTask<Model>& task);

struct SparseMethod {
  void (*find)(SparseState* state) = nullptr;  // bounds, verified
  SparseDemand first_bound = {};  // by which limits are kept; exact inference has its own
  SparseHeld memory = {};
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
  bool tables = false;  // takes tables of pairs as they are
  DenseEntry dense = {};
};

const MethodEntry& EntryOf(Method method);

// Until the method has a first bound and a verifier has confirmed it; for `auto`, that of the
// unaries alone.
double LeastSeconds(Method method, const SparseSize& size);

// --- sparse_portfolio.cc: candidates find bounds, which are verified, until nothing is left to gain within the limits. Tables
// that the model was recognised in, of which exact inference was tried, are still held.
SolveResult SolveSparse(const SolveTask<SparseCrf>& task, double bytes_of_tables = 0.0);

// --- dense_portfolio.cc: candidates find evidence, which is certified, until nothing is left to gain within the limits
SolveResult SolveDense(const SolveTask<DenseCrf>& task);
// The model with the scale factors that its kernels are marked for, by the row sums that the limits have time for.
DenseCrf NormalisedInTime(const SolveTask<DenseCrf>& task);

// --- clique_sparse.cc, clique_dense.cc: evidence for cliques makes models of pairs that bound the given one from below and
// from above (bound/verify/cliques), which the solves above take: upper bounds come from the one, lower bounds from the
// other
SolveResult SolveCliques(const SolveTask<CliqueCrf<SparseCrf>>& task);
SolveResult SolveCliques(const SolveTask<CliqueCrf<DenseCrf>>& task);

// --- exact_solve.cc: variable elimination; for `auto` only if it takes about a second, no more than a third of the time limit,
// and not too much memory
void FindExact(SparseState* state);
SolveResult TablesExactly(const FactorGraph& graph, const SolveOptions& options, Budget* budget);
std::optional<SolveResult> TryExactly(const FactorGraph& graph, const SolveOptions& options,
                                      Budget* budget);
SolveResult DenseExactly(const SolveTask<DenseCrf>& task);

std::string Describe(const FactorGraph& graph);
double TableBytes(const FactorGraph& graph);
MarginalRows ToMatrixIfEven(std::vector<std::vector<double>> rows);

}  // namespace submarine::internal
