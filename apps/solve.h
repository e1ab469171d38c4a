// One solve from model to certificate: the upper solver, the labeling, the lower bound, and the
// independent check of what they claim.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/model_input.h"
#include "submarine/base/matrix.h"
#include "submarine/bound/certificate.h"
#include "submarine/dense/dense_solve.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/solver/bound_solver.h"
#include "submarine/solver/hybrid.h"

namespace submarine::apps {

enum class Method {
  kAuto,  // what suits the model: PDHG for sparse ones, a chain of solvers for dense ones
  kPdhg,
  kQuadratic,  // dense models only
  kFrankWolfe,
  kBlockFrankWolfe,  // sparse models only
  kTrw,              // not for dense models; any table of at most two variables
  kHybrid,           // sparse models only
  kMeanField,
  kExact
};

struct SolveOptions {
  Method method = Method::kAuto;
  ExtensionKind extension = ExtensionKind::kOptimal;
  std::optional<double> rho = {};  // TRW: every edge with this probability
  int rho_steps = 0;               // TRW: optimisation of rho after the first solve
  std::optional<HybridForest> forest =
      {};                       // hybrid; not given: best of rows and columns, or spanning
  bool deterministic = false;   // no decision by the clock
  bool harmonic_steps = false;  // Frank-Wolfe: gamma = 2/(k+2) instead of line search
  double temperature = 1.0;
  double relative_gap = 1e-4;
  int max_iterations = 100000;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  int rounding_draws = 16;
  int starts = 4;  // of mean field
  std::uint64_t seed = 1;
  std::int64_t max_exact_bytes = 4LL << 30;
  // Dense models; extension, rounding, starts and seed are not for them.
  OperatorOptions pairs = {};
  Certify certify = Certify::kAuto;
  DenseMarginals marginals = DenseMarginals::kUpperBound;
};

using SolveRecord = DenseRecord;

// One row per variable, in single precision from dense models, whose rows are many; lists where the
// variables differ in their number of labels, which exact inference allows.
using MarginalRows = std::variant<Matrix<double>, Matrix<float>, std::vector<std::vector<double>>>;

struct SolveOutcome {
  Certificate certificate;
  std::string termination;
  std::string pairs;  // dense models: the operator that the solver applied, in words
  MarginalRows marginals;
  std::vector<int> labels;
  std::optional<double> energy;  // of `labels`, which is the best labeling seen
  std::vector<SolveRecord> records;
  double seconds = 0.0;
};

// `watch` is told of every record and of the phase it belongs to; when it returns false, the best
// so far is certified and returned. Throws what the library throws.
using Watch = std::function<bool(std::string_view phase, const SolveRecord& record)>;
SolveOutcome Solve(ModelInput input, const SolveOptions& options, const Watch& watch);

std::string_view ToString(Method method);

}  // namespace submarine::apps
