// The solvers of a dense model, one after the other, up to the evidence that a certificate needs.
//
// `auto` chains what is cheap first: where a lattice takes part, the quadratic flow (one plain product per
// iteration) until it stalls, then potential PDHG from there. With neighbour lists an ordered product costs
// no more than a plain one, and PDHG runs from the start, first on a sample of the pairs.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/stopwatch.h"
#include "submarine/extension/dense_extension.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/solve/candidate/dense_state.h"
#include "submarine/solver/common/dense_result.h"
#include "submarine/solver/mean_field/dense_mean_field.h"

namespace submarine::internal {

struct DenseChainOptions {
  double temperature = 1.0;
  bool harmonic_steps = false;
  bool classic_updates = false;  // of mean field on its own: undamped, max_iterations of them
  double relative_gap = 1e-2;    // of the solver, see SolverGap (method/policy.h)
  int max_iterations = 1000;
  double deadline = std::numeric_limits<double>::infinity();  // on the clock given
  std::size_t max_proof_bytes = std::size_t{4} << 30;         // of Frank-Wolfe's steps
};

// Something is proven even where there is no time for anything: one iteration is always made, unless the
// extension's `interrupted` ends it, which may leave the evidence empty. `tell` is given every record and
// returns false to stop.
using DenseTell = std::function<bool(std::string_view phase, const SolveRecord& record)>;
struct DenseChainTask {
  std::string_view name;  // of the method
  const DenseExtension& extension;
  bool exact_pairs;  // the operator's weights are the Gaussians', but for pairs left out
  const DenseChainOptions& options;
  const Stopwatch& clock;
  const DenseTell& tell;
};

DenseEvidence ChainAuto(const DenseChainTask& task);
// One solver, then mean field from its marginals. Its options are the limits given here, and those of
// `task.options` that it knows.
using DenseSolver =
    std::function<DenseResult(const DenseExtension& extension, const BoundOptions& limits)>;
DenseEvidence ChainSolver(const DenseChainTask& task, const DenseSolver& solver);
DenseEvidence ChainMeanField(const DenseChainTask& task);  // alone

// On the budget's clock: the time that leaves `reserve` seconds.
double DeadlineOf(const DenseState& state, double reserve);
// Moves those of the evidence to the state's.
void TakeRecords(DenseState* state);

// Whether mean field from labels of this energy can reach the dual value: it cannot make up for more than 2% of it.
bool MeanFieldMayHelp(double energy, double dual);
// Whether another stage of this number of iterations is unlikely to reduce the gap.
bool Stalled(int stage, double gap_before, double gap);

}  // namespace submarine::internal
