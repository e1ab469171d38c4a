// Converts tables to a model with a submodular extension.
#pragma once

#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

// A model and how far it may be from the tables it was made of: |E_model(x) - E_graph(x)| <= defect
// for every labeling x, in exact arithmetic. A bound on T log Z_T or on an energy of the model,
// moved outwards by the defect, is a bound for the graph, at every T.
struct RecognisedCrf {
  SparseCrf model;
  double defect = 0.0;
};

// The pairwise factor graph as a SparseCrf with the same energy. Every pair table is split as
//
//   e_ij = u_i + v_j + w d(i,j),   d symmetric with zero diagonal,
//
// with u and v moved into the unaries, which is possible exactly when e_ij - e_ji = h_i - h_j for
// some h (always, for two labels); then u_i = (e_ii + h_i)/2 and v_i = (e_ii - h_i)/2. Factors on
// the same pair are added up first. d must be a metric (zero distances allowed); metrics that are
// not sums of cuts are fitted from below (labels/metric_fit.h), while energies keep the true d.
// Proportional tables share one metric, scaled so that its largest entry is 1.
//
// Equality here means to 1e-9 of the largest entry of a table, since files hold rounded numbers.
// The resulting change of the model, and rounding, are bounded afterwards from the tables
// themselves: this bound is the defect.
//
// Throws NotExpressible, naming the variables and the reason: a pair that is repulsive, asymmetric
// or violates the triangle inequality, infinite energies, more than two variables in a factor,
// variables with different numbers of labels, or a defect above 1e-6 of the energies and entropies
// that make up log Z.
RecognisedCrf RecogniseSparseCrf(const FactorGraph& graph);

}  // namespace submarine::internal
