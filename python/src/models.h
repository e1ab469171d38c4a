// Models as held by Python: immutable, shared with the solvers that use them, freed with the last
// reference.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submarine/submarine.h"

namespace submarine::python {

// A label space and the warnings about it.
struct Labels {
  LabelSpace space;
  std::vector<std::string> warnings = {};
};

// A dense model whose kernels are normalised, by the row sums of the exact Gaussians, when first
// needed.
class DenseModel {
 public:
  explicit DenseModel(DenseCrf model) : model_(std::move(model)) {}

  const DenseCrf& model() const { return model_; }
  const DenseCrf& Normalised() const {
    std::call_once(once_, [&] { normalised_.emplace(WithExactNormalisation(model_)); });
    return *normalised_;
  }

 private:
  DenseCrf model_;
  mutable std::once_flag once_;
  mutable std::optional<DenseCrf> normalised_;
};

}  // namespace submarine::python
