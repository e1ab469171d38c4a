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
#include "submarine/solve/limits.h"
#include "submarine/solve/solve.h"
#include "submarine/solve/strategy.h"
#include "submarine/solver/common/dense_result.h"
#include "submarine/solver/mean_field/dense_mean_field.h"

namespace submarine::internal {

// What the solvers have found; all values are their own, about the operator's model, and prove nothing.
struct DenseEvidence {
  Termination termination = Termination::kNotRun;
  DenseResult bound;         // upper stays infinite where no upper bound was asked for
  Matrix<float> mean_field;  // marginals; empty where there was no time for it
  double lower = -std::numeric_limits<double>::infinity();
  std::vector<SolveRecord> records;

  bool empty() const { return !std::isfinite(bound.upper) && mean_field.size() == 0; }
};

struct DenseChainOptions {
  double temperature = 1.0;
  bool harmonic_steps = false;
  bool classic_updates = false;  // of mean field on its own, see SolveOptions
  double relative_gap = 1e-2;    // of the solver, see SolverGap
  int max_iterations = 1000;
  double deadline = std::numeric_limits<double>::infinity();  // on the clock given
  std::size_t max_proof_bytes = std::size_t{4} << 30;         // of Frank-Wolfe's steps
  DenseStrategy strategy = {};
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
using DenseChain = DenseEvidence (*)(const DenseChainTask& task);

DenseEvidence ChainAuto(const DenseChainTask& task);
// One solver, then mean field from its marginals. Its options are the limits given here, and those of
// `task.options` that it knows.
using DenseSolver =
    std::function<DenseResult(const DenseExtension& extension, const BoundOptions& limits)>;
DenseEvidence ChainSolver(const DenseChainTask& task, const DenseSolver& solver);
DenseEvidence ChainMeanField(const DenseChainTask& task);  // alone

// The best labeling seen.
std::vector<int> LabelsOf(const DenseEvidence& evidence);

// --- Mean field finds one of many maxima, and other starts may lead to a better one: the evidence keeps the best.
inline constexpr double kShareForRestart = 0.2;  // of the time left: it takes no more
struct MeanFieldRestart {
  double temperature = 1.0;
  int max_iterations = DenseStrategy().mean_field_iterations;
  double tolerance = 1e-6;  // a relative gain of an iteration that is worth no more
};
void RestartMeanField(const DenseExtension& extension, const Matrix<float>& start,
                      const MeanFieldRestart& restart, Alarm* alarm, DenseEvidence* evidence);
// It may have ended with labels too many: goes on from those of them that are worth it, or from one label for all,
// where these are better or about as good.
void RestartFromFewerLabels(const DenseExtension& extension, const MeanFieldRestart& restart,
                            Alarm* alarm, DenseEvidence* evidence);

}  // namespace submarine::internal
