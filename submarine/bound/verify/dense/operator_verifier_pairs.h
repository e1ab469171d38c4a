// The pair weights of one kernel as operator_verifier.h defines them, summed in double; for the
// verifiers only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "submarine/base/matrix.h"
#include "submarine/base/safe_sum.h"
#include "submarine/bound/verify/dense/dense_verifier_internal.h"
#include "submarine/bound/verify/dense/fluctuation_bound.h"
#include "submarine/filter/kernel/gaussian_kernel.h"
#include "submarine/filter/lattice/lattice_stencil.h"

namespace submarine::internal {

class OperatorPairs {
 public:
  using Progress = dense_verifier::Progress;

  virtual ~OperatorPairs() = default;
  OperatorPairs() = default;
  OperatorPairs(const OperatorPairs&) = delete;
  OperatorPairs& operator=(const OperatorPairs&) = delete;

  // A proof reduced to the cuts of positive length, with shares that sum to at most 1.
  struct Flows {
    const FlowProof& proof;
    std::vector<double> share;
    std::vector<std::size_t> active;
  };
  struct FlowSums {
    Matrix<double> sum;        // sum_b w_ab q_ab per active cut
    std::vector<double> ulps;  // the error of each, in ulps of 1
  };
  virtual void AddFlows(const Flows& flows, const Progress& progress, FlowSums* sums) const = 0;

  // sum_{a<b} w_ab y_a^T d y_b, where the rows of y are distributions.
  virtual SafeSum Expected(const Matrix<double>& y, const Matrix<double>& distance,
                           const Progress& progress) const = 0;

  // At least sum_{a<b} w_ab sum_c l_c |z_ac - z_bc|; z is in [0, 1], up to rounding by `ulps`.
  virtual SafeSum Variation(const Matrix<double>& z, std::span<const double> length, double ulps,
                            const Progress& progress) const = 0;

  // The weights with the diagonal that makes them positive semidefinite, where one is known. This must outlive them.
  virtual std::optional<SemidefinitePairs> Semidefinite() const { return std::nullopt; }
};

// The common distance of all pairs of different labels, if there is one.
std::optional<double> UniformDistance(const Matrix<double>& distance);

// The factor of k in flows (least) and in costs (largest), see dense_verifier_internal.h.
struct PairFactors {
  double least;
  double largest;
};

// Pairs with exp(-|f_a - f_b|^2 / 2) >= cutoff, times a factor; all pairs for cutoff 0. Here and
// below, the kernel must outlive the result.
std::unique_ptr<OperatorPairs> MakeListedPairs(const GaussianKernel& kernel,
                                               const PairFactors& factor, double cutoff);
std::unique_ptr<OperatorPairs> MakeLatticePairs(const GaussianKernel& kernel,
                                                const PairFactors& factor,
                                                const LatticeOptions& options);

}  // namespace submarine::internal
