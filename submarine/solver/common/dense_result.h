// What the dense bound solvers have in common, besides solver/common/bound_solver.h.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/stopwatch.h"
#include "submarine/extension/dense_extension.h"
#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {

// Where a solver starts: any marginals, and any potentials (columns: active cuts). Empty matrices
// mean the solver's default start.
struct DenseStart {
  Matrix<float> marginals = {};
  Matrix<float> potentials = {};
  int iterations = 0;                   // made before reaching this start
  std::vector<float> multipliers = {};  // guesses for the prox of every variable, or none
};

// If the extension's `interrupted` ends a solve, even before the first bound, all fields that are
// set are valid: `marginals` and `state` always, `proof` if `upper` is finite, `labels` if `energy`
// is.
//
// All values are those of the operator's model, with sums in single precision;
// bound/verify/dense/dense_verifier.h turns `proof`, `marginals` and `labels` into certified values
// for the exact model.
struct DenseResult {
  Termination termination = Termination::kNotRun;
  double upper = std::numeric_limits<double>::infinity();
  double dual = -std::numeric_limits<double>::infinity();
  FlowProof proof;  // of `upper`
  Matrix<float> cliques =
      {};  // likewise, of the cliques beside the pairs (extension/clique_extension.h), if there are any
  Matrix<float> modular;     // the s of `upper`
  Matrix<float> marginals;   // the last iterate
  Matrix<float> dual_point;  // marginals of the best dual value seen, sometimes a labeling
  std::vector<int> labels;   // the best labeling seen
  double energy = std::numeric_limits<double>::infinity();  // of `labels`
  DenseStart state;                                         // to continue from
  int iterations = 0;
  std::vector<SolveRecord> records;
};

// Bookkeeping of a dense solver: what has been proven so far, and whether to continue.
class DenseProgress {
 public:
  // Without keeps_evidence, only the values are kept, not their proofs.
  DenseProgress(const DenseExtension& extension, const BoundOptions& options, DenseResult* result,
                bool keeps_evidence = true)
      : extension_(extension),
        options_(options),
        result_(*result),
        keeps_evidence_(keeps_evidence) {}

  // Takes the point s of potentials v, whose bound replaces the best one if it is lower.
  void OfferUpper(const Matrix<float>& s, const Matrix<float>& v, FlowShape shape);
  // Takes marginals as evidence for the dual value, both as given and rounded to their most
  // probable labels: where the relaxation is tight, the labeling proves more, long before the last
  // small variations of the marginals vanish.
  void OfferMarginals(const Matrix<float>& y);
  // Records iteration k; returns false when the solver must stop, with the reason in the result.
  // The time limit is not exceeded: the solver stops before an iteration that would exceed it.
  bool Continue(int k);
  // Ends the solve in the last recorded state, because a pass over the pairs was interrupted.
  void Abandon();
  // Whether iteration k is expected to be the last one.
  bool IsLast(int k) const;

  double Seconds() const { return clock_.Seconds(); }

 private:
  const DenseExtension& extension_;
  const BoundOptions& options_;
  DenseResult& result_;
  bool keeps_evidence_;
  Stopwatch clock_;
  double last_seconds_ = 0.0;
  double iteration_seconds_ = 0.0;  // per iteration, rather over- than underestimated
};

// Throw InvalidInput for a start of the wrong shape or with numbers that are not finite. An empty
// start is valid.
void CheckStart(const Matrix<float>& start, std::size_t rows, std::size_t cols,
                std::string_view what);
void CheckStart(const DenseExtension& extension, const DenseStart& start);

// Throws InvalidInput unless T is 0 or within the range of single precision, 1e-30 to 1e30.
void CheckDenseTemperature(double temperature);

}  // namespace submarine::internal
