// Kinds of bounds for sparse models.
#pragma once

namespace submarine {

// How an extension spreads the unaries (docs/math.md, "Submodular extension").
enum class ExtensionKind { kOptimal, kAlternate };

// The forest of the hybrid bound, in which sum-product is exact.
enum class HybridForest {
  kSpanning,  // a spanning forest of largest weight: any graph
  kRows,      // the rows of a grid in raster order, recognised from the edges
  kColumns,
  kBest,     // rows or columns, whichever bound is lower
  kAverage,  // the mean of both bounds and both marginals
};

// The distributions over which mean field on sparse models maximises its lower bound.
enum class MeanFieldKind {
  kNaive,   // independent variables
  kForest,  // independent induced trees: the rows of a grid, or others
};

}  // namespace submarine
