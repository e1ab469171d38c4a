// Kinds of bounds.
#pragma once

#include "submarine/base/names.h"

namespace submarine {

// How an extension spreads the unaries (docs/math.md, "Submodular extension").
enum class ExtensionKind { kOptimal, kAlternate };
template <>
NameTable<ExtensionKind> Names();

// The forest of the hybrid and the routed bound, in which sum-product is exact.
enum class HybridForest {
  kSpanning,  // a spanning forest of largest weight: any graph. Dense models: the most similar
              // variables are joined first, at most two at any, to one path
  kRows,      // the rows of a grid in raster order, recognised from the edges, or of a picture
  kColumns,
  kBest,        // whichever has the lower bound: rows or columns; of dense models, any but columns
  kAverage,     // sparse models: the mean of both bounds and both marginals
  kLookAlikes,  // dense models: a path from every variable to the most similar one that is left
};
template <>
NameTable<HybridForest> Names();

// The distributions over which mean field on sparse models maximises its lower bound.
enum class MeanFieldKind {
  kNaive,   // independent variables
  kForest,  // independent induced trees: the rows of a grid, or others
};
template <>
NameTable<MeanFieldKind> Names();

}  // namespace submarine
