// Exact inference: by itself, or within `auto` where it is cheap. Not public; programs call Solve
// (solve.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submarine/solve/registry.h"

namespace submarine::internal {

// None if it would take more than about a second, a third of the time limit, or too much memory.
std::optional<SolveResult> TryExactly(const SolveTask<SparseCrf>& task);
std::optional<SolveResult> TryExactly(const SolveTask<FactorGraph>& task);

std::string Describe(const FactorGraph& graph);

MarginalRows ToMatrixIfEven(std::vector<std::vector<double>> rows);

}  // namespace submarine::internal
