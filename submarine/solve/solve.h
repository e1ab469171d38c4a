// The entry point: one call from model to marginals, labeling and certified interval.
//
//   const SolveResult result = Solve(model, {.time_limit_seconds = 10});
//   if (result.certificate.upper) ... *result.certificate.lower ... result.marginals
//
// Limits hold for the whole call: time covers set-up, solving and certification, memory everything
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
  kExact,  // the exact Gaussian model, whatever that takes
  kOperator,  // the model whose pair weights are the operator's (bound/verify/dense/operator_verifier.h)
  kLower,  // the same model, and only a lower bound on its log Z, that of the marginals: one product each
  kNone,  // nothing: marginals and labels only
};
std::string_view ToString(Certify certify);

// Which marginals are returned. Those of the upper bound are too flat: where unaries are weak and pairs strong, all
// pixels can share one distribution at no cost to it. Mean field's are too sure. Their mean has half the
// error of either on small models of degree 3 to 6, by exact inference.
enum class DenseMarginals {
  kUpperBound,
  kMeanField,
  kMean,
  kRouted,  // of the upper bound, which must be the routed one
};
std::string_view ToString(DenseMarginals marginals);

struct SolveOptions {
  Method method = Method::kAuto;
  double temperature = 1.0;  // T of exp(-E/T); 0 solves the linear relaxation, or finds the MAP

  // Limits. A gap or a number of iterations that is not given is DefaultGap, DefaultIterations.
  std::optional<double> relative_gap = {};  // stop when upper - dual <= this * max(1, |upper|)
  std::optional<int> max_iterations = {};
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  double interrupt_seconds =
      1.2;                    // dense models: for the certificate once `watch` has asked to stop
  std::size_t max_bytes = 0;  // 0: DefaultMemory()
  std::string shrink_option = {};  // that makes pictures smaller, for refusals to name: "--shrink"
  int threads = 0;                 // 0: all cores
  bool deterministic = false;      // decide nothing by the clock

  // Sparse models and tables.
  ExtensionKind extension = ExtensionKind::kOptimal;
  std::optional<double> rho = {};  // TRW: every edge with this probability
  int rho_steps = 0;               // TRW: optimisation of rho after the first solve
  std::optional<HybridForest> forest =
      {};  // hybrid, routed; not given: best of rows and columns, or spanning
  // Of the lower bound; not given: naive for kMeanField, the better of both where there is an upper bound.
  std::optional<MeanFieldKind> mean_field = {};
  int rounding_draws = 16;
  int starts = 4;  // of mean field; 0: none after an upper bound, the lower one is the labels'
  std::uint64_t seed = 1;

  bool harmonic_steps = false;  // Frank-Wolfe: gamma = 2/(k+2) instead of line search

  // Dense models.
  OperatorOptions pairs = {};
  // Mean field: the classic update, max_iterations times, without looking at its bound in between. Without,
  // steps are damped so that the bound never falls, until it no longer rises.
  bool classic_updates = false;
  Certify certify = Certify::kAuto;
  DenseMarginals marginals = DenseMarginals::kUpperBound;
};

double DefaultGap(Method method, ModelKind kind);
int DefaultIterations(Method method, ModelKind kind);
// The memory limit where none is given: a share of the machine's memory.
std::size_t DefaultMemory();

struct SolveRecord {
  int k = 0;             // iterations made; -1 where a phase has none, which only the watch sees
  double seconds = 0.0;  // since the beginning of the solve
  std::optional<double> upper = {};
  std::optional<double> dual = {};
  std::optional<double> lower = {};
  std::optional<double> done =
      {};  // share of a phase without iterations, which only the watch sees
};

// One row per variable, in single precision from dense models, whose rows are many; lists where the
// variables differ in their number of labels, which exact inference and TRW allow.
using MarginalRows = std::variant<Matrix<double>, Matrix<float>, std::vector<std::vector<double>>>;

// Everything holds under every termination but kNotRun: whenever a solver stops, what it has is a
// certificate. The values of `records` are the solver's own and only those of `certificate` are proven.
struct SolveResult {
  Termination termination = Termination::kNotRun;
  Method method = Method::kAuto;  // the one that was chosen
  Certificate certificate;
  MarginalRows marginals;
  std::vector<int> labels;      // the best labeling seen
  std::optional<Bound> energy;  // of `labels`, or slightly more: an upper bound on the least energy
  std::vector<SolveRecord> records;
  std::vector<std::string> notes;  // what a user should know, in sentences
  std::string pairs;               // dense models: the operator that the solver applied, in words
  double seconds = 0.0;
  double estimated_bytes = 0.0;  // dense models: what the solve was expected to hold at most

  bool usable() const { return termination != Termination::kNotRun; }
};

// `watch` is told of every record and of the phase it belongs to, in the thread of the caller, several
// times a second; when it returns false, the best so far is certified within about a second and
// returned. Throws what models, operators and solvers throw.
using Watch = std::function<bool(std::string_view phase, const SolveRecord& record)>;
SolveResult Solve(const SparseCrf& model, const SolveOptions& options = {},
                  const Watch& watch = {});
SolveResult Solve(const DenseCrf& model, const SolveOptions& options = {}, const Watch& watch = {});
// Throws the TooLarge that Solve would throw for the limits of such a model, before anyone takes the time
// to compute its unaries.
void RequireFits(std::span<const GaussianKernel> kernels, std::size_t num_variables,
                 const LabelSpace& labels, const SolveOptions& options);
// Recognises a model with a submodular extension where the method needs one; its bounds are about the
// tables as given.
SolveResult Solve(const FactorGraph& graph, const SolveOptions& options = {},
                  const Watch& watch = {});

}  // namespace submarine
