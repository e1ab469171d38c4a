// From tables to a model with a submodular extension.
#pragma once

#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"

namespace submarine::internal {

// A model and how far it may be from the tables it was made of: |E_model(x) - E_graph(x)| <= defect
// for every labeling x, energies being sums of real numbers. Whatever bounds T log Z_T or an energy
// of the model bounds that of the graph once it is moved outwards by the defect, at every T.
struct RecognisedCrf {
  SparseCrf model;
  double defect = 0.0;
};

// The pairwise factor graph as a SparseCrf of the same energy. Every pair table is split as
//
//   e_ij = u_i + v_j + w d(i,j),   d symmetric with zero diagonal,
//
// with u and v moved into the unaries, which is possible exactly when e_ij - e_ji = h_i - h_j for
// some h (always, for two labels); then u_i = (e_ii + h_i)/2 and v_i = (e_ii - h_i)/2. Factors on
// the same pair are added up first. d must be a metric (zero distances allowed); metrics that are
// no sums of cuts are fitted from below (labels/metric_fit.h), while energies keep the true d.
// Tables that are proportional share one metric, scaled so that its largest entry is 1.
//
// All this is judged to 1e-9 of the largest entry of a table, since files hold rounded numbers. What
// the model changes by it, and by rounding, is found afterwards from the tables themselves: that is
// the defect.
//
// Throws NotExpressible naming the variables and the reason: repulsive, asymmetric, no triangle
// inequality, infinite energies, more than two variables in a factor, variables that differ in
// their number of labels, or a defect of more than 1e-6 of the energies and entropies that make up
// log Z.
RecognisedCrf RecogniseSparseCrf(const FactorGraph& graph);

}  // namespace submarine::internal
