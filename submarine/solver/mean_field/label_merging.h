// Mean field ends at one of many maxima, often with a label more than the best one has. Replacing a label everywhere
// changes the labels of any number of variables at once, which no update of single variables does.
#pragma once

#include <vector>

#include "submarine/extension/dense_extension.h"

namespace submarine::internal {

// Replaces one label after the other, everywhere, by another one, as long as the energy with the operator's pairs falls.
// Takes one product with the pairs, and throws Interrupted where the extension's `interrupted` ends it.
std::vector<int> MergeLabels(const DenseExtension& extension, const std::vector<int>& labels);

}  // namespace submarine::internal
