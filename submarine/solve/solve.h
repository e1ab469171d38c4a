// The entry point: one call from model to marginals, labeling and certified interval.
//
//   const SolveResult result = Solve(model, {.time_limit_seconds = 10});
//   if (result.certificate.upper) ... *result.certificate.lower ... result.marginals
//
// Limits apply to the whole call: time covers set-up, solving and certification, memory everything
// that is held. Work that cannot fit is refused before it starts (TooLarge).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/termination.h"
#include "submarine/bound/certificate.h"
#include "submarine/extension/kinds.h"
#include "submarine/filter/kernel/operator_options.h"
#include "submarine/model/dense_crf.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solve/method/method.h"

namespace submarine {

// What the certificate of a dense model is about.
enum class Certify {
  kAuto,  // the exact Gaussian model where enumerating its pairs takes seconds, else the operator's
  kExact,     // the exact Gaussian model, however long that takes
  kOperator,  // the model with the operator's pair weights (bound/verify/dense/operator_verifier.h)
  kLower,     // the same model, but only the lower bound of the marginals: one product each
  kNone,      // nothing: marginals and labels only
};
std::string_view ToString(Certify certify);

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
std::string_view ToString(DenseMarginals marginals);
std::string_view ToString(HybridForest forest);

struct SolveOptions {
  Method method = Method::kAuto;
  double temperature = 1.0;  // T of exp(-E/T); 0 solves the linear relaxation, or finds the MAP

  // Limits. The gap and the number of iterations default to DefaultGap and DefaultIterations.
  std::optional<double> relative_gap = {};  // stop when upper - dual <= this * max(1, |upper|)
  std::optional<int> max_iterations = {};
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  double interrupt_seconds =
      1.2;                    // dense models: for the certificate once `watch` has asked to stop
  std::size_t max_bytes = 0;  // 0: DefaultMemory()
  std::string shrink_option = {};  // named in refusals as the way to shrink pictures: "--shrink"
  int threads = 0;                 // 0: all cores
  bool deterministic = false;      // no decision depends on the clock

  // Hybrid and routed. Not given: on 4-connected grids and dense models kBest, else kSpanning.
  std::optional<HybridForest> forest = {};

  // Sparse models and tables.
  ExtensionKind extension = ExtensionKind::kOptimal;
  std::optional<double> rho = {};  // TRW: the probability of every edge
  int rho_steps = 0;               // TRW: optimisation of rho after the first solve
  // Of the lower bound; default: naive for kMeanField, the better of both if there is an upper
  // bound.
  std::optional<MeanFieldKind> mean_field = {};
  int rounding_draws = 16;
  int starts = 4;  // of mean field; 0: none after an upper bound; the labels give the lower bound
  std::uint64_t seed = 1;

  bool harmonic_steps = false;  // Frank-Wolfe: gamma = 2/(k+2) instead of line search

  // Dense models.
  OperatorOptions pairs = {};
  // Mean field: max_iterations classic updates, without evaluating the bound in between. If false,
  // steps are damped so that the bound never falls, and made until it no longer rises.
  bool classic_updates = false;
  Certify certify = Certify::kAuto;
  DenseMarginals marginals = DenseMarginals::kUpperBound;
};

// The table of methods, which the command line, error messages and documentation use.
std::span<const MethodInfo> Methods();
const MethodInfo& InfoOf(Method method);
std::string_view ToString(Method method);
// Throws InvalidInput, naming the methods that do, unless the method accepts models of this kind.
void RequireAccepted(Method method, ModelKind kind);
// "auto: ...; pdhg: ..." for these methods.
std::string MethodHelp(std::span<const Method> methods);

double DefaultGap(Method method, ModelKind kind);
int DefaultIterations(Method method, ModelKind kind);
// The default memory limit: a fraction of the machine's memory.
std::size_t DefaultMemory();

struct SolveRecord {
  int k = 0;             // iterations; -1 in a phase without any, which only the watch sees
  double seconds = 0.0;  // since the start of the solve
  std::optional<double> upper = {};
  std::optional<double> dual = {};
  std::optional<double> lower = {};
  std::optional<double> done =
      {};  // fraction done of a phase without iterations; only the watch sees it
};

// One row per variable; in single precision for dense models, which have many rows; lists if
// variables have different numbers of labels, which exact inference and TRW allow.
using MarginalRows = std::variant<Matrix<double>, Matrix<float>, std::vector<std::vector<double>>>;

// All fields are valid under every termination except kNotRun: whenever a solver stops, it has a
// certificate. The values in `records` are the solver's own; only those of `certificate` are
// proven.
struct SolveResult {
  Termination termination = Termination::kNotRun;
  Method method = Method::kAuto;  // the one that was chosen
  Certificate certificate;
  MarginalRows marginals;
  std::vector<int> labels;      // the best labeling seen
  std::optional<Bound> energy;  // of `labels`, or slightly more: an upper bound on the least energy
  std::vector<SolveRecord> records;
  std::vector<std::string> notes;  // remarks for the user, in sentences
  std::string pairs;               // dense models: a description of the operator used
  double seconds = 0.0;
  double estimated_bytes = 0.0;  // dense models: the estimated peak memory

  bool usable() const { return termination != Termination::kNotRun; }
};

// `watch` is called with every record and its phase, on the caller's thread, several times a
// second; when it returns false, the best result so far is certified within about a second and
// returned. Throws what models, operators and solvers throw.
using Watch = std::function<bool(std::string_view phase, const SolveRecord& record)>;
SolveResult Solve(const SparseCrf& model, const SolveOptions& options = {},
                  const Watch& watch = {});
SolveResult Solve(const DenseCrf& model, const SolveOptions& options = {}, const Watch& watch = {});
// Throws the TooLarge that Solve would throw for such a model, before time is spent on computing
// its unaries.
void RequireFits(std::span<const GaussianKernel> kernels, std::size_t num_variables,
                 const LabelSpace& labels, const SolveOptions& options);
// Converts the tables to a model with a submodular extension if the method needs one; the bounds
// are about the given tables.
SolveResult Solve(const FactorGraph& graph, const SolveOptions& options = {},
                  const Watch& watch = {});

}  // namespace submarine
