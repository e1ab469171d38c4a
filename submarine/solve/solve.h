// The entry point: one call from model to marginals, labeling and certified interval.
//
//   const SolveResult result = Solve(model, {.limits = {.time_limit_seconds = 10}});
//   if (result.certificate.upper) ... *result.certificate.lower ... result.marginals
//
// Limits apply to the whole call: time covers set-up, solving and certification, memory everything
// that is held. Work that cannot fit is refused before it starts (TooLarge).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "submarine/model/clique.h"
#include "submarine/model/dense_crf.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solve/method/method.h"
#include "submarine/solve/method/options.h"
#include "submarine/solve/method/result.h"

namespace submarine {

// The table of methods, which the command line, error messages and documentation use.
std::span<const MethodInfo> Methods();
const MethodInfo& InfoOf(Method method);
// Throws InvalidInput, naming the methods that do, unless the method accepts models of this kind.
void RequireAccepted(Method method, ModelKind kind);
// "auto: ...; pdhg: ..." for these methods.
std::string MethodHelp(std::span<const Method> methods);

double DefaultGap(Method method, ModelKind kind);
int DefaultIterations(Method method, ModelKind kind);
// The default memory limit: a fraction of the machine's memory.
std::size_t DefaultMemory();

// Throws what models, operators and solvers throw.
SolveResult Solve(const SparseCrf& model, const SolveOptions& options = {},
                  const Watch& watch = {});
SolveResult Solve(const DenseCrf& model, const SolveOptions& options = {}, const Watch& watch = {});
// Cliques beside the pairs. The alternate extension is refused (InvalidInput), and so is exact inference on large cliques
// (TooLarge).
SolveResult Solve(const CliqueCrf<SparseCrf>& model, const SolveOptions& options = {},
                  const Watch& watch = {});
SolveResult Solve(const CliqueCrf<DenseCrf>& model, const SolveOptions& options = {},
                  const Watch& watch = {});
// Throws the TooLarge that Solve would throw for such a model, before time is spent on computing
// its unaries.
void RequireFits(std::span<const GaussianKernel> kernels, std::size_t num_variables,
                 const LabelSpace& labels, const SolveOptions& options);
// Converts the tables to a model with a submodular extension if the method needs one; the bounds
// are about the given tables.
SolveResult Solve(const FactorGraph& graph, const SolveOptions& options = {},
                  const Watch& watch = {});

}  // namespace submarine
