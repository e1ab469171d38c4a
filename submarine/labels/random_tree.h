// Random hierarchically well-separated trees of a metric (Fakcharoenphol, Rao and Talwar 2004).
//
// Such a tree dominates d, with an expected stretch of O(log L). As d' <= d is needed, neither a
// tree nor a mixture bounds log Z as it is; what they are good for is the cuts of their nodes, which
// respect the clusters of d at all scales.
#pragma once

#include <random>

#include "submarine/base/matrix.h"
#include "submarine/labels/label_tree.h"

namespace submarine::internal {

// A tree with d_T >= d and edges that halve from level to level; labels at distance 0 are joined by
// edges of length 0. `distance` is a metric of at least two labels.
LabelTree RandomTree(const Matrix<double>& distance, std::mt19937_64& random);

}  // namespace submarine::internal
