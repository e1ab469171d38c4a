// The hybrid bound: exact sum-product inside a forest, submodular flows on all other edges,
//
//   T log Z_T <= min over |q| <= 1 of T log Z_T(forest; phi + s(q)),
//
// with s(q) as in docs/math.md, "Flows", for the edges outside the forest. It is the
// tree-reweighted bound with rho = 1 on the forest and rho = 0 elsewhere. For the same flows it
// never exceeds the submodular bound, which bounds the forest's edges by flows, too, instead of
// summing over them.
//
// Duality as for the submodular bound, with the entropy of a distribution on the forest in place of
// independent variables (z = cut sums of its marginals y):
//
//   D(P) = T H(P) - <phi,y> - E_forest(P) - sum over other edges and cuts of w l |z_a - z_b|,
//
// and max_P D(P) is the minimum above. The solver is that of solver/flow/pdhg.h with this entropy:
// the Kullback-Leibler prox keeps P in the family of the forest's own distributions, so it is a
// forest with averaged unaries, and its marginals come from one run of sum-product.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/extension/evidence.h"
#include "submarine/extension/kinds.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solver/common/bound_solver.h"

namespace submarine::internal {

struct HybridOptions : BoundOptions {
  HybridForest forest = HybridForest::kSpanning;
  std::vector<std::size_t> edges = {};  // the forest itself; if not empty, overrides the above

  // Where to start from (edges x cuts, in [-1, 1]; the forest's rows are ignored). With the flows
  // of a submodular bound the first value is already no looser than that bound.
  const Matrix<double>* initial_flow = nullptr;
};

// Under every termination except kNotRun, `parts` prove upper and dual, which are the weighted
// means of what the parts prove. `dual` never exceeds the least upper bound that these forests can
// give. When interrupted during the rows, or without time for the columns, kBest and kAverage
// return what the rows prove.
struct HybridResult {
  Termination termination = Termination::kNotRun;
  double upper = std::numeric_limits<double>::infinity();
  double dual = -std::numeric_limits<double>::infinity();
  std::vector<HybridPart> parts;
  Matrix<double> marginals;  // of the P that proves `dual`
  int iterations = 0;
  std::vector<IterationRecord> records;
};

// Throws InvalidInput for a temperature that is not positive and for invalid flows or forests;
// NotExpressible when rows or columns are requested for a graph that is not a grid.
HybridResult SolveHybrid(const SparseCrf& model, const HybridOptions& options = {});

// For the given forest; the forest in the options is ignored.
HybridResult SolveHybridForest(const SparseCrf& model, std::vector<std::size_t> forest,
                               const HybridOptions& options);

// The same choice and combination of forests for another bound of a single forest. Throws as
// SolveHybrid does.
using ForestBound = std::function<HybridResult(
    const SparseCrf& model, std::vector<std::size_t> forest, const HybridOptions& options)>;
HybridResult SolveOverForests(const SparseCrf& model, const HybridOptions& options,
                              const ForestBound& bound);

}  // namespace submarine::internal
