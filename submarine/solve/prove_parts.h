// An interval around log Z of a picture's dense model that does not fit into memory: strips of rows, one after the other
// (docs/math.md, "Blocks"). From above, the sum of what is proven of every strip alone, as pairs between strips only raise
// energies; from below, mean field's bound at given marginals, minus the energy of their labels, or
// one label for all.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/model/dense_crf.h"
#include "submarine/solve/solve.h"

namespace submarine {

struct ModelInRows {
  int rows = 0;
  std::vector<GaussianKernel> kernels;  // of all variables, which have the order of the rows
  LabelSpace labels;
  // The model restricted to some rows, with these kernels; it has no constant.
  std::function<DenseCrf(std::vector<GaussianKernel> kernels, int first_row, int rows)> part;
  // From below, pairs are looked at up to so many rows beyond a strip; what is farther is bounded as a whole.
  int reach = 0;
};

// The most rows that a strip may have: throws the TooLarge of a single row where even that does not fit. Kernels need not be
// normalised.
int RowsThatFit(const ModelInRows& model, const SolveOptions& options);

// The certificate, about the exact Gaussians, and with it the energy of the labels, the notes, the description of the pairs, the termination and the
// estimated memory; nothing else of the result is set. The watch is told how much of the time that it will take is over.
SolveResult ProveParts(const ModelInRows& model, const Matrix<float>& marginals,
                       const std::vector<int>& labels, int rows, const SolveOptions& options,
                       const Watch& watch = {});

}  // namespace submarine
