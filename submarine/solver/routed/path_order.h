// Paths to route over.
#pragma once

#include <string_view>

#include "submarine/extension/routing.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

enum class VariableOrder {
  kSpanning,  // nearest variables joined first, at most two at any; the pieces joined end to end
  kBlocks,  // compact blocks of near variables (extension/routing.h), through which the path goes one by one
  kRows,  // pictures row by row, in alternating direction; else the variables in their order
};

std::string_view ToString(VariableOrder order);  // "rows", ...

// One path through all variables of the model, whose kernels weigh in as they do in the model.
RoutedPaths MakePath(const DenseCrf& model, VariableOrder order, int bandwidth);

// Whether the variables are the pixels of a picture, row by row.
bool HasRows(const DenseCrf& model);

// Cuts paths into this many pieces of about the same length, at least as many as there are: sums over pieces are
// independent of each other.
void CutPaths(std::size_t pieces, RoutedPaths* paths);

// The same, so that pieces can be summed in parallel; none becomes much shorter than `least`. Cutting an edge costs next to
// nothing.
void CutLongPaths(std::size_t least, RoutedPaths* paths);

// The largest bandwidth whose sums take no more than some ten terms per variable, whatever the metric.
int DefaultBandwidth(int num_labels);

}  // namespace submarine::internal
