// A few classic updates of mean field on lattices, without an upper bound: what labels of pictures
// are made by. The short way from the model to labels, on which every lattice is built once,
// normalised by its own row sums, and nothing is copied.
#pragma once

#include <span>

#include "submarine/model/clique.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solve/registry.h"
#include "submarine/solve/solve.h"

namespace submarine::internal {

// Whether that is what the options ask for, and the model can be solved in this way.
bool IsClassic(const DenseCrf& model, const SolveOptions& options);

// Keeps the limits and asks the watch as other dense solves do. Throws TooLarge. With cliques beside the pairs
// (solver/mean_field/clique_holders.h), labels and marginals are those of both, and what is certified that of the pairs.
SolveResult SolveClassic(const SolveTask<DenseCrf>& task, std::span<const Clique> cliques = {});

// Labels and marginals of options.dense.updates, and what another method proves: an interval around
// log Z, the energy of these labels, and how far any other can be below it.
SolveResult ProveUpdates(const SolveTask<DenseCrf>& task);

}  // namespace submarine::internal
