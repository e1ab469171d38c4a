// Recomputes what a certificate about an operator's model claims, from the raw model and the
// evidence alone, in double. Of the operators' code it uses only the numbers of the lattice's
// stencil and the choice of levels (filter/lattice/lattice_levels.h), of which any is valid. The
// operator's model is the dense model whose pair weights are, kernel by kernel,
//
//   brute force     w r_a r_b exp(-|f_a - f_b|^2 / 2),
//   neighbour list  the same where exp(-|f_a - f_b|^2 / 2) >= cutoff, else 0,
//   lattice         w k_ab of filter/lattice/lattice_reference.h for a != b, else 0,
//
// with the exact features and scale factors, of which the stored ones are approximations
// (filter/kernel/gaussian_kernel.h); a lattice is defined by the stored features. All these weights
// are symmetric and nonnegative, so that any antisymmetric flow within [-1, 1] proves an upper
// bound: for lattice kernels the flow of the levels that the potentials choose
// (filter/lattice/lattice_levels.h), for the others clip or sign. Levels over-estimate the total
// variation of a lattice kernel, which leaves the dual value below the least upper bound.
//
// Every value is rounded to its safe side and does not depend on the number of threads.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/bound/bound.h"
#include "submarine/bound/tilted_upper.h"
#include "submarine/bound/verify/dense/dense_verifier.h"
#include "submarine/filter/operator_choice.h"
#include "submarine/model/dense_crf.h"

namespace submarine::internal {

class OperatorPairs;

class OperatorVerifier {
 public:
  // Called from time to time, on the caller's thread, with the fraction of the work done; return
  // false to give up, which throws Interrupted.
  using OnProgress = std::function<bool(double done)>;

  // kinds[m] is how kernel m of the model is applied; of the options, only cutoff and lattice are
  // used. The model must outlive this object. Throws InvalidInput unless there is one kind per
  // kernel, none of them kAuto, and for a temperature that is negative or not finite.
  OperatorVerifier(const DenseCrf& model, std::span<const OperatorKind> kinds,
                   const OperatorOptions& options, double temperature = 1.0);
  ~OperatorVerifier();

  // The bound on T log Z_T that the proof gives. Throws InvalidInput for an invalid proof, like
  // VerifiedUpper.
  Bound Upper(const FlowProof& proof, const OnProgress& on_progress = {},
              TiltedPlace tilted = nullptr) const;

  // Another bound on T log Z_T from above (fluctuation_bound.h), which needs no flows: of Potts models all of whose kernels are
  // applied by lattices, at T > 0. None for others, and where fluctuations are too large. Marginals as for Lower.
  std::optional<Bound> FluctuationUpper(const Matrix<float>& marginals,
                                        const OnProgress& on_progress = {},
                                        TiltedPlace tilted = nullptr) const;

  // T H(y) - <E>_y, or less: a lower bound on T log Z_T. Rows of the marginals are normalised
  // first; this and the functions below throw InvalidInput for a row that is not a distribution.
  Bound Lower(const Matrix<float>& marginals, const OnProgress& on_progress = {}) const;

  // T H(y) - f(y), or less: a lower bound on the least upper bound.
  Bound Dual(const Matrix<float>& marginals, const OnProgress& on_progress = {}) const;

  // E(x), rounded upwards. Throws InvalidInput for labels out of range.
  Bound Energy(const std::vector<int>& labeling, const OnProgress& on_progress = {}) const;

 private:
  const DenseCrf& model_;
  double temperature_;
  std::vector<std::unique_ptr<OperatorPairs>> parts_;  // null for kernels of weight 0
};

}  // namespace submarine::internal
