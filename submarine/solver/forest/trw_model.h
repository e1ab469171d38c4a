// The form in which tree-reweighted solvers see every pairwise model: unaries, and for each edge a
// multiple of a label metric or a table of its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/model/factor_graph.h"
#include "submarine/model/forest.h"
#include "submarine/model/sparse_crf.h"
#include "submarine/solver/forest/forest_messages.h"

namespace submarine::internal {

struct PairwiseModel {
  std::vector<std::size_t> labels;  // of every variable
  Matrix<double> unary;             // costs, variables x largest number of labels
  std::vector<Link> links;
  struct Pair {
    int shape = -1;  // index into `shapes`, or -1:
    double weight = 1.0;
    int table = -1;  // index into `tables`
  };
  std::vector<Pair> pairs;
  std::vector<std::shared_ptr<const MetricShape>> shapes;
  std::vector<Matrix<double>> tables;
  double constant = 0.0;

  std::size_t num_variables() const { return labels.size(); }
};

// Uses the distances d of the metrics, whatever their cuts express.
PairwiseModel ToPairwise(const SparseCrf& model);

// Throws NotExpressible for factors of more than two variables, InvalidInput for an invalid graph,
// TooLarge if its padded unaries would not fit. An infinite energy becomes a finite one so large
// that its labelings have no weight at temperature T beside those of any finite energy in the same
// table. Lower energies raise log Z, so an upper bound stays valid.
PairwiseModel ToPairwise(const FactorGraph& graph, double temperature);

// Throws InvalidInput when arc consistency (removing labels that no label of a neighbour allows)
// proves that no labeling has positive probability: complete on forests, not always on cycles.
// Factors of more than two variables are ignored.
void RequirePossible(const FactorGraph& graph);

// The message kernel of every edge, with its energies multiplied by scale[e]; equal kernels are
// shared.
struct EdgeKernels {
  std::vector<PairKernel> kernels;
  std::vector<std::size_t> of_edge;

  const PairKernel& operator[](std::size_t edge) const { return kernels[of_edge[edge]]; }
};
EdgeKernels KernelsOf(const PairwiseModel& model, std::span<const double> scale);

}  // namespace submarine::internal
