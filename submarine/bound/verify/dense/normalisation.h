// Symmetric normalisation: scale factors r_a = 1 / sqrt(sum_b k_ab), k_aa included, for the kernels of
// a model that ask for it.
#pragma once

#include <functional>

#include "submarine/filter/operator_choice.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

// Whose row sums.
enum class RowSumSource {
  // The Gaussians' own, with their error verified (bound/verify/dense/scale_verifier.h) and stored as scale_error:
  // certificates allow for it and are about the kernel as it is defined.
  kExact,
  // The operator's that the options choose: one filter. The model is then defined by these factors,
  // and scale_source, which is part of the model's description, says so.
  kOperator,
  // The first where it is expected to take at most max_seconds, and for small models always.
  kAuto,
};

struct NormalisationOptions {
  RowSumSource source = RowSumSource::kAuto;
  double max_seconds = 20.0;  // for all kernels together; by the pairs to look at, not by the clock
  double tolerance = 1e-4;    // of scale_error; small models have all their pairs added up
  OperatorOptions pairs = {};
  // Called now and then with the share of the work done. When it returns false, the rest is done by the
  // operator, which is soon over.
  std::function<bool(double done)> on_progress = {};
};

// Whether the model has kernels that are not normalised yet.
bool NeedsNormalisation(const DenseCrf& model);

// The model with its kernels normalised; those that are already stay as they are. Throws InvalidInput
// for a normalisation that leaves no symmetric model, and what operators throw.
DenseCrf WithNormalisation(DenseCrf model, const NormalisationOptions& options);

}  // namespace submarine::internal
