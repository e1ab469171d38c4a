// Kinds of bounds.
#pragma once

#include "submarine/base/names.h"

namespace submarine {

// How an extension spreads the unaries (docs/math.md, "Submodular extension").
enum class ExtensionKind { kOptimal, kAlternate };
template <>
NameTable<ExtensionKind> Names();

// The distributions over which mean field on sparse models maximises its lower bound.
enum class MeanFieldKind {
  kNaive,   // independent variables
  kForest,  // independent induced trees: the rows of a grid, or others
};
template <>
NameTable<MeanFieldKind> Names();

}  // namespace submarine
