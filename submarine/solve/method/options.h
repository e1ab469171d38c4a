// What a call of Solve is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "submarine/base/names.h"
#include "submarine/extension/kinds.h"
#include "submarine/filter/kernel/operator_options.h"
#include "submarine/solve/method/method.h"

namespace submarine {

// What the certificate of a dense model is about.
enum class Certify {
  kAuto,  // the exact Gaussian model where enumerating its pairs takes seconds, else the operator's
  kExact,     // the exact Gaussian model, however long that takes
  kOperator,  // the model with the operator's pair weights (docs/filters.md)
  kLower,     // the same model, but only the lower bound of the marginals: one product each
  kNone,      // nothing: marginals and labels only
};
template <>
NameTable<Certify> Names();

// Which marginals are returned. Those of the upper bound are too flat: with weak unaries and strong
// pairs, all pixels can share one distribution at no cost. Those of mean field are too confident.
// Their mean has half the error of either on small models of degree 3 to 6, compared with exact
// inference.
enum class DenseMarginals {
  kUpperBound,
  kMeanField,
  kMean,
  kRouted,  // those of the upper bound, which must be the routed one
};
template <>
NameTable<DenseMarginals> Names();

// What a call may take, and when it is done.
struct SolveLimits {
  std::optional<double> gap = {};  // stop when upper - dual <= this * max(1, |upper|); DefaultGap
  std::optional<int> max_iterations = {};  // DefaultIterations
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  double interrupt_seconds =
      1.2;                     // dense models: for the certificate once `watch` has asked to stop
  std::size_t max_bytes = 0;   // 0: DefaultMemory()
  int threads = 0;             // 0: all cores
  bool deterministic = false;  // no decision depends on the clock
};

// Sparse models and tables.
struct SparseOptions {
  ExtensionKind extension = ExtensionKind::kOptimal;
  int rho_steps = 0;  // TRW: optimisation of the edges' probabilities after the first solve
  // Of the lower bound; default: naive for kMeanField, the better of both if there is an upper
  // bound.
  std::optional<MeanFieldKind> mean_field = {};
  int rounding_draws = 16;
  int starts = 4;  // of mean field; 0: none after an upper bound; the labels give the lower bound
  std::uint64_t seed = 1;
};

struct DenseOptions {
  OperatorOptions pairs = {};
  // Labels and marginals are those after this number of updates of mean field from the unaries, all
  // variables at once, whatever is proven of them: a few updates give better labels than the least energy does
  // (docs/parameters.md). 0: those of the least energy found; kMeanField: steps are damped so that
  // its bound never falls, and made until it no longer rises.
  int updates = 0;
  Certify certify = Certify::kAuto;
  DenseMarginals marginals = DenseMarginals::kUpperBound;
};

struct SolveOptions {
  Method method = Method::kAuto;
  double temperature = 1.0;  // T of exp(-E/T); 0 solves the linear relaxation, or finds the MAP
  // Keep what expectations are proven from (solve/method/expectations.h): about a number per variable
  // and label. T > 0.
  bool expectations = false;
  SolveLimits limits = {};
  SparseOptions sparse = {};
  DenseOptions dense = {};
  bool harmonic_steps = false;  // Frank-Wolfe: gamma = 2/(k+2) instead of line search
};

// What pydensecrf does: a number of updates of mean field; and the lower bound that they prove.
SolveOptions MeanFieldPreset(int updates = 5);

}  // namespace submarine
