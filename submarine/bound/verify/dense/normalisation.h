// Symmetric normalisation: scale factors r_a = 1 / sqrt(sum_b k_ab), k_aa included, for the kernels
// of a model that are marked for it.
#pragma once

#include <functional>

#include "submarine/filter/operator_choice.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

// Which row sums to use.
enum class RowSumSource {
  // Those of the Gaussians, with a verified error (bound/verify/dense/scale_verifier.h) stored as
  // scale_error: certificates allow for it and are about the kernel as defined.
  kExact,
  // Those of the operator that the options choose: one filter pass. The model is then defined by
  // these factors, as scale_source, which is part of the model's description, says.
  kOperator,
  // kExact for small models and where it is expected to take at most max_seconds; else kOperator.
  kAuto,
};

struct NormalisationOptions {
  RowSumSource source = RowSumSource::kAuto;
  double max_seconds = 20.0;  // for all kernels together; estimated from the number of pairs
  double tolerance = 1e-4;    // for scale_error; small models sum all their pairs
  OperatorOptions pairs = {};
  // Called from time to time with the fraction of the work done. When it returns false, the
  // operator does the rest, which is quick.
  std::function<bool(double done)> on_progress = {};
};

// Whether the model has kernels that are not normalised yet.
bool NeedsNormalisation(const DenseCrf& model);

// Whether WithNormalisation would use exact row sums, if its progress is not stopped.
bool NormalisesExactly(const DenseCrf& model, const NormalisationOptions& options);

// The model with its kernels normalised; kernels that already are stay unchanged. Throws
// InvalidInput for a normalisation that leaves no symmetric model, and whatever operators throw.
DenseCrf WithNormalisation(DenseCrf model, const NormalisationOptions& options);

}  // namespace submarine::internal
