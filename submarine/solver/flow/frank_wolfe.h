// Frank-Wolfe over the extended polymatroid: Algorithm 1 of Pansari, Russell, Kumar (AISTATS 2018).
//
//   y_k = softmax(-s_k / T)            minus the gradient of g_T
//   s*  = greedy vertex at y_k         the linear minimisation oracle
//   gap = <s* - s_k, y_k> >= 0         upper - D(y_k); the paper's stop test has the sign reversed
//   s_{k+1} = s_k + gamma (s* - s_k)   gamma = 2/(k+2), or by exact line search
//
// It starts from s_0 = the unaries (zero flows), and moves the evidence along with s so that the
// result carries a proof. One loop serves every extension (frank_wolfe_loop.h).
#pragma once

#include "submarine/extension/clique_extension.h"
#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {

enum class FrankWolfeStep { kLineSearch, kHarmonic };  // kHarmonic: gamma = 2/(k+2)

struct FrankWolfeOptions : BoundOptions {
  ExtensionKind extension = ExtensionKind::kOptimal;
  FrankWolfeStep step = FrankWolfeStep::kLineSearch;
};

// Throws InvalidInput for T <= 0.
BoundResult SolveFrankWolfe(const SparseCrf& model, const FrankWolfeOptions& options);
// With cliques beside the pairs; their evidence is in the flow of the result.
BoundResult SolveFrankWolfe(const SparseCrf& pairs, const CliqueExtension& cliques,
                            const FrankWolfeOptions& options);

}  // namespace submarine::internal
