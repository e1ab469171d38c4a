// One dense solve from model to certificate:
//
//   operator -> upper solver -> mean field from its marginals and labels -> verified bounds.
//
// `auto` chains what is cheap first: where a lattice takes part, the quadratic flow (one plain
// product per iteration) until it stalls, then potential PDHG from there. With neighbour lists an
// ordered product costs no more than a plain one, and PDHG runs from the start.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "submarine/bound/certificate.h"
#include "submarine/dense/dense_result.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/solver/frank_wolfe.h"

namespace submarine {

enum class DenseMethod { kAuto, kPdhg, kQuadratic, kFrankWolfe, kMeanField };
std::string_view ToString(DenseMethod method);

// What the certificate is about.
enum class Certify {
  kAuto,  // the exact Gaussian model where enumerating its pairs takes seconds, else the operator's
  kExact,     // the exact Gaussian model, whatever that takes
  kOperator,  // the model whose pair weights are the operator's (bound/operator_verifier.h)
};
std::string_view ToString(Certify certify);

// Whose marginals are returned. Those of the upper bound are the method's own; where all pixels agree on a
// soft distribution at no cost (weak unaries, strong pairs) they say little, and mean field's more.
enum class DenseMarginals { kUpperBound, kMeanField };
std::string_view ToString(DenseMarginals marginals);

struct DenseSolveOptions {
  DenseMethod method = DenseMethod::kAuto;
  FrankWolfeStep step = FrankWolfeStep::kLineSearch;
  double relative_gap = 1e-2;  // of the upper solver: upper - dual <= this * max(1, |upper|)
  int max_iterations = 1000;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  OperatorOptions pairs = {};
  Certify certify = Certify::kAuto;
  int mean_field_iterations = 100;
  DenseMarginals marginals = DenseMarginals::kUpperBound;
};

struct DenseRecord {
  int k = 0;             // iterations made; -1 where a phase has none, which only the watch sees
  double seconds = 0.0;  // since the beginning of the solve
  std::optional<double> upper = {};
  std::optional<double> dual = {};
  std::optional<double> lower = {};
};

struct DenseOutcome {
  Certificate certificate;
  std::string pairs;        // the operator, in words
  std::string termination;  // of the upper solver, or of mean field where that is the method
  Matrix<float> marginals;
  std::vector<int> labels;  // the best labeling seen
  double energy = 0.0;      // its energy in the certified model, or slightly more
  std::vector<DenseRecord> records;
  double seconds = 0.0;
};

// `watch` is told of every record and of the phase it belongs to, which ends with the share done where
// that is known ("certify upper bound 40%"); when it returns false, the best so far is certified and
// returned. Kernels that are not normalised yet are normalised first (dense/normalisation.h): by exact
// row sums for an exact certificate and where that takes little time beside the rest, else by those of
// the operator, which the certificate then names. Throws what the operators and the model throw.
using DenseWatch = std::function<bool(std::string_view phase, const DenseRecord& record)>;
DenseOutcome SolveDense(const DenseCrf& model, const DenseSolveOptions& options,
                        const DenseWatch& watch);

}  // namespace submarine
