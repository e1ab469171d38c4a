// Paths to route over.
#pragma once

#include "submarine/extension/routing.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

enum class RoutedOrder {
  kLookAlikes,  // from every variable to the most similar one that is left
  kRaster,      // the variables as they come: rows of a picture, joined
};

// One path through all variables of the model, whose kernels weigh in as they do in the model.
RoutedPaths MakePath(const DenseCrf& model, RoutedOrder order, int thickness);

// The thickest paths whose sums take no more than some hundred terms per variable.
int DefaultThickness(int num_labels);

}  // namespace submarine::internal
