// From tables to a model with a submodular extension.
#pragma once

#include "submarine/model/factor_graph.h"
#include "submarine/model/sparse_crf.h"

namespace submarine {

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
// Throws NotExpressible naming the variables and the reason: repulsive, asymmetric, no triangle
// inequality, infinite energies, more than two variables in a factor, or variables that differ in
// their number of labels.
SparseCrf RecogniseSparseCrf(const FactorGraph& graph);

}  // namespace submarine
