// Choices of an upper bound for sparse models.
#pragma once

namespace submarine {

// How an extension spreads the unaries (docs/math.md, "Submodular extension").
enum class ExtensionKind { kOptimal, kAlternate };

// The forest of the hybrid bound, in which sum-product is exact.
enum class HybridForest {
  kSpanning,  // a spanning forest of largest weight: any graph
  kRows,      // of a grid in raster order, found from the edges
  kColumns,
  kBest,     // rows or columns, whichever bound is lower
  kAverage,  // the mean of both bounds and both marginals
};

// The distributions whose best lower bound mean field looks for, on sparse models.
enum class MeanFieldKind {
  kNaive,   // independent variables
  kForest,  // independent trees, the rows of a grid or others that no further edge joins within
};

}  // namespace submarine
