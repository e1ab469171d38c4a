// Choices of an upper bound for sparse models.
#pragma once

namespace submarine {

// How an extension spreads the unaries (docs/math.md, "Submodular extension").
enum class ExtensionKind { kOptimal, kAlternate };

// The forest of the hybrid bound, in which sum-product is exact.
enum class HybridForest {
  kSpanning,  // a spanning forest of largest weight: any graph
  kRows,      // of a 4-connected grid in raster order, found from the edges
  kColumns,
  kBest,     // rows or columns, whichever bound is lower
  kAverage,  // the mean of both bounds and both marginals
};

}  // namespace submarine
