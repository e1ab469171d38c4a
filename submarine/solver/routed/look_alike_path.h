// Paths to route over.
#pragma once

#include <string_view>

#include "submarine/extension/routing.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

enum class RoutedOrder {
  kBest,        // by the bound without flows of a sample: rows or else spanning where they are
                // below look-alikes
  kLookAlikes,  // from every variable to the most similar one that is left
  kSpanning,    // nearest variables joined first, at most two at any; the pieces joined end to end
  kBlocks,  // compact blocks of look-alikes (extension/routing.h), through which the path goes one by one
  kRows,     // in the order of the variables; pictures row by row, in alternating direction
  kColumns,  // the same for columns; variables that do not come in rows as kRows
  kNatural,  // rows of a picture, look-alikes of anything else
};

std::string_view ToString(RoutedOrder order);  // "rows", ...

// One path through all variables of the model, whose kernels weigh in as they do in the model.
// `chosen`, where given, is the order itself, or the one that kBest or kNatural stands for; kNatural
// where there are no rows or columns.
RoutedPaths MakePath(const DenseCrf& model, RoutedOrder order, int thickness,
                     double temperature = 1.0, RoutedOrder* chosen = nullptr);

// Cuts paths into this many pieces of about the same length, at least as many as there are: sums over pieces are
// independent of each other.
void CutPaths(std::size_t pieces, RoutedPaths* paths);

// The same, so that pieces can be summed in parallel; none becomes much shorter than `least`. Cutting an edge costs next to
// nothing.
void CutLongPaths(std::size_t least, RoutedPaths* paths);

// log Z per variable of the path alone, with its pairs routed and without flows, from a sample of short pieces:
// the lower, the better a path to route over.
double PathLogZ(const DenseCrf& model, const RoutedPaths& paths, double temperature);

// The thickest paths whose sums take no more than some ten terms per variable, whatever the metric.
int DefaultThickness(int num_labels);

}  // namespace submarine::internal
